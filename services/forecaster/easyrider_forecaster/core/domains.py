"""Power domains: the sum of what is expected of their groups, corrected and bounded by their own record.

Watts of managed GPUs. A bound is never a sum of bounds, only held under it: jobs do not peak together.
"""

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array, Rowed
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.capped import as_limited_w
from easyrider_forecaster.core.mix import ORIGINS, STEADY, Mix
from easyrider_forecaster.core.outlook import Rows, View
from easyrider_forecaster.core.peak_bias import ArcBias

_BLOCKS = 64
_SAME_LIMITS = 0.02
_BASE_OF = [max(column, HORIZONS_S.index(10)) for column in range(len(HORIZONS_S))]
"""The bound stands on a mean over 10 s or more: with few jobs a shorter one swings with their iterations, and
the quantile learned in the valleys would be added to the summits."""


_FIRST_PEAK_LOSS = (0.5, 0.5, 1.0, 1.0, 0.0)
_PATH = len(_FIRST_PEAK_LOSS) - 1
_STEPS = np.asarray(HORIZONS_S, np.float64)


class DomainSide(Rowed):
    """Bias of the summed means, rivals for the peak and its bound, for draw or for demand."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.bound = PeakBound(rows)
        self.peaks, self.path_bias = Mix(rows, _FIRST_PEAK_LOSS), ArcBias(rows)
        self.bias_w = self.column("bias_w", (len(HORIZONS_S),), np.float64, 0.0)
        self._said_w = self.column("_said_w", (ORIGINS, len(HORIZONS_S)), np.float32, np.nan)

    def keep(self, block: int, mean_w: Array, base_w: Array, q99_w: Array) -> None:
        """Remember one origin."""
        self._said_w[:, block % ORIGINS] = mean_w
        self.bound.keep(block, base_w, q99_w)

    def peak(self, block: int, mean_w: Array, highest_w: Array) -> Array:
        """Point forecast of the peak: windows, and the highest part of the path of the mean with what lies over it.

        `highest_w` is the running maximum looking back, 60 columns.
        """
        path = np.diff(mean_w * _STEPS, axis=1, prepend=0.0) / np.diff(_STEPS, prepend=0.0)
        rivals = np.empty((*mean_w.shape, len(_FIRST_PEAK_LOSS)))
        rivals[:, :, 0] = highest_w[:, np.asarray(HORIZONS_S) - 1]
        rivals[:, :, 1:4] = highest_w[:, None, [9, 29, 59]]
        rivals[:, :, _PATH] = np.maximum.accumulate(path, axis=1) + self.path_bias.bias_w
        said = self.peaks.weigh(rivals, np.full(self.rows, STEADY))
        self.peaks.keep(block, rivals, said)
        return said

    def score(
        self,
        block: int,
        column: int,
        mean_w: Array,
        peak_w: Array,
        valid: Array,
        hidden: Array,
        rating_w: Array,
    ) -> None:
        """Outcome of one horizon, (domains,); hidden samples correct no bias and lower no bound."""
        said_w = self._said_w[:, (block - HORIZONS_S[column]) % ORIGINS, column]
        rows = valid & ~hidden & np.isfinite(said_w)
        gain = 0.01 / np.sqrt(HORIZONS_S[column])
        self.bias_w[rows, column] += gain * (mean_w - said_w)[rows]
        path_w = self.peaks.made(block - HORIZONS_S[column], column, _PATH)
        self.path_bias.score(column, peak_w, path_w, valid & ~hidden)
        self.peaks.score(block, column, peak_w, valid & ~hidden, rating_w)
        self.bound.score(block, column, peak_w, valid, hidden)


class Domains(Rowed):
    """One row a domain."""

    def __init__(self, ids: tuple[str, ...]) -> None:
        super().__init__(len(ids))
        self.ids = ids
        self.weights = np.zeros((len(ids), 0))  # GPUs of each group below each domain
        self.draw, self.demand = DomainSide(len(ids)), DomainSide(len(ids))
        self._rating_w = np.zeros(len(ids))
        self._mean_w = self.column("_mean_w", (_BLOCKS,), np.float64, np.nan)
        self._top_w = self.column("_top_w", (_BLOCKS,), np.float64, np.nan)
        self._limit_w = self.column("_limit_w", (_BLOCKS,), np.float64, np.nan)
        self._hidden = self.column("_hidden", (_BLOCKS,), np.bool_, False)
        self._sure = self.column("_sure", (_BLOCKS,), np.bool_, False)

    def sum(self, per_gpu: Array) -> Array:
        """(groups, ...) watts per GPU -> (domains, ...) watts."""
        return np.asarray(self.weights @ per_gpu)

    def see(self, block: int, raw: Array, hidden: Array, limit_w: Array) -> None:
        """One closed block of all groups, (groups, 10); a domain with a gap below has a gap."""
        whole = self.sum(np.asarray(np.isnan(raw), np.float64)) == 0
        power_w = np.where(whole, self.sum(np.asarray(np.nan_to_num(raw))), np.nan)
        populated = self.weights.sum(axis=1) > 0
        power_w[~populated] = np.nan
        at = block % _BLOCKS
        self._mean_w[:, at] = power_w.mean(axis=1)
        self._top_w[:, at] = power_w.max(axis=1)
        self._limit_w[:, at] = self.sum(limit_w)
        self._hidden[:, at] = self.sum(np.asarray(hidden.any(axis=1), np.float64)) > 0
        for column, horizon_s in enumerate(HORIZONS_S):
            self._score(block, column, horizon_s)

    def view(self, block: int, draw: View, demand: View, rows: Rows, heard: Array) -> tuple[View, View]:
        """Draw and demand of the domains in W from those of the groups in W per GPU; remembered for scoring.

        `heard` says which groups have data: an origin that leans on a nameplate is no evidence.
        """
        rating_w = self._rating_w = self.sum(rows.max_w)
        self._sure[:, block % _BLOCKS] = self.sum((~heard).astype(np.float64)) == 0
        turn = np.arange(self.rows)
        views = []
        for side, groups, top_w in (
            (self.draw, draw, self.sum(rows.limit_w)),
            (self.demand, demand, rating_w),
        ):
            side.bound.learn(turn)
            mean_w = self.sum(groups.mean_w) + side.bias_w
            mean_w = np.clip(mean_w, self.sum(rows.floor_w)[:, None], top_w[:, None])
            ceiling_w = np.minimum(top_w[:, None], np.maximum(self.sum(groups.q99_w), mean_w))
            views.append(self._bounded(block, side, mean_w, ceiling_w, rating_w))
        return views[0], views[1]

    def observed(self, block: int) -> Array:
        """Mean managed watts of the last second, NaN where a sample is missing."""
        return np.asarray(self._mean_w[:, block % _BLOCKS])

    def _bounded(
        self, block: int, side: DomainSide, mean_w: Array, ceiling_w: Array, rating_w: Array
    ) -> View:
        base_w = mean_w[:, _BASE_OF]
        margin90_w, margin99_w = side.bound.margins(rating_w)
        recent = self._top_w[:, (block - np.arange(60)) % _BLOCKS]
        highest = np.fmax.accumulate(recent, axis=1)
        young = ~np.isfinite(side.bound.margin99_w)
        start_w = np.where(young, np.nan_to_num(np.fmax(highest[:, -1:] - base_w, 0.0)), 0.0)
        q90_w = np.maximum.accumulate(np.minimum(base_w + start_w + margin90_w, ceiling_w), axis=1)
        q99_w = np.maximum.accumulate(np.minimum(base_w + start_w + margin99_w, ceiling_w), axis=1)
        q90_w, q99_w = np.maximum(q90_w, mean_w), np.maximum(q99_w, mean_w)
        peak_w = np.clip(np.nan_to_num(side.peak(block, mean_w, highest), nan=np.inf), mean_w, q90_w)
        side.keep(block, mean_w, base_w, q99_w)
        return View(mean_w, peak_w, q90_w, np.maximum(q99_w, q90_w))

    def _score(self, block: int, column: int, horizon_s: int) -> None:
        at = (block - np.arange(horizon_s)) % _BLOCKS
        origin = (block - horizon_s) % _BLOCKS
        limits_w = self._limit_w[:, (block - np.arange(horizon_s + 1)) % _BLOCKS]
        with np.errstate(invalid="ignore"):
            same = np.ptp(limits_w, axis=1) <= _SAME_LIMITS * limits_w.max(axis=1)
        mean_w, peak_w = self._mean_w[:, at].mean(axis=1), self._top_w[:, at].max(axis=1)
        valid = np.isfinite(mean_w) & self._sure[:, origin]
        hidden = np.asarray(self._hidden[:, at].any(axis=1))
        nothing = np.zeros(self.rows, np.bool_)
        rating_w = self._rating_w
        drawn_w = as_limited_w(peak_w, limits_w.max(axis=1))
        self.draw.score(block, column, mean_w, drawn_w, valid & same, nothing, rating_w)
        self.demand.score(block, column, mean_w, peak_w, valid, hidden, rating_w)


assert _BLOCKS > ORIGINS
