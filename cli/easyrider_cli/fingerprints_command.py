"""`easyrider fingerprints`: a line for each type of job that is remembered, and a picture of each."""

import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider.fingerprints import Fingerprint
from easyrider_cli.left_aside import tell_left_aside
from easyrider_cli.preflight import writable_folder
from easyrider_estimator.adapters.fingerprint_files import Found
from easyrider_estimator.adapters.plain_files import write


class CannotDraw(EasyRiderError):
    """No picture was drawn; the message says what to change."""


def show(
    found: Found, *, name: str, plots: Path | None, as_json: bool, said: Console, console: Console
) -> None:
    """Newest first. Raises `CannotDraw` without the extra for pictures, `CannotShow`, `OSError`."""
    ones = sorted(found.by_id.values(), key=lambda one: (-one.updated_unix_s, one.id))
    ones = [one for one in ones if name in one.type.name]
    tell_left_aside(found, said)
    pictures = [] if plots is None else _drawn(ones, plots)
    if as_json:
        told = [msgspec.to_builtins(one) | {"id": one.id} for one in ones]
        document = {
            "fingerprints": told,
            "unreadable": len(found.unreadable),
            "merged": len(found.merged),
            "pictures": [str(picture) for picture in pictures],
        }
        sys.stdout.write(msgspec.json.encode(document).decode() + "\n")
        return
    for one in ones:
        console.print(line_of(one), markup=False, highlight=False, soft_wrap=True)
    if not ones:
        console.print("nothing is remembered of such a type", markup=False)
    for picture in pictures:
        console.print(str(picture), markup=False, highlight=False, soft_wrap=True)


def line_of(one: Fingerprint) -> str:
    """What is not known is said to be unknown."""
    of = one.type
    peak = "peak unknown" if one.peak_w is None else f"peak {one.peak_w:.0f} W"
    period = "no period" if one.period_s is None else f"period {one.period_s:.2f} s"
    pauses = one.pauses
    checkpoints = "" if pauses.cadence_s is None else f", checkpoints every {pauses.cadence_s:.0f} s"
    what = " ".join(part for part in (of.name or of.image, of.configuration) if part)
    boards = f"{of.gpu_count} x {of.gpu_model or 'GPU'}"
    runs = "1 run" if one.runs == 1 else f"{one.runs} runs"
    return f"{one.id}  {what}, {boards}: mean {one.mean_w:.0f} W, {peak}, {period}{checkpoints}; {runs}"


def _drawn(ones: list[Fingerprint], folder: Path) -> list[Path]:
    if find_spec("matplotlib") is None:
        raise CannotDraw("pictures need matplotlib: pip install 'easyrider[plots]'")
    from easyrider_cli.fingerprint_plot import drawn

    writable_folder("--plots", folder)
    pictures = []
    for one in ones:
        picture = folder / f"fingerprint-{one.id}.png"
        write(picture, drawn(one))
        pictures.append(picture)
    return pictures
