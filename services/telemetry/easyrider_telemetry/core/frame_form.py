"""The bytes of a usual frame, filled into a form: one call instead of a record, its checks and its encoding.

A node wakes ten times a second and finds its caches cold: what it costs is how much code it runs through, not how
often. The form is cut out of bytes that `easyrider.wire` encoded, so the layout stands there alone.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from easyrider import wire
from easyrider.messages import NodeFrame

_COLUMNS = (
    ("power_w", "f", 4), ("power_ok", "B", 1), ("mean_w", "f", 4), ("mean_ok", "B", 1), ("energy_mj", "Q", 8),
    ("energy_ok", "B", 1), ("limit_mw", "I", 4), ("limit_ok", "B", 1), ("age_ms", "H", 2),
)  # fmt: skip
"""Fast columns in the order of the record, which is that of a board's cells."""
FIRST_SEQ = 256
"""Earlier frames are not worth a form: their number grows on the wire."""
_LONG = 1 << 32
"""From here on a number takes eight bytes on the wire, and a clock stays above it."""
_SLOW_BYTES = (
    "temperature_c", "util_pct", "sm_mhz", "mem_mhz", "reasons", "memory_mb", "mean10_w", "max10_w", "slow_ok",
)  # fmt: skip


class FrameForm:
    """Frames of one row and no slow columns that agree with `frame` in all but seq, times and cells.

    `frame` is any frame of the same node. Raises `ValueError` for one that no form can be made from.
    """

    def __init__(self, frame: NodeFrame) -> None:
        self._alike = _constants(frame)
        if not (FIRST_SEQ <= frame.seq < _LONG <= min(frame.t_ns, frame.mono_ns) and frame.gpu_count):
            raise ValueError("a frame without boards, or of the first seconds of a node")
        seq_bytes, self._seq_from, self._seq_until = next(
            (size, low, high)
            for size, low, high in ((2, FIRST_SEQ, 1 << 16), (4, 1 << 16, _LONG))
            if frame.seq < high
        )
        self._seq_bytes = seq_bytes
        usual = _usual(frame)
        head, self._tail = _cut(wire.encode(usual))
        parts: list[bytes] = []
        form, at = "<", 0
        for name, size, count, code in _variables(seq_bytes, frame.gpu_count):
            start = head.index(_key(name, size, code), at) + len(_key(name, size, code))
            parts.append(head[at:start])
            form += f"{start - at}s" + (f"{count}{code}" if code else f"{size}s")
            at = start + size
        parts.append(head[at:])
        self._pack = struct.Struct(f"{form}{len(head) - at}s").pack
        self._parts = tuple(parts)
        if self.fill(usual.seq, usual.t_ns, usual.mono_ns, _cells(usual)) != wire.encode(usual):
            raise ValueError("the form does not give the bytes that it was made from")

    def fits(self, frame: NodeFrame, data: bytes) -> bool:
        """Whether frames like this one, of these bytes, come out of the form; from now on it says of the host what
        this one says."""
        if _constants(frame) != self._alike or not self.takes(frame.seq):
            return False
        self._tail = _cut(data)[1]
        return True

    def takes(self, seq: int) -> bool:
        """Whether a frame of this number has the form's length."""
        return self._seq_from <= seq < self._seq_until

    def fill(self, seq: int, t_ns: int, mono_ns: int, columns: Sequence[Iterable[float]]) -> bytes:
        """The frame's bytes. `columns` are the nine columns of cells; raises `struct.error` for what fits none."""
        p, c = self._parts, columns
        return (
            self._pack(
                p[0], seq.to_bytes(self._seq_bytes, "big"), p[1], t_ns.to_bytes(8, "big"), p[2],
                mono_ns.to_bytes(8, "big"), p[3], *c[0], p[4], *c[1], p[5], *c[2], p[6], *c[3], p[7], *c[4], p[8],
                *c[5], p[9], *c[6], p[10], *c[7], p[11], *c[8], p[12],
            )
            + self._tail
        )  # fmt: skip


def _constants(frame: NodeFrame) -> tuple[Any, ...]:
    return frame.gpus_hash, frame.gpu_count, frame.window_s, frame.refresh_s


def _usual(frame: NodeFrame) -> NodeFrame:
    """The same frame with one row of zeros, boards unsaid, and no slow columns."""
    zeros = {name: bytes(size * frame.gpu_count) for name, _, size in _COLUMNS}
    slow = dict.fromkeys(_SLOW_BYTES, b"")
    return msgspec.structs.replace(frame, samples=1, gpus="", before_us=bytes(4), **zeros, **slow)


def _cells(frame: NodeFrame) -> list[tuple[float, ...]]:
    return [(0,) * frame.gpu_count] * len(_COLUMNS)


def _cut(data: bytes) -> tuple[bytes, bytes]:
    """What comes before and after the place where the frame begins to tell of more than its boards."""
    at = data.rindex(_word("rejected"))
    return data[:at], data[at:]


def _variables(seq_bytes: int, gpus: int) -> Iterable[tuple[str, int, int, str]]:
    """(name, bytes, values, their code) of each field that differs from frame to frame, in order."""
    yield from (("seq", seq_bytes, 0, ""), ("t_ns", 8, 0, ""), ("mono_ns", 8, 0, ""))
    for name, code, size in _COLUMNS:
        yield name, size * gpus, gpus, code


def _key(name: str, size: int, code: str) -> bytes:
    """How a field begins: its name, and what says how long its value is."""
    if not code:
        return _word(name) + {2: b"\xcd", 4: b"\xce", 8: b"\xcf"}[size]
    return _word(name) + msgspec.msgpack.encode(bytes(size))[: -size or None]


def _word(name: str) -> bytes:
    return msgspec.msgpack.encode(name)
