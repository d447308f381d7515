"""How jobs iterate: periods as the forecaster tells them, and what one period of a job looks like in watts.

For advice alone: no limit depends on it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SAMPLES: Final = 600
STEP_S: Final = 0.1
TRUSTED: Final = 0.5
"""Least confidence of a period that advice rests on."""
FRESH_S: Final = 10.0
SHORTEST_S: Final = 0.8
"""Eight means of 100 ms: a shorter period cannot be seen in them."""
LONGEST_S: Final = SAMPLES * STEP_S
CYCLES: Final = 4
"""Newest periods that are laid over each other: with more, a period told a little wrong would smear them."""
SEEN: Final = 0.8


class Rhythms:
    """Columns (J,) of periods, and a minute of 100 ms means per job: infinite where a limit hid what would be drawn."""

    def __init__(self, jobs: int) -> None:
        self.ring = np.full((SAMPLES, jobs), np.nan, dtype=np.float16)
        self.at = 0
        self.period_s = np.full(jobs, np.nan)
        self.confidence = np.zeros(jobs)
        self.heard_s = np.full(jobs, -np.inf)

    def add(self, sample_w: Floats, hidden: Bools) -> None:
        """Take samples (k, J) per board, NaN where missing."""
        rows = (self.at + np.arange(len(sample_w))) % SAMPLES
        self.ring[rows] = np.where(hidden, np.inf, sample_w)
        self.at = (self.at + len(sample_w)) % SAMPLES

    def hear(self, job: int, period_s: float | None, confidence: float, now_s: float) -> None:
        """The newest word on a job's period; None: it has none."""
        self.period_s[job] = np.nan if period_s is None else period_s
        self.confidence[job], self.heard_s[job] = confidence, now_s

    def why_not(self, job: int, now_s: float) -> str:
        """Why nothing can be said of this job's phase; empty where something can."""
        period_s = self.period_s[job]
        if now_s - self.heard_s[job] > FRESH_S:
            return "no forecast of it is fresh"
        if np.isnan(period_s):
            return "no period is found"
        if self.confidence[job] < TRUSTED:
            return "its period is not sure"
        if not SHORTEST_S <= period_s <= LONGEST_S:
            return f"its period is not between {SHORTEST_S:g} s and {LONGEST_S:g} s"
        return ""

    def template(self, job: int, peak_w: float) -> Floats | None:
        """Watts per board over the coming period, the first bin beginning now; None where too little of it was seen."""
        samples_w = np.roll(self.ring[:, job], -self.at).astype(np.float64)
        return fold(samples_w, float(self.period_s[job]), peak_w)


def fold(samples_w: Floats, period_s: float, peak_w: float) -> Floats | None:
    """One period out of samples (n,) of 100 ms, the last ending now, from the newest periods; bins of about 100 ms.

    Hidden samples count the peak. Bins never seen do too: what is not known is not taken for low.
    """
    used = samples_w[-min(len(samples_w), round(CYCLES * period_s / STEP_S)) :]
    bins = max(1, round(period_s / STEP_S))
    ago_s = STEP_S * (len(used) - np.arange(len(used)) - 0.5)
    place = np.minimum((bins * ((-ago_s / period_s) % 1.0)).astype(np.int64), bins - 1)
    seen = ~np.isnan(used)
    count = np.bincount(place[seen], minlength=bins)
    if (count > 0).sum() < SEEN * bins:
        return None
    watts = np.where(np.isinf(used), peak_w, used)
    total = np.bincount(place[seen], weights=watts[seen], minlength=bins)
    return np.where(count > 0, total / np.maximum(count, 1), peak_w)
