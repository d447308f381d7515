"""A penalty on the target of a domain that measurably draws too much; the same solver then finds the cuts."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OVER_TARGET: Final = 1.005
NEAR_HARD: Final = 0.985
GAIN: Final = 0.7
MOST_SHARE: Final = 0.08
DECAY_S: Final = 60.0
WAIT_S: Final = 2.0
"""Between two penalties of a domain: the first must have had time to show."""


def alarmed(window_w: Floats, second_w: Floats, peak_w: Floats, target_w: Floats, hard_w: Floats) -> Bools:
    """Domains (D,) in an emergency: the mean over the target's window is over it and still fed, or a 100 ms
    value comes near the hard limit. Wall watts."""
    over = (window_w > OVER_TARGET * target_w) & (second_w > target_w)
    result: Bools = over | (peak_w > NEAR_HARD * hard_w)
    return result


def penalised(
    penalty_w: Floats,
    since_s: Floats,
    elapsed_s: float,
    alarm: Bools,
    excess_w: Floats,
    target_w: Floats,
) -> tuple[Floats, Floats]:
    """Penalties (D,) and seconds since each was last raised: decayed, and raised by most of the excess."""
    penalty_w = penalty_w * np.exp(-elapsed_s / DECAY_S)
    penalty_w = np.where(penalty_w < 1e-3 * target_w, 0.0, penalty_w)
    due = alarm & (since_s + elapsed_s >= WAIT_S)
    raised = np.minimum(penalty_w + GAIN * np.maximum(excess_w, 0.0), MOST_SHARE * target_w)
    return np.where(due, raised, penalty_w), np.where(due, 0.0, since_s + elapsed_s)
