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
_SEQ = (
    (1, b"", 0, 1 << 7),
    (1, b"\xcc", 1 << 7, 1 << 8),
    (2, b"\xcd", 1 << 8, 1 << 16),
    (4, b"\xce", 1 << 16, 1 << 32),
)
"""How a frame's number grows on the wire: its bytes, what stands before them, from and until which number."""
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
        if not (frame.seq < _LONG <= min(frame.t_ns, frame.mono_ns) and frame.gpu_count):
            raise ValueError("a frame without boards, or of the first seconds of a clock")
        self._seq_bytes, before_seq, self._seq_from, self._seq_until = next(
            row for row in _SEQ if frame.seq < row[-1]
        )
        usual = _usual(frame)
        head, self._tail = _cut(wire.encode(usual))
        parts: list[bytes] = []
        form, at = "<", 0
        for name, before, size, values in _variables(before_seq, self._seq_bytes, frame.gpu_count):
            start = head.index(_word(name) + before, at) + len(_word(name) + before)
            parts.append(head[at:start])
            form += f"{start - at}s{values}"
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


def _variables(before_seq: bytes, seq_bytes: int, gpus: int) -> Iterable[tuple[str, bytes, int, str]]:
    """(name, what stands before the value, its bytes, its form) of each field that differs from frame to frame."""
    yield "seq", before_seq, seq_bytes, f"{seq_bytes}s"
    for name in ("t_ns", "mono_ns"):
        yield name, b"\xcf", 8, "8s"
    for name, code, size in _COLUMNS:
        yield name, msgspec.msgpack.encode(bytes(size * gpus))[: -size * gpus], size * gpus, f"{gpus}{code}"


def _word(name: str) -> bytes:
    return msgspec.msgpack.encode(name)
