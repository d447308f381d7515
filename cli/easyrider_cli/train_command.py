"""`easyrider train`: a model file, its card and its picture out of fingerprints."""

import json
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider_cli.preflight import writable_file
from easyrider_estimator.adapters.fingerprint_files import Found, save
from easyrider_estimator.adapters.plain_files import write
from easyrider_estimator.core.card import card
from easyrider_estimator.core.model import Ready, decode, encode
from easyrider_estimator.core.training import Grow, Progress, train

_UNREADABLE_SHOWN = 5


class CannotTrain(EasyRiderError):
    """Nothing was trained, and a model that was there stays; the message says what to change."""


def trained(
    source: Callable[[], Found], *, out: Path, note: str, export: Path | None, as_json: bool, said: Console,
    console: Console,
) -> None:  # fmt: skip
    """Read, train, write the model, and its card and picture beside it. Raises `EasyRiderError`, `OSError`."""
    for option, file in (("--out", out), ("--export", export)):
        if file is not None:
            writable_file(option, file)
    if out.suffix in (".md", ".png"):
        raise CannotTrain(f"--out {out}: its card or its picture would be written over it; name it .json")
    if len(note) > 256 or not note.isprintable():
        raise CannotTrain("--note: at most 256 characters, all of them printable")
    grow, library = _library()
    found = source()
    if export is not None:
        said.print(
            f"{save(export, found.by_id.values())} fingerprints in {export}", markup=False, highlight=False
        )
    for line in found.unreadable[:_UNREADABLE_SHOWN]:
        said.print(f"left aside: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if more := len(found.unreadable[_UNREADABLE_SHOWN:]):
        said.print(f"and {more} more", style="yellow", markup=False, highlight=False)
    ones = list(found.by_id.values())
    said.print(f"{len(ones)} fingerprints", highlight=False)
    model = train(
        ones,
        grow,
        library=library,
        made_unix_s=float(round(time.time())),
        note=note,
        progress=_progress(said),
    )
    data = encode(model)
    ready = decode(data)
    write(out, data)
    paper, picture = out.with_suffix(".md"), _drawn(ready, out.with_suffix(".png"), said)
    write(paper, card(ready).encode())
    told = _told(ready, found, out, paper, picture)
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
    began_s = time.monotonic()

    def say(done: int, steps: int, what: str) -> None:
        spent_s = time.monotonic() - began_s
        if done < steps:
            said.print(f"{done + 1} of {steps} after {spent_s:.0f} s: {what}", markup=False, highlight=False)

    return say


def _drawn(ready: Ready, path: Path, said: Console) -> Path | None:
    if find_spec("matplotlib") is None:
        said.print("no picture: that needs easyrider[plots]", style="yellow", markup=False)
        return None
    from easyrider_cli.importance_plot import draw

    draw(ready, path)
    return path


def _told(ready: Ready, found: Found, out: Path, paper: Path, picture: Path | None) -> dict[str, Any]:
    model = ready.model
    return {
        "model": str(out),
        "card": str(paper),
        "picture": None if picture is None else str(picture),
        "version": ready.version,
        "sha256": ready.sha256,
        "fingerprints": model.fingerprints,
        "types": model.types,
        "left_out": model.left_out,
        "unreadable": len(found.unreadable),
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
