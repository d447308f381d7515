"""Bounds of the peak that step up at a miss and creep down otherwise, on two bases, and the better one picked.

For horizons whose scores come too late for a rolling quantile. Source: online quantile tracking by the gradient of
the pinball loss (Gibbs and Candes 2021; Angelopoulos and others 2023).
"""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed
from easyrider_forecaster.core.mix import CONTEXTS, DEPTHS, ORIGINS, slot_of, slots_of

BASES = 2
"""The highest of 60 s, and the forecast of the peak."""
STEP = 0.3
PACE = 0.02
FORGET = 2.0 ** (-1 / 300)
FRESH = tuple(max(100, 10 * horizon_s) for horizon_s in HORIZONS_S)
"""Scores of a context below which a fixed margin stands in; the highest of them is where the margin starts.

Windows of 30 s, one a second, overlap: of a hundred three stand apart, which is too few for one in a hundred.
"""
START_MARGIN = {0.9: 0.02, 0.99: 0.04}


class Trackers(Rowed):
    """One margin per row, context, horizon and base; watts per GPU."""

    def __init__(self, rows: int, share: float, *, picks: bool = True) -> None:
        """`share` of the peaks is to lie below the bound. Without `picks` it stands on the forecast alone."""
        super().__init__(rows)
        self.picks = picks
        horizons = len(HORIZONS_S)
        self.share = share
        shape = (CONTEXTS, horizons, BASES)
        self.margin_w = self.column("margin_w", shape, np.float32, np.nan)
        self.loss_w = self.column("loss_w", shape, np.float32, 0.0)
        self._number = self.column("_number", (CONTEXTS, horizons), np.int32, 0)
        self._first_w = self.column("_first_w", shape, np.float32, -np.inf)
        self._scale_w = self.column("_scale_w", (horizons, BASES), np.float32, np.nan)
        self._base_w = self.column("_base_w", (sum(DEPTHS), BASES), np.float32, np.nan)
        self._context = self.column("_context", (ORIGINS,), np.int8, 0)
        self._when = np.full(ORIGINS, -1)

    def bounds(self, bases_w: Array, context: Array, rating_w: Array) -> Array:
        """The bound on the base of smaller loss, (rows, horizons), from bases of (rows, horizons, BASES)."""
        every = np.arange(self.rows)
        margin_w = self.margin_w[every, context]
        start_w = START_MARGIN[self.share] * rating_w[:, None, None]
        said_w = bases_w + np.where(np.isfinite(margin_w), margin_w, start_w)
        loss = np.where(np.isfinite(said_w), self.loss_w[every, context], np.inf)
        loss[:, :, 1] = 1.001 * loss[:, :, 1] + 0.001  # a tie goes to what was seen
        if not self.picks:
            loss[:, :, 0] = np.where(np.isfinite(said_w[:, :, 1]), np.inf, loss[:, :, 0])
        pick = loss.argmin(axis=2)[:, :, None]
        return np.asarray(np.take_along_axis(said_w, pick, axis=2)[:, :, 0])

    def keep(self, block: int, bases_w: Array, context: Array) -> None:
        """Remember the bases of this origin."""
        self._base_w[:, slots_of(block)] = bases_w
        self._context[:, block % ORIGINS] = context
        self._when[block % ORIGINS] = block

    def knows(self, origin: int) -> bool:
        """Whether a bound was said at this origin and is still remembered."""
        return bool(self._when[origin % ORIGINS] == origin)

    def score(
        self, block: int, horizon: int, peak_w: Array, valid: Array, hidden: Array, rating_w: Array
    ) -> None:
        """What came; where a limit hid samples only a miss is evidence."""
        origin = block - HORIZONS_S[horizon]
        if not self.knows(origin):
            return
        base_w = self._base_w[:, slot_of(origin, horizon)]
        context = self._context[:, origin % ORIGINS]
        counted = np.flatnonzero(valid & np.isfinite(peak_w) & ~hidden)
        self._number[counted, context[counted], horizon] += 1
        for base in range(BASES):
            ready = valid & np.isfinite(base_w[:, base]) & np.isfinite(peak_w)
            rows = np.flatnonzero(ready)
            where = (rows, context[rows], horizon, base)
            start_w = START_MARGIN[self.share] * rating_w[rows]
            margin_w = np.where(np.isfinite(self.margin_w[where]), self.margin_w[where], start_w)
            score_w = peak_w[rows] - base_w[rows, base]
            miss = score_w > margin_w + 0.5
            taken = miss | ~hidden[rows]
            off_w = score_w - margin_w
            loss_w = np.maximum(self.share * off_w, (self.share - 1.0) * off_w)
            scale_w = self._scale_w[rows, horizon, base]
            size_w = np.minimum(np.abs(score_w), 0.2 * rating_w[rows])
            scale_w = np.where(np.isfinite(scale_w), scale_w + PACE * (size_w - scale_w), size_w)
            scale_w = np.maximum(scale_w, 0.002 * rating_w[rows])
            step_w = STEP * scale_w * np.where(miss, self.share, self.share - 1.0)
            first = self._number[rows, context[rows], horizon] < FRESH[horizon]
            self._first_w[where] = np.fmax(self._first_w[where], np.where(taken, score_w, -np.inf))
            fresh = ~np.isfinite(self.margin_w[where])
            moved_w = np.where(
                fresh, np.maximum(self._first_w[where], -0.5 * rating_w[rows]), margin_w + step_w
            )
            moved_w = np.clip(moved_w, -0.5 * rating_w[rows], 0.5 * rating_w[rows])
            moved_w[fresh & first] = np.nan
            self._scale_w[rows, horizon, base] = np.where(taken, scale_w, self._scale_w[rows, horizon, base])
            self.margin_w[where] = np.where(taken, moved_w, self.margin_w[where])
            self.loss_w[where] = np.where(taken, FORGET * self.loss_w[where] + loss_w, self.loss_w[where])
