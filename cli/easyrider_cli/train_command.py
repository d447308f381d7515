"""`easyrider train`: a model file, its card and its picture out of fingerprints."""

import json
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from rich.console import Console

from easyrider_cli.left_aside import tell_left_aside
from easyrider_cli.train_outputs import CannotTrain, Outputs
from easyrider_estimator.adapters.fingerprint_files import Found, save
from easyrider_estimator.adapters.plain_files import write_all
from easyrider_estimator.core.card import card
from easyrider_estimator.core.model import Ready, decode, encode
from easyrider_estimator.core.training import Grow, Progress, train

_QUIET_S = 5.0


def trained(
    source: Callable[[], Found], places: Outputs, *, note: str, as_json: bool, said: Console, console: Console
) -> None:
    """Read, train, write the model with its card and picture, all or none. Raises `EasyRiderError`, `OSError`."""
    if len(note) > 256 or not note.isprintable():
        raise CannotTrain("--note: at most 256 characters, all of them printable")
    grow, library = _library()
    found = source()
    if places.export is not None:
        count = save(places.export, found.by_id.values())
        said.print(f"{count} fingerprints in {places.export}", markup=False, highlight=False)
    tell_left_aside(found, said)
    ones = list(found.by_id.values())
    said.print(f"{len(ones)} fingerprints", highlight=False)
    model = train(
        ones, grow, library=library, made_unix_s=float(round(time.time())), note=note, progress=_progress(said)
    )  # fmt: skip
    data = encode(model)
    ready = decode(data)
    picture = _drawn(ready, said)
    parts = {places.model: data, places.card: card(ready).encode()}
    write_all(parts if picture is None else parts | {places.picture: picture})
    told = _told(ready, found, places, pictured=picture is not None)
    if as_json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for line in _lines(ready, told):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _library() -> tuple[Grow, str]:
    try:
        from easyrider_estimator.adapters import lightgbm_trees
    except ModuleNotFoundError as fault:
        raise CannotTrain("training needs lightgbm: pip install 'easyrider[estimator]'") from fault
    except OSError as fault:  # the package is there, and the libraries that it wants are not
        raise CannotTrain(f"lightgbm cannot be loaded ({fault}); on Debian: apt install libgomp1") from fault
    return lightgbm_trees.grow, f"lightgbm {lightgbm_trees.version()}"


def _progress(said: Console) -> Progress:
    """A line for each of what is learned, and one every `_QUIET_S` while that takes long."""
    began_s = time.monotonic()
    last: tuple[str, float] = ("", began_s)

    def say(done: int, steps: int, what: str) -> None:
        nonlocal last
        now_s = time.monotonic()
        if done < steps and (what != last[0] or now_s - last[1] >= _QUIET_S):
            last = (what, now_s)
            said.print(
                f"{100 * done // steps:>3} % after {now_s - began_s:.0f} s: {what}",
                markup=False,
                highlight=False,
            )

    return say


def _drawn(ready: Ready, said: Console) -> bytes | None:
    if find_spec("matplotlib") is None:
        said.print("no picture: that needs easyrider[plots]", style="yellow", markup=False)
        return None
    from easyrider_cli.importance_plot import drawn

    return drawn(ready)


def _told(ready: Ready, found: Found, places: Outputs, *, pictured: bool) -> dict[str, Any]:
    model = ready.model
    return {
        "model": str(places.model),
        "card": str(places.card),
        "picture": str(places.picture) if pictured else None,
        "version": ready.version,
        "sha256": ready.sha256,
        "fingerprints": model.fingerprints,
        "types": model.types,
        "left_out": model.left_out,
        "unreadable": len(found.unreadable),
        "merged": len(found.merged),
        "note": model.note,
        "coverage": model.coverage,
        "features": [{"name": one.feature, "importance": one.share} for one in model.importance],
        "measured": {
            one.target: {
                "jobs": one.measured.jobs,
                "off": one.measured.off,
                "plain_off": one.measured.plain_off,
                "covered": one.measured.covered,
                "width": one.measured.width,
            }
            for one in model.learned
        },
    }


def _lines(ready: Ready, told: dict[str, Any]) -> list[str]:
    model = ready.model
    found = [
        f"model {ready.version} of {model.fingerprints} fingerprints, {model.types} types: {told['model']}"
    ]
    found += [f"  not learned from: {count} that {reason}" for reason, count in model.left_out.items()]
    found += [
        f"  {one.target}: off by {one.measured.off:.4f} on unseen jobs (plain mean {one.measured.plain_off:.4f}), "
        f"{one.measured.covered:.0%} within intervals for {model.coverage:.0%}"
        for one in model.learned
    ]
    found.append("  rests on " + ", ".join(f"{one.feature} {one.share:.0%}" for one in model.importance[:6]))
    places = [told["card"], *([told["picture"]] if told["picture"] else [])]
    return [*found, f"card and picture: {', '.join(places)}" if told["picture"] else f"card: {places[0]}"]
