"""A frame's columns as numpy arrays; invalid cells are masked and cannot be read by accident."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from easyrider.errors import NotFinite, WrongField
from easyrider.messages import NodeFrame

Masked = np.ma.MaskedArray[Any, np.dtype[Any]]
FAST = {"power_w": "<f4", "mean_w": "<f4", "energy_mj": "<u8", "limit_mw": "<u4", "age_ms": "<u2"}
SLOW = {
    "temperature_c": "<i2",
    "util_pct": "u1",
    "sm_mhz": "<u2",
    "mem_mhz": "<u2",
    "reasons": "<u8",
    "memory_mb": "<u4",
    "mean10_w": "<f4",
    "max10_w": "<f4",
}


@dataclass(frozen=True, slots=True)
class FrameView:
    """Columns of one frame: `*_w`, `energy_mj`, `age_ms` of shape (samples, gpus), slow ones (gpus,) or None."""

    before_s: np.ndarray[Any, np.dtype[np.float64]]
    power_w: Masked
    mean_w: Masked
    energy_mj: Masked
    limit_w: Masked
    age_ms: np.ndarray[Any, np.dtype[np.uint16]]
    temperature_c: Masked | None
    util_pct: Masked | None
    sm_mhz: Masked | None
    mem_mhz: Masked | None
    reasons: Masked | None
    memory_mb: Masked | None
    mean10_w: Masked | None
    max10_w: Masked | None


def view(frame: NodeFrame) -> FrameView:
    """The arrays of a frame, sharing its bytes. Raises `WrongField` on a column of another size, `NotFinite`."""
    shape = (frame.samples, frame.gpu_count)
    power, mean = _column(frame, "power_w", "<f4", shape), _column(frame, "mean_w", "<f4", shape)
    limit = _column(frame, "limit_mw", "<u4", shape)
    slow = {name: _slow(frame, name, kind) for name, kind in SLOW.items()}
    return FrameView(
        before_s=_column(frame, "before_us", "<u4", (frame.samples,)) / 1e6,
        power_w=_masked(power, _column(frame, "power_ok", "u1", shape)),
        mean_w=_masked(mean, _column(frame, "mean_ok", "u1", shape)),
        energy_mj=_masked(
            _column(frame, "energy_mj", "<u8", shape), _column(frame, "energy_ok", "u1", shape)
        ),
        limit_w=_masked(limit / 1000.0, _column(frame, "limit_ok", "u1", shape)),
        age_ms=_column(frame, "age_ms", "<u2", shape),
        **slow,
    )


def replaced(
    frame: NodeFrame,
    *,
    power_w: np.ndarray[Any, Any],
    mean_w: np.ndarray[Any, Any],
    limit_w: np.ndarray[Any, Any],
) -> NodeFrame:
    """The frame with other watts in these columns, each (samples, gpus); which cells are valid stays."""
    return msgspec.structs.replace(
        frame,
        power_w=power_w.astype("<f4").tobytes(),
        mean_w=mean_w.astype("<f4").tobytes(),
        limit_mw=np.rint(limit_w * 1000.0).astype("<u4").tobytes(),
    )


def _slow(frame: NodeFrame, name: str, kind: str) -> Masked | None:
    if not frame.slow_ok:
        return None
    shape = (frame.gpu_count,)
    return _masked(_column(frame, name, kind, shape), _column(frame, "slow_ok", "u1", shape))


def _masked(values: np.ndarray[Any, Any], ok: np.ndarray[Any, Any]) -> Masked:
    return np.ma.MaskedArray(values, mask=ok != 0)


def _column(frame: NodeFrame, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    data: bytes = getattr(frame, name)
    cells = int(np.prod(shape))
    if len(data) != cells * np.dtype(kind).itemsize:
        raise WrongField(f"{name} holds {len(data)} bytes where {shape} of {kind} are announced")
    column = np.frombuffer(data, dtype=kind).reshape(shape)
    if kind == "<f4" and not np.isfinite(column).all():
        raise NotFinite(f"{name} holds a number that is not finite")
    return column
