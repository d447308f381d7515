"""How a recording is laid out in bytes; `docs/recording.md` tells it for other programs. Little-endian throughout.

A file is a head, then blocks. A block is a head and one compressed run of records. Each part has its own CRC-32, so
that what is torn or rotten is seen, named, and skipped.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from easyrider.errors import EasyRiderError

FILE_MAGIC = b"ERREC001"
BLOCK_MAGIC = b"ERBK"
_FILE = struct.Struct("<8sII")
_BLOCK = struct.Struct("<4sIIIIqqqqI")
_CRC = struct.Struct("<I")
_RECORD = struct.Struct("<HIqqI")
_INDEX = struct.Struct("<QqqI")
FILE_HEAD_SIZE = _FILE.size
BLOCK_HEAD_SIZE = _BLOCK.size + _CRC.size
INDEX_SIZE = _INDEX.size
LARGEST_BLOCK = 256 * 1024 * 1024
"""A head that announces more is none of ours."""


class Damaged(EasyRiderError):
    """Bytes of a recording that do not say what they should; what stands before and after can still be read."""


@dataclass(frozen=True, slots=True)
class Record:
    """One message as it arrived: the recorder's CLOCK_MONOTONIC and Unix time, its subject and its bytes."""

    subject: str
    mono_ns: int
    unix_ns: int
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHead:
    """What is known of a block without unpacking it. `dropped`: messages lost before it since the last block."""

    packed_bytes: int
    raw_bytes: int
    records: int
    dropped: int
    first_mono_ns: int
    last_mono_ns: int
    first_unix_ns: int
    last_unix_ns: int
    crc: int  # of the packed bytes


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """Where a block begins, and the Unix time it covers."""

    offset: int
    first_unix_ns: int
    last_unix_ns: int
    records: int


def file_head(about: dict[str, Any]) -> bytes:
    """The head of a file: what it is about, as JSON."""
    told = json.dumps(about, separators=(",", ":"), sort_keys=True).encode()
    return _FILE.pack(FILE_MAGIC, len(told), zlib.crc32(told)) + told


def about_of(head: bytes) -> tuple[int, int]:
    """Length and CRC of the JSON that follows the first `FILE_HEAD_SIZE` bytes. Raises `Damaged`."""
    if len(head) < FILE_HEAD_SIZE:
        raise Damaged("shorter than a head")
    magic, size, crc = _FILE.unpack(head[:FILE_HEAD_SIZE])
    if magic != FILE_MAGIC:
        raise Damaged("no recording of this version")
    return size, crc


def read_about(told: bytes, crc: int) -> dict[str, Any]:
    """What a file is about. Raises `Damaged`."""
    if zlib.crc32(told) != crc:
        raise Damaged("the head is rotten")
    about = json.loads(told)
    if not isinstance(about, dict):
        raise Damaged("the head is no map")
    return about


def raw_record(record: Record) -> bytes:
    """One record as it stands in a block, before compression."""
    subject = record.subject.encode()
    crc = zlib.crc32(record.body, zlib.crc32(subject))
    return (
        _RECORD.pack(len(subject), len(record.body), record.mono_ns, record.unix_ns, crc)
        + subject
        + record.body
    )


def records_of(raw: bytes) -> Iterator[Record]:
    """The records of an unpacked block, in the order of arrival. Raises `Damaged`."""
    at = 0
    while at < len(raw):
        if at + _RECORD.size > len(raw):
            raise Damaged("a record is cut off")
        subject_size, body_size, mono_ns, unix_ns, crc = _RECORD.unpack_from(raw, at)
        begin = at + _RECORD.size
        middle, at = begin + subject_size, begin + subject_size + body_size
        if at > len(raw):
            raise Damaged("a record is cut off")
        if zlib.crc32(raw[begin:at]) != crc:
            raise Damaged("a record is rotten")
        yield Record(raw[begin:middle].decode(), mono_ns, unix_ns, raw[middle:at])


def block_head(records: list[Record], raw_bytes: int, packed: bytes, dropped: int) -> tuple[BlockHead, bytes]:
    """The head of a block of these records, also as bytes."""
    head = BlockHead(
        packed_bytes=len(packed),
        raw_bytes=raw_bytes,
        records=len(records),
        dropped=dropped,
        first_mono_ns=records[0].mono_ns,
        last_mono_ns=records[-1].mono_ns,
        first_unix_ns=records[0].unix_ns,
        last_unix_ns=records[-1].unix_ns,
        crc=zlib.crc32(packed),
    )
    told = _BLOCK.pack(
        BLOCK_MAGIC,
        head.packed_bytes,
        head.raw_bytes,
        head.records,
        head.dropped,
        head.first_mono_ns,
        head.last_mono_ns,
        head.first_unix_ns,
        head.last_unix_ns,
        head.crc,
    )
    return head, told + _CRC.pack(zlib.crc32(told))


def read_block_head(told: bytes) -> BlockHead:
    """The head in these bytes. Raises `Damaged`."""
    if len(told) < BLOCK_HEAD_SIZE:
        raise Damaged("a block's head is cut off")
    body, (crc,) = told[: _BLOCK.size], _CRC.unpack_from(told, _BLOCK.size)
    if not body.startswith(BLOCK_MAGIC) or zlib.crc32(body) != crc:
        raise Damaged("no head of a block")
    _magic, packed, raw, records, dropped, first_m, last_m, first_u, last_u, data_crc = _BLOCK.unpack(body)
    if max(packed, raw) > LARGEST_BLOCK:
        raise Damaged("a block of absurd size")
    return BlockHead(
        packed_bytes=packed,
        raw_bytes=raw,
        records=records,
        dropped=dropped,
        first_mono_ns=first_m,
        last_mono_ns=last_m,
        first_unix_ns=first_u,
        last_unix_ns=last_u,
        crc=data_crc,
    )


def refuse_rotten(head: BlockHead, packed: bytes) -> None:
    """Raises `Damaged` where the packed bytes are not those that were written."""
    if len(packed) < head.packed_bytes:
        raise Damaged("a block is cut off")
    if zlib.crc32(packed) != head.crc:
        raise Damaged("a block is rotten")


def index_entry(entry: IndexEntry) -> bytes:
    """One line of the index."""
    return _INDEX.pack(entry.offset, entry.first_unix_ns, entry.last_unix_ns, entry.records)


def read_index(told: bytes) -> list[IndexEntry]:
    """The whole lines of an index; a torn last one is left out."""
    whole = len(told) - len(told) % INDEX_SIZE
    return [IndexEntry(*_INDEX.unpack_from(told, at)) for at in range(0, whole, INDEX_SIZE)]
