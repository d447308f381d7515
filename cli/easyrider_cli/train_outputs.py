"""What `easyrider train` writes, and where: nothing but a former one of the same kind is ever written over."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_cli.preflight import writable_file
from easyrider_estimator.adapters.fingerprint_files import ENDINGS, Found
from easyrider_estimator.adapters.plain_files import opened
from easyrider_estimator.core.card import TITLE
from easyrider_estimator.core.model import FORMAT

DRAWN_BY = "EasyRider, easyrider train"
"""In the head of every picture."""
_HEAD = 1 << 17  # the first line of an export, whole


class CannotTrain(EasyRiderError):
    """Nothing was trained, and a model that was there stays; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Files that are written. `export`: of the fingerprints that were read; None: not asked for."""

    model: Path
    card: Path
    picture: Path
    export: Path | None


def outputs(out: Path, export: Path | None, source: Path | None) -> Outputs:
    """Places that may be written, each another. Raises `CannotTrain`, `CannotShow`, `NoPlainFile`, `OSError`."""
    if out.suffix in (".md", ".png"):
        raise CannotTrain(f"--out {out}: its card or its picture would be written over it; name it .json")
    found = Outputs(model=out, card=out.with_suffix(".md"), picture=out.with_suffix(".png"), export=export)
    writable_file("--out", out)
    _replaceable(f"--out {out}", out, _is_model, "no model of `easyrider train`")
    # a picture of an earlier release bears no name: it is known by the model beside it
    is_picture = _is_any_picture if out.exists() and out.stat().st_size else _is_picture
    for beside, ours, what in ((found.card, _is_card, "card"), (found.picture, is_picture, "picture")):
        words = f"--out {out} writes {beside.name} beside it"
        if beside.is_dir():
            raise CannotTrain(f"{words}, and that is a folder")
        _replaceable(words, beside, ours, f"no {what} of a model")
    if export is None:
        return found
    writable_file("--export", export)
    if any(_same(export, other) for other in (found.model, found.card, found.picture)):
        raise CannotTrain(f"--export {export}: --out {out} writes that file; name another")
    if source is not None and (_same(export, source) or _among(export, source)):
        raise CannotTrain(f"--export {export}: it is one of those that are read; name another file")
    _replaceable(f"--export {export}", export, _is_fingerprints, "no file of fingerprints")
    return found


def _replaceable(words: str, path: Path, ours: Callable[[bytes], bool], what: str) -> None:
    """Nothing where there is no such file, or it is empty or one of ours."""
    if not os.path.lexists(path):
        return
    with opened(path) as file:
        head = file.read(_HEAD)
    if head and not ours(head):
        raise CannotTrain(f"{words}: the file there is {what}, and stays; name another, or remove it first")


def _is_model(head: bytes) -> bool:
    return FORMAT.partition("/")[0].encode() in head[:64]


def _is_card(head: bytes) -> bool:
    return head.startswith(TITLE.encode())


def _is_picture(head: bytes) -> bool:
    return _is_any_picture(head) and DRAWN_BY.encode() in head


def _is_any_picture(head: bytes) -> bool:
    return head.startswith(b"\x89PNG")


def _is_fingerprints(head: bytes) -> bool:
    found = Found()
    found.take("", head.partition(b"\n")[0])
    return bool(found.by_id)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def _among(file: Path, folder: Path) -> bool:
    """Whether a file is one of a folder that is read."""
    return folder.is_dir() and file.exists() and file.suffix in ENDINGS and _same(file.parent, folder)
