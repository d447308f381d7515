"""What a forecast adds to what the planner sees: a peak not seen yet, a rise or a wake before it comes."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider_policy.core.observe import Observation

TRUSTED: Final = 0.5
SURE: Final = 0.7
LEAD_S: Final = 2.0
"""Limits act this long after a decision at the latest: plan, command, verified lowering, raise."""
HOLDS_S: Final = 3.0
"""A forecast counts for three of its periods."""
RISES: Final = 1.03
WAKES: Final = 0.6
WAKES_EVERY_S: Final = 15.0


def foresee(observation: Observation, forecast: PowerForecast, now_s: float) -> bool:
    """Take the jobs' demand, one iteration period or the lead ahead; whether a plan should be made at once.

    Series of low confidence are left aside, and so is what rests on the nameplate alone. A forecast can raise
    what is planned for a job, wake it, or stand in for a peak never seen, unless it may have taken our limit
    or a set-up for that peak; it never lowers what was seen.
    """
    rows = observation.job_rows
    urgent = False
    periods: dict[int, float] = {}
    for series in forecast.series:
        row = rows.get(series.id) if series.scope == "job" else None
        if row is not None:
            observation.rhythms.hear(row, series.period_s, series.confidence, now_s)
        if row is not None and series.period_s and series.confidence >= TRUSTED:
            periods[row] = series.period_s
        if row is None or series.confidence < TRUSTED or series.basis == "nameplate" or not series.demand:
            continue
        soon = reaching(series.demand, max(LEAD_S, series.period_s or 0.0))
        urgent |= _take(observation, row, series, soon, now_s)
    if periods:
        observation.iterated(np.array(list(periods)), np.array(list(periods.values())))
    return urgent


def _take(
    observation: Observation, row: int, series: SeriesForecast, soon: HorizonForecast, now_s: float
) -> bool:
    boards = max(series.gpu_count, 1)
    peaks, stalls = observation.peaks, observation.stalls
    if not peaks.known[row]:
        told_w = soon.peak_q90_w / boards
        if series.basis != "fingerprint" and not peaks.shows(row, told_w):
            return False
        peaks.tell(row, told_w)
        return True
    seen_w = float(peaks.peak_w[row])
    rising = soon.peak_w / boards > RISES * seen_w
    if rising:
        observation.expect(row, soon.peak_w / boards, now_s + HOLDS_S)
    near = reaching(series.demand, LEAD_S)
    wakes = bool(stalls.stalled[row]) and near.peak_w / boards > WAKES * seen_w
    if wakes and series.confidence >= SURE and now_s - float(stalls.woke_s[row]) > WAKES_EVERY_S:
        stalls.wake(row, now_s)
        observation.duty.reset(row)
        return True
    return False


def reaching(horizons: Sequence[HorizonForecast], ahead_s: float) -> HorizonForecast:
    """The shortest horizon that reaches so far, else the longest there is."""
    by_reach = sorted(horizons, key=lambda horizon: horizon.horizon_s)
    return next((h for h in by_reach if h.horizon_s >= ahead_s - 1e-6), by_reach[-1])
