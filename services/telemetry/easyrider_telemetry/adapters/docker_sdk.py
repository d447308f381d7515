"""The engine's SDK, loaded late and without what it has no need of here: a node agent has 45 MB in all."""

import sys
import warnings
from types import ModuleType


def load() -> ModuleType:
    """The module `docker`.

    Its HTTP library loads a guesser of character sets, 3 MB of tables, for answers that do not say in which they are
    written; an engine answers in JSON. Where that library cannot do without, it is let have it.
    """
    if (loaded := sys.modules.get("docker")) is not None:
        return loaded
    kept_out = sys.modules.setdefault("charset_normalizer", None)  # type: ignore[arg-type]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it remarks on the lack
            import docker
    except ImportError:
        if kept_out is not None:
            raise
        del sys.modules["charset_normalizer"]
        import docker
    finally:
        if kept_out is None:
            sys.modules.pop("charset_normalizer", None)
    return docker  # type: ignore[no-any-return]
