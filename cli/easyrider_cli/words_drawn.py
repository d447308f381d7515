"""Words of others in a picture: as they were said, and without a warning for each letter that no font here has."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib import rc_context


@contextmanager
def words_as_said() -> Iterator[None]:
    """Around all of drawing and saving: a `$` opens no formula, and a box stands for a letter that cannot be drawn."""
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
