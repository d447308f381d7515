"""Rows of looks become one `NodeFrame`."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from easyrider import wire
from easyrider.columns import pack
from easyrider.messages import NodeFrame
from easyrider_telemetry.core.board import CELLS, Cells, SlowCells
from easyrider_telemetry.core.frame_form import FrameForm

_SAY_GPUS_EVERY_NS = 10_000_000_000
_EMPTY = b""
_NO_SLOW = ((),) * len(SlowCells._fields)
_AT_ONCE = pack("u4", [0])


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoad:
    """The host beside its boards."""

    cpu_pct: float = 0.0
    net_rx_bytes_per_s: float = 0.0
    net_tx_bytes_per_s: float = 0.0


@dataclass
class FrameBuilder:
    """Collects rows for one node and hands out frames; says the UUIDs when they change and every 10 s."""

    region: str
    node: str
    boot_id: str
    seq: int = 0
    window_s: float = 0.025
    refresh_s: float = 0.1
    _form: FrameForm | None = None
    _form_host: HostLoad | None = None
    _form_rejected: int = 0
    _gpus: str = ""
    _gpus_hash: bytes = hashlib.sha256(b"").digest()[:8]
    _said_ns: int | None = None
    _packed_cells: int = 0
    _struct: struct.Struct = struct.Struct("<")  # noqa: RUF009 - immutable
    _rows: list[tuple[int, list[Cells]]] = field(default_factory=list)

    def set_gpus(self, uuids: Sequence[str]) -> None:
        """The boards of the following rows, in order. Rows of the boards before are dropped."""
        self._gpus = ",".join(uuids)
        self._gpus_hash = hashlib.sha256(self._gpus.encode()).digest()[:8]
        self._said_ns = None
        self._form = None
        self._rows.clear()

    def sense(self, window_s: float, refresh_s: float) -> None:
        """What the following frames say of the boards' sensors."""
        if (window_s, refresh_s) != (self.window_s, self.refresh_s):
            self.window_s, self.refresh_s, self._form = window_s, refresh_s, None

    def add(self, mono_ns: int, cells: list[Cells]) -> None:
        """One row, read at `mono_ns`."""
        self._rows.append((mono_ns, cells))

    @property
    def rows(self) -> int:
        """Rows that wait for the next frame."""
        return len(self._rows)

    def encode(self, t_ns: int, slow: Sequence[SlowCells] | None, rejected: int, host: HostLoad) -> bytes:
        """The bytes of the frame that `build` gives. Raises a `MalformedMessage` for one that may not travel."""
        form, rows = self._form, self._rows
        if (
            form is not None
            and slow is None
            and len(rows) == 1
            and host is self._form_host
            and rejected == self._form_rejected
        ):
            mono_ns, cells = rows[0]
            said_ns, seq = self._said_ns, self.seq + 1
            if said_ns is not None and mono_ns - said_ns < _SAY_GPUS_EVERY_NS and form.takes(seq):
                rows.clear()
                self.seq = seq
                return form.fill(seq, t_ns, mono_ns, tuple(zip(*cells, strict=True)))
        frame = self.build(t_ns, slow, rejected, host)
        data = wire.encode(frame)
        if slow:
            if form is None or not form.fits(frame, data):
                self._form = _form_of(frame)
            self._form_host, self._form_rejected = host, rejected
        return data

    def build(self, t_ns: int, slow: Sequence[SlowCells] | None, rejected: int, host: HostLoad) -> NodeFrame:
        """The frame of every row since the last one; `slow` only in those frames that carry slow columns."""
        rows, self._rows = self._rows, []
        mono_ns = rows[-1][0]
        gpus = self._say_gpus(mono_ns)
        alone = len(rows) == 1  # as nearly always
        flat = rows[0][1] if alone else [cells for _, row in rows for cells in row]
        cells = len(flat)
        columns = tuple(zip(*flat, strict=True)) if flat else ((),) * CELLS
        data = self._packer(cells).pack(*columns[0], *columns[2], *columns[4], *columns[6], *columns[8])
        slow_columns = tuple(zip(*slow, strict=True)) if slow else _NO_SLOW
        self.seq += 1
        return NodeFrame(
            region=self.region,
            node=self.node,
            boot_id=self.boot_id,
            seq=self.seq,
            t_ns=t_ns,
            mono_ns=mono_ns,
            samples=len(rows),
            gpu_count=len(rows[-1][1]),
            gpus=gpus,
            gpus_hash=self._gpus_hash,
            window_s=self.window_s,
            refresh_s=self.refresh_s,
            before_us=_AT_ONCE if alone else _before_us(mono_ns, rows),
            power_w=data[: 4 * cells],
            power_ok=bytes(columns[1]),
            mean_w=data[4 * cells : 8 * cells],
            mean_ok=bytes(columns[3]),
            energy_mj=data[8 * cells : 16 * cells],
            energy_ok=bytes(columns[5]),
            limit_mw=data[16 * cells : 20 * cells],
            limit_ok=bytes(columns[7]),
            age_ms=data[20 * cells :],
            temperature_c=pack("i2", slow_columns[0]) if slow else _EMPTY,
            util_pct=bytes(slow_columns[1]),
            sm_mhz=pack("u2", slow_columns[2]) if slow else _EMPTY,
            mem_mhz=pack("u2", slow_columns[3]) if slow else _EMPTY,
            reasons=pack("u8", slow_columns[4]) if slow else _EMPTY,
            memory_mb=pack("u4", slow_columns[5]) if slow else _EMPTY,
            mean10_w=pack("f4", slow_columns[6]) if slow else _EMPTY,
            max10_w=pack("f4", slow_columns[7]) if slow else _EMPTY,
            slow_ok=bytes(slow_columns[8]),
            rejected=rejected,
            cpu_pct=host.cpu_pct,
            net_rx_bytes_per_s=host.net_rx_bytes_per_s,
            net_tx_bytes_per_s=host.net_tx_bytes_per_s,
        )

    def _packer(self, cells: int) -> struct.Struct:
        """All numeric fast columns in one go, little-endian and unpadded: a column's own call costs as much."""
        if self._packed_cells != cells:
            self._packed_cells = cells
            self._struct = struct.Struct(f"<{cells}f{cells}f{cells}Q{cells}I{cells}H")
        return self._struct

    def _say_gpus(self, mono_ns: int) -> str:
        if self._said_ns is not None and mono_ns - self._said_ns < _SAY_GPUS_EVERY_NS:
            return ""
        self._said_ns = mono_ns
        return self._gpus


def _form_of(frame: NodeFrame) -> FrameForm | None:
    """None: the long way gives the same bytes."""
    try:
        return FrameForm(frame)
    except ValueError:
        return None


def _before_us(mono_ns: int, rows: Sequence[tuple[int, list[Cells]]]) -> bytes:
    return pack("u4", [min((mono_ns - at_ns) // 1000, 0xFFFFFFFF) for at_ns, _ in rows])
