"""Conversions at the edges; inside the house it is W, J, s."""

import math


def milli(value: float) -> int:
    """Whole thousandths, nearest; what NVML takes for watts. Raises `ValueError` for NaN or infinity."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no whole thousandths")
    return round(value * 1000)


def from_milli(value: int) -> float:
    """Units from thousandths."""
    return value / 1000


def seconds(ns: int) -> float:
    """Seconds from nanoseconds."""
    return ns / 1e9


def nanoseconds(s: float) -> int:
    """Whole nanoseconds, nearest."""
    return round(s * 1e9)
