"""Jobs that wait for a disk or a start: their watts can be lent, and they must wake at once.

A job that draws less than half of its peak for 4 s, longer than any phase of communication, is stalled. It
counts as its own draw and its limit falls to 1.25 times that; when one of its boards is pinned at that limit,
or its draw rises over half of its peak, it is awake. The highest board speaks for the job, which runs at the
pace of its slowest. A job that has just started sleeps until it draws: its set-up needs no watts of others.

Watts that are back before they were worth a move are not lent: where a job's stalls are usually short, like a
checkpoint of some seconds, it counts as stalled only once one lasts clearly longer than those before it.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LOW_SHARE: Final = 0.5
AWAKE_SHARE: Final = 0.55
BELOW_LIMIT: Final = 0.9
AFTER_S: Final = 4.0
CAP_PER_DRAW: Final = 1.25
WORTH_S: Final = 6.0
"""Others rise one after the other and seconds after a lowering; what is lent for less time gains them nothing."""
OVERDUE_SHARE, OVERDUE_S = 1.25, 2.0
"""So much longer than usual a stall is of another kind."""
_FOLLOWS: Final = 0.5
GAP_S: Final = 0.5
"""So long may nothing come of a job: nodes speak on their own beat, and two samples in one column leave none for the
next. What lasts longer is a gap, and a gap ends a stall's counting."""
_LONG_AGO: Final = -1e9


class Belief(NamedTuple):
    """What is believed of jobs (J,): watts per board at full load, and the limit in force."""

    peak_w: Floats
    limit_w: Floats


class Stalls:
    """Columns over jobs: `stalled`, `low_s` (how long the draw has been low), `woke_s` (when it last woke).

    `usual_s`: how long stalls last, the newest counting most; NaN until one was seen from its beginning to its end.
    """

    def __init__(self, starting: Bools) -> None:
        jobs = len(starting)
        self.stalled = starting.copy()
        self.low_s = np.zeros(jobs)
        self.missing_s = np.zeros(jobs)
        self.woke_s = np.full(jobs, _LONG_AGO)
        self.usual_s = np.full(jobs, np.nan)
        self.set_up = starting.copy()  # sleeps since its start: no stall like those to come

    def add(
        self, now_s: float, sample_w: Floats, highest_w: Floats, near_w: Floats, belief: Belief, step_s: float
    ) -> Ints:
        """Take samples (k, J), NaN where missing; the jobs that woke.

        `highest_w` (J,) is the newest draw of each job's highest board, pinned from `near_w` (J,) on.
        """
        # A job held far below its peak draws little too, but all that it may.
        below_w = np.minimum(LOW_SHARE * belief.peak_w, BELOW_LIMIT * belief.limit_w)
        heard = np.isfinite(sample_w)
        high = (heard & (sample_w >= below_w)).any(axis=0) | (highest_w >= below_w)
        heard_s = heard.sum(axis=0) * step_s
        self.missing_s = np.where(heard_s > 0, 0.0, self.missing_s + len(sample_w) * step_s)
        low = ~high & (self.missing_s <= GAP_S)
        self._end(high)
        self.low_s = np.where(low, self.low_s + heard_s, 0.0)
        newest_w = np.fmax.reduce(sample_w, axis=0)
        awake = self.stalled & ((highest_w > near_w) | (newest_w > AWAKE_SHARE * belief.peak_w))
        self.stalled = (self.stalled | (self.low_s >= self.after_s - 1e-9)) & ~awake
        woken = np.flatnonzero(awake)
        self._end(awake)
        self.woke_s[woken] = now_s
        self.low_s[woken] = 0.0
        return woken

    @property
    def after_s(self) -> Floats:
        """How long the draw of each job (J,) must be low before it counts as stalled."""
        with np.errstate(invalid="ignore"):
            short = self.usual_s - AFTER_S < WORTH_S
            return np.where(short, np.maximum(AFTER_S, OVERDUE_SHARE * self.usual_s + OVERDUE_S), AFTER_S)

    def _end(self, ends: Bools) -> None:
        """Learn how long a stall lasted where one ends (J,), declared or not."""
        seen = ends & (self.low_s >= AFTER_S - 1e-9) & ~self.set_up
        if seen.any():
            known_s = np.where(np.isnan(self.usual_s), self.low_s, self.usual_s)
            self.usual_s = np.where(seen, known_s + _FOLLOWS * (self.low_s - known_s), self.usual_s)
        self.set_up &= ~ends

    def pinned(self, now_s: float, highest_w: Floats, near_w: Floats) -> Ints:
        """The stalled jobs of which a board stands at its low limit already: they wake, before the next sample."""
        awake = self.stalled & (highest_w > near_w)
        woken = np.flatnonzero(awake)
        self._end(awake)
        self.stalled[woken], self.woke_s[woken], self.low_s[woken] = False, now_s, 0.0
        return woken

    def wake(self, job: int, now_s: float) -> None:
        """A forecast or a phase mark says that this job is about to draw again."""
        if self.stalled[job]:
            self.stalled[job] = False
            self.low_s[job] = 0.0
            self.woke_s[job] = now_s
