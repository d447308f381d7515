"""What a meter of demand would bill: the highest mean over one of its intervals."""

import numpy as np

from easyrider_bench.cases import STEP_S, WARM_UP_S
from easyrider_bench.controllers.contract import DemandTerms, Floats

USUAL_INTERVAL_S = 900.0


def billing_kw(wall_w: Floats, terms: DemandTerms | None) -> float:
    """kW from the root's power since the jobs began, (T,) steps.

    With terms: the highest of the intervals that close in the run, with what had been metered before it in the first,
    and of the month's peak so far. Without: the highest trailing 15 minutes, or the whole run where it is shorter.
    """
    if terms is None:
        width = min(round(USUAL_INTERVAL_S / STEP_S), len(wall_w))
        total = np.concatenate(([0.0], np.cumsum(wall_w)))
        return float((total[width:] - total[:-width]).max()) / width / 1e3
    highest_w, begun_j, begin_s = terms.month_peak_w, terms.begun_j, terms.first_begin_s
    until_s = WARM_UP_S + len(wall_w) * STEP_S
    while begin_s + terms.interval_s <= until_s + 1e-9:
        end_s = begin_s + terms.interval_s
        first, last = (max(round((at_s - WARM_UP_S) / STEP_S), 0) for at_s in (begin_s, end_s))
        spent_j = begun_j + float(wall_w[first:last].sum()) * STEP_S
        highest_w = max(highest_w, spent_j / terms.interval_s)
        begun_j, begin_s = 0.0, end_s
    return highest_w / 1e3
