"""One load as everybody sees it, and what is to be foretold of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

HORIZONS_S = (1, 2, 5, 10, 30)
SLOTS = 10
"""Samples a second: means over 100 ms."""
WARM_UP_S = 300
"""Before the first origin of a long series, and before bounds are scored: what fits look back on."""
SHORT_S, SHORT_HORIZON_S = 100, 5
"""Of a recording shorter than this, only horizons up to the second number are scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Power in W of a job (or the sum of a domain's) at 10 Hz; `parts_w` are the jobs of a domain.

    `instant_w` is what a 25 ms window before each refresh shows of the same. `natural_w` is what the load would
    draw without the limit `limit_w`, both only of a capped one. `util_pct` is NaN where nobody told it.
    """

    family: str
    name: str
    rating_w: float
    gpus: int
    power_w: Array  # (slots,)
    instant_w: Array  # (slots,)
    util_pct: Array  # (seconds,)
    parts_w: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))  # (jobs, slots)
    part_instant_w: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    natural_w: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    limit_w: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    released_s: int = 0

    @property
    def seconds(self) -> int:
        """Whole seconds it lasts."""
        return len(self.power_w) // SLOTS

    @property
    def horizons_s(self) -> tuple[int, ...]:
        """Those that it is long enough for."""
        if self.seconds >= SHORT_S:
            return HORIZONS_S
        return tuple(h for h in HORIZONS_S if h <= SHORT_HORIZON_S)

    def by_second(self) -> tuple[Array, Array]:
        """Mean and highest 100 ms mean of every second, (seconds,) each."""
        blocks = self.power_w[: self.seconds * SLOTS].astype(np.float64).reshape(-1, SLOTS)
        return blocks.mean(axis=1), blocks.max(axis=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came after each origin: mean and peak of each horizon, (origins, horizons), NaN where it is not scored."""

    mean_w: Array
    peak_w: Array


def outcome(series: Series, origins_s: Array) -> Outcome:
    """The truth. An origin at second t knows the samples before t; a window of h is [t, t + h)."""
    mean_w, top_w = series.by_second()
    total_w = np.concatenate(([0.0], np.cumsum(mean_w)))
    means, peaks = (np.full((len(origins_s), len(HORIZONS_S)), np.nan) for _ in range(2))
    for column, horizon_s in enumerate(HORIZONS_S):
        if horizon_s not in series.horizons_s:
            continue
        inside = origins_s + horizon_s <= series.seconds
        begin = origins_s[inside]
        means[inside, column] = (total_w[begin + horizon_s] - total_w[begin]) / horizon_s
        if len(begin):
            tops = np.lib.stride_tricks.sliding_window_view(top_w, horizon_s).max(axis=1)
            peaks[inside, column] = tops[begin]
    return Outcome(means, peaks)
