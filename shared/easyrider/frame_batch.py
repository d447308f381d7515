"""Frames of one row each, of nodes with as many boards, as arrays: all of a column are read in one go."""

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from easyrider.messages import NodeFrame

Array = np.ndarray[Any, Any]


def is_whole(frame: NodeFrame) -> bool:
    """Whether it holds one row and every column the bytes of it: what the view of a single frame would refuse."""
    boards, slow = frame.gpu_count, len(frame.slow_ok)
    return (
        frame.samples == 1
        and len(frame.before_us) == 4
        and len(frame.mean_w) == len(frame.power_w) == len(frame.limit_mw) == 4 * boards
        and len(frame.power_ok) == len(frame.mean_ok) == len(frame.energy_ok) == len(frame.limit_ok) == boards
        and len(frame.energy_mj) == 8 * boards
        and len(frame.age_ms) == 2 * boards
        and (slow == 0 or _has_whole_slow_columns(frame))
    )


def finite(frames: Sequence[NodeFrame]) -> Array:
    """(F,) frames without a number that is none."""
    both = np.hstack([_column(frames, name, "<f4") for name in ("mean_w", "power_w")])
    return np.asarray(np.isfinite(both).all(axis=1))


def mean_w(frames: Sequence[NodeFrame]) -> Array:
    """(F, boards) energy means, NaN where not valid."""
    return np.where(_column(frames, "mean_ok", "u1") == 0, _column(frames, "mean_w", "<f4"), np.nan)


def limit_w(frames: Sequence[NodeFrame]) -> Array:
    """(F, boards) enforced limits, NaN where not valid."""
    watts = _column(frames, "limit_mw", "<u4") / 1000.0
    return np.where(_column(frames, "limit_ok", "u1") == 0, watts, np.nan)


def read_ns(frames: Sequence[NodeFrame]) -> Array:
    """(F,) when each row was read, by its node's clock."""
    before_ns = _column(frames, "before_us", "<u4")[:, 0].astype(np.int64) * 1000
    return np.array([frame.mono_ns for frame in frames]) - before_ns


def reasons(frame: NodeFrame) -> Array:
    """(boards,) NVML's bits of one frame with slow columns, 0 where not valid."""
    valid = np.frombuffer(frame.slow_ok, dtype="u1") == 0
    return np.where(valid, np.frombuffer(frame.reasons, dtype="<u8"), 0)


def temperature_c(frame: NodeFrame) -> Array:
    """(boards,) of one frame with slow columns, NaN where not valid."""
    valid = np.frombuffer(frame.slow_ok, dtype="u1") == 0
    return np.where(valid, np.frombuffer(frame.temperature_c, dtype="<i2"), np.nan)


def _has_whole_slow_columns(frame: NodeFrame) -> bool:
    boards = frame.gpu_count
    return (
        len(frame.slow_ok) == len(frame.util_pct) == boards
        and len(frame.temperature_c) == len(frame.sm_mhz) == len(frame.mem_mhz) == 2 * boards
        and len(frame.memory_mb) == len(frame.mean10_w) == len(frame.max10_w) == 4 * boards
        and len(frame.reasons) == 8 * boards
        and math.isfinite(sum(struct.unpack(f"<{2 * boards}f", frame.mean10_w + frame.max10_w)))
    )


def _column(frames: Sequence[NodeFrame], name: str, kind: str) -> Array:
    return np.frombuffer(b"".join([getattr(frame, name) for frame in frames]), dtype=kind).reshape(
        len(frames), -1
    )
