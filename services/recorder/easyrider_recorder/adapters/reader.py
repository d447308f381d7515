"""Recordings read: by time, past what is torn or rotten, which is named."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import zstandard

from easyrider.errors import EasyRiderError
from easyrider_recorder.core import framing
from easyrider_recorder.core.framing import BlockHead, Damaged, Record
from easyrider_recorder.core.places import INDEX_SUFFIX, is_recording

_LONGEST_NS = 2**62
_WINDOW = 16 * 1024 * 1024


class NoRecording(EasyRiderError):
    """There is nothing recorded there, or more than one region of which none was named."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a file that could not be read, and why; `after_unix_ns`: last moment known before them."""

    path: Path
    offset: int
    size: int
    why: str
    after_unix_ns: int | None

    def __str__(self) -> str:
        return f"{self.path.name}: {self.size} bytes from {self.offset} on, {self.why}"


class Recording:
    """The files of one region. `damage` and `dropped` grow while records are read."""

    def __init__(self, folder: Path, region: str) -> None:
        self.region = region
        self.damage: list[Damage] = []
        self.dropped = 0
        self._paths = sorted(path for path in (folder / region).iterdir() if is_recording(path.name))

    @classmethod
    def open(cls, folder: Path, region: str | None = None) -> "Recording":
        """The recording of a region, the only one by default. Raises `NoRecording`."""
        regions = regions_in(folder)
        if region is None and len(regions) > 1:
            raise NoRecording(f"{folder} holds regions {', '.join(regions)}: name one by --region")
        if not regions or region not in (None, *regions):
            wanted = "" if region is None else f" of region {region}"
            raise NoRecording(f"{folder} holds no recording{wanted}; name the folder that a recorder writes")
        return cls(folder, region or regions[0])

    def abouts(self) -> list[dict[str, Any]]:
        """What each file says of itself, oldest first; a file whose head is damaged is left out."""
        found = []
        for path in self._paths:
            with path.open("rb") as file:
                try:
                    found.append(_about(file))
                except Damaged:
                    continue
        return found

    def span(self) -> tuple[int, int] | None:
        """Unix ns of the first and of the last record, by the heads of blocks alone; None: there is no record."""
        ends = []
        for path in self._paths:
            with path.open("rb") as file:
                try:
                    _about(file)
                except Damaged:
                    continue
                for _offset, head in blocks(file, [], path, file.tell()):
                    ends += [head.first_unix_ns, head.last_unix_ns]
        return (min(ends), max(ends)) if ends else None

    def records(self, from_ns: int = 0, to_ns: int = _LONGEST_NS) -> Iterator[tuple[str, Record]]:
        """Records that arrived in this stretch of Unix time, each with the boot of the recorder, in order."""
        for path in self._paths:
            yield from self._of_file(path, from_ns, to_ns)

    def _of_file(self, path: Path, from_ns: int, to_ns: int) -> Iterator[tuple[str, Record]]:
        with path.open("rb") as file:
            try:
                boot = str(_about(file).get("boot_id", ""))
            except Damaged as fault:
                self.damage.append(Damage(path, 0, path.stat().st_size, str(fault), None))
                return
            for offset, head in blocks(file, self.damage, path, _seek(path, file.tell(), from_ns)):
                if head.first_unix_ns > to_ns or head.last_unix_ns < from_ns:
                    continue  # no end of the search: somebody may have set the wall clock back
                self.dropped += head.dropped
                try:
                    for record in _unpacked(file, offset, head):
                        if from_ns <= record.unix_ns <= to_ns:
                            yield boot, record
                except Damaged as fault:
                    size = framing.BLOCK_HEAD_SIZE + head.packed_bytes
                    self.damage.append(Damage(path, offset, size, str(fault), head.first_unix_ns))


def regions_in(folder: Path) -> list[str]:
    """Regions that something was recorded of."""
    if not folder.is_dir():
        return []
    places = sorted(path for path in folder.iterdir() if path.is_dir())
    return [place.name for place in places if any(is_recording(path.name) for path in place.iterdir())]


def blocks(
    file: BufferedReader, damage: list[Damage], path: Path, begin: int
) -> Iterator[tuple[int, BlockHead]]:
    """Offset and head of every whole block from `begin` on; what lies between is added to `damage`."""
    size, offset, seen_ns = os.fstat(file.fileno()).st_size, begin, None
    while offset < size:
        file.seek(offset)
        try:
            head = framing.read_block_head(file.read(framing.BLOCK_HEAD_SIZE))
            end = offset + framing.BLOCK_HEAD_SIZE + head.packed_bytes
            if end > size:
                raise Damaged("a block is cut off")
        except Damaged as fault:
            found = _next_block(file, offset + 1, size)
            damage.append(Damage(path, offset, found - offset, str(fault), seen_ns))
            offset = found
            continue
        yield offset, head
        offset, seen_ns = end, head.last_unix_ns


def damage_of(path: Path) -> list[Damage]:
    """What of a file is no whole block, by the heads alone."""
    found: list[Damage] = []
    with path.open("rb") as file:
        try:
            _about(file)
        except Damaged as fault:
            return [Damage(path, 0, path.stat().st_size, str(fault), None)]
        for _block in blocks(file, found, path, file.tell()):
            pass
    return found


def _about(file: BufferedReader) -> dict[str, Any]:
    size, crc = framing.about_of(file.read(framing.FILE_HEAD_SIZE))
    if size > os.fstat(file.fileno()).st_size:
        raise Damaged("the head is cut off")
    return framing.read_about(file.read(size), crc)


def _unpacked(file: BufferedReader, offset: int, head: BlockHead) -> Iterator[Record]:
    file.seek(offset + framing.BLOCK_HEAD_SIZE)
    packed = file.read(head.packed_bytes)
    framing.refuse_rotten(head, packed)
    try:
        raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=head.raw_bytes)
    except zstandard.ZstdError as fault:
        raise Damaged(f"a block does not unpack: {fault}") from fault
    yield from framing.records_of(raw)


def _next_block(file: BufferedReader, begin: int, size: int) -> int:
    """Where the next whole head stands, or the end."""
    overlap = framing.BLOCK_HEAD_SIZE
    for start in range(begin, size, _WINDOW):
        file.seek(start)
        window, at = file.read(_WINDOW + overlap), -1
        while (at := window.find(framing.BLOCK_MAGIC, at + 1)) >= 0:
            try:
                framing.read_block_head(window[at : at + overlap])
            except Damaged:
                continue
            return start + at
    return size


def _seek(path: Path, begin: int, from_ns: int) -> int:
    """Where to begin reading: the index knows, and what it does not know is found by going on from there."""
    try:
        entries = framing.read_index(path.with_suffix(INDEX_SUFFIX).read_bytes())
    except OSError:
        return begin
    # The first that reaches into the stretch, not by halves: a wall clock that was set back breaks the order.
    last = entries[-1].offset if entries else begin
    offset = next((entry.offset for entry in entries if entry.last_unix_ns >= from_ns), last)
    return offset if begin <= offset < path.stat().st_size else begin
