"""Fingerprints out of files and into one: JSON of one each, or one a line; or a folder of such files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.fingerprints import MOST_BYTES, Fingerprint, FingerprintUnreadable, decode, encode
from easyrider.job_types import JobType
from easyrider_estimator.adapters.plain_files import opened, write

ENDINGS = (".json", ".jsonl")
MOST = 200_000
"""Fingerprints at once; a site that knows more is asked to part them."""


class NoFingerprints(EasyRiderError):
    """Nothing was read; nothing was trained, and a model that was there stays."""

    def __init__(self, place: str, why: str) -> None:
        self.place, self.why = place, why
        super().__init__(f"{place}: {why}")


@dataclass(slots=True)
class Found:
    """The newest of each id, with a sentence for each that could not be read, and for each that gave way to another."""

    by_id: dict[str, Fingerprint] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)

    def add(self, place: str, one: Fingerprint) -> None:
        """Unless a later revision of it is here. Raises `NoFingerprints` beyond `MOST`."""
        held = self.by_id.get(one.id)
        if held is None or held.revision <= one.revision:
            self.by_id[one.id] = one
        if held is not None and held != one:
            self.merged.append(_merged(place, held, one))
        if len(self.by_id) > MOST:
            raise NoFingerprints("fingerprints", f"more than {MOST}")

    def take(self, place: str, data: bytes) -> None:
        """One as it is written; what it is called says itself."""
        try:
            named = msgspec.json.decode(data, type=_Named)
            self.add(place, decode(f"{named.type.id}-{named.variant}", data))
        except FingerprintUnreadable as fault:
            self.unreadable.append(f"{place}: {fault.why}"[:500])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            self.unreadable.append(f"{place}: {fault}"[:500])


def _merged(place: str, held: Fingerprint, one: Fingerprint) -> str:
    """What became of the second that goes by an id."""
    kept = one if held.revision <= one.revision else held
    what = f"{place}: fingerprint {one.id} was read before"
    if held.type != one.type:
        what += f", of {_settings(held)} where this one is of {_settings(one)}, which are one type"
    return f"{what}; revision {kept.revision} is learned from, " + (
        "the one read last" if held.revision == one.revision else f"not {min(held.revision, one.revision)}"
    )


def _settings(one: Fingerprint) -> str:
    return f"{one.type.configuration[:80]!r}"


class _Named(msgspec.Struct):
    """What makes the id."""

    type: JobType
    variant: int = 0


def read(place: Path) -> Found:
    """Of a file, or of every one of a folder that ends as they do.

    Raises `NoFingerprints`, `NoPlainFile`, `OSError`.
    """
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.suffix in ENDINGS and file.is_file())
    elif place.exists():
        files = [place]
    else:
        raise NoFingerprints(str(place), "no such file or folder")
    found = Found()
    for file in files:
        for where, data in _records(file):
            found.take(where, data)
    if not found.by_id:
        why = (
            found.unreadable[0] if found.unreadable else f"no fingerprint in any {' or '.join(ENDINGS)} file"
        )
        raise NoFingerprints(str(place), why)
    return found


def save(place: Path, fingerprints: Iterable[Fingerprint]) -> int:
    """One a line, ordered by id; how many. Raises `OSError`."""
    lines = [encode(one) for one in sorted(fingerprints, key=lambda one: one.id)]
    write(place, b"".join(line + b"\n" for line in lines))
    return len(lines)


def _records(file: Path) -> Iterator[tuple[str, bytes]]:
    with opened(file) as held:
        if file.suffix != ".jsonl":
            yield file.name, held.read(MOST_BYTES + 1)
            return
        number = 0
        while line := held.readline(
            MOST_BYTES + 2
        ):  # an endless line comes in pieces, each refused by its own
            number += 1
            if line.strip():
                yield f"{file.name}:{number}", line.strip()
