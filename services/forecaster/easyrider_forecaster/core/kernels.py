"""The dear steps of one second, in arrays: what a compiled form is tested against, and stands in for it."""

import numpy as np

from easyrider_forecaster.core import experts, phase, samples
from easyrider_forecaster.core.arrays import HORIZONS_S, Array, cohort
from easyrider_forecaster.core.bound import PeakBound
from easyrider_forecaster.core.censor import Ceiling
from easyrider_forecaster.core.dips import Ahead, Dips
from easyrider_forecaster.core.history import History
from easyrider_forecaster.core.mix import Mix
from easyrider_forecaster.core.pulse import Pulse
from easyrider_forecaster.core.recent import Recent
from easyrider_forecaster.core.trackers import Trackers

WINDOWS_S = (*HORIZONS_S, 60)


class Kernels:
    """Each method writes into the records it is given. Rows are groups."""

    name = "numpy"

    def beat(self, pulse: Pulse, power_w: Array, hidden: Array, floor_w: Array, max_w: Array) -> None:
        """One block of samples, (rows, 10)."""
        samples.take(pulse, power_w, hidden, floor_w, max_w)

    def track(self, pulse: Pulse, history: History) -> None:
        """Low runs judged, phases fitted to what was seen."""
        pulse.judge_runs()
        phase.search(pulse, history)

    def edges(self, pulse: Pulse, low_line_w: Array) -> tuple[Array, Array]:
        """Seconds until the shape next rises and falls, (rows,); NaN where it does not."""
        return phase.next_edges_s(pulse, low_line_w)

    def last_means(self, pulse: Pulse) -> tuple[Array, Array]:
        """Mean of the shape over the last second, and of the whole of it, (rows,); NaN without a period."""
        total = phase.cumulative(pulse)
        return phase.last_means(pulse, total), total[:, -1] + pulse.level_w

    def ahead(self, dips: Dips, pulse: Pulse) -> Ahead:
        """Dips to be expected."""
        return dips.ahead(pulse)

    def tops(self, history: History) -> Array:
        """Highest sample of the last 1, 2, 5, 10, 30, 60 s, (rows, 6); -inf where there is none."""
        return np.asarray(history.tops()[:, np.asarray(WINDOWS_S) - 1])

    def rivals(
        self,
        history: History,
        pulse: Pulse,
        dips: Dips,
        recent: Recent,
        ahead: Ahead,
        tops: Array,
        levels_w: tuple[Array, Array, Array],
        arc_bias_w: Array,
        still: Array,
        floor_w: Array,
        max_w: Array,
    ) -> tuple[Array, Array]:
        """Rivals for mean and peak, (rows, horizons, experts), within [floor, device maximum]."""
        means = experts.means(history, pulse, dips, recent, ahead, *levels_w, still)
        peaks = experts.peaks(history, pulse, recent, ahead, tops, arc_bias_w, still)
        for one in (means, peaks):
            np.clip(one, floor_w[:, None, None], max_w[:, None, None], out=one)
        return means, peaks

    def weigh(self, mix: Mix, block: int, rivals: Array, context: Array) -> Array:
        """The combination, (rows, horizons), remembered as said at this origin."""
        mixed = mix.weigh(rivals, context)
        mix.keep(block, rivals, mixed, context)
        return mixed

    def score(self, mix: Mix, block: int, h: int, outcome_w: Array, valid: Array, rating_w: Array) -> None:
        """What came of one horizon."""
        mix.score(block, h, outcome_w, valid, rating_w)

    def cover(self, bound: PeakBound, block: int, h: int, peak_w: Array, valid: Array, hidden: Array) -> None:
        """What came of one horizon, for the rolling bound."""
        bound.score(block, h, peak_w, valid, hidden)

    def far(
        self, one: Trackers, block: int, h: int, peak_w: Array, valid: Array, hidden: Array, rating_w: Array
    ) -> None:
        """What came of one horizon, for a tracked bound."""
        one.score(block, h, peak_w, valid, hidden, rating_w)

    def sort(self, history: History, ceiling: Ceiling, recent: Recent, bound: PeakBound, turns: int) -> None:
        """Order statistics of every `turns`-th row."""
        rows = cohort(history.rows, history.block, turns)
        ceiling.learn(history, rows)
        recent.learn(history, rows)
        bound.learn(rows)
