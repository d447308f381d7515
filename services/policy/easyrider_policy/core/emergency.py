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
PRESSED_SHARE: Final = 0.5
"""Of a target, the most that a penalty takes at a time, and at all; the latter at once where a device's trip curve is
nearly spent. Where none is known nothing says how urgent it is, so an alarm that a penalty did not end earns the next:
cards that obey no limit, or load that grows unseen, are not done with after the first."""
NEAR_MOST: Final = 0.9
"""Of what it may take, a penalty that still stands at it did not suffice: it decays from the moment it is set."""
DECAY_S: Final = 60.0
WAIT_S: Final = 2.0
"""After a penalty, a lowering below the domain or a fall of its target: what was done must have time to show."""
PATIENCE_S: Final = 5.0
"""An alarm that lasts so long is answered whatever else goes on."""


def alarmed(window_w: Floats, second_w: Floats, peak_w: Floats, target_w: Floats, hard_w: Floats) -> Bools:
    """Domains (D,) in an emergency: the mean over the target's window is over it and still fed, or a 100 ms
    value comes near the hard limit. Wall watts."""
    over = (window_w > OVER_TARGET * target_w) & (second_w > target_w)
    result: Bools = over | (peak_w > near_hard_w(target_w, hard_w))
    return result


def near_hard_w(target_w: Floats, hard_w: Floats) -> Floats:
    """From where on a draw (D,) comes too near the hard limit; what fills a target is what was planned."""
    return np.maximum(NEAR_HARD * hard_w, np.minimum(target_w, hard_w))


def decayed(penalty_w: Floats, elapsed_s: float, target_w: Floats) -> Floats:
    """Penalties (D,) after some time; less than a thousandth of the target is none."""
    if not penalty_w.any():
        return penalty_w
    left_w = penalty_w * np.exp(-elapsed_s / DECAY_S)
    return np.where(left_w < 1e-3 * target_w, 0.0, left_w)


def penalised(
    penalty_w: Floats, due: Bools, excess_w: Floats, target_w: Floats, pressed: Bools | None = None
) -> Floats:
    """Penalties (D,) raised by most of the excess where they are due. `pressed` (D,): devices close to opening."""
    steps = 1.0 + np.floor(penalty_w / np.maximum(NEAR_MOST * MOST_SHARE * target_w, 1e-9))
    most = np.minimum(MOST_SHARE * steps, PRESSED_SHARE)
    if pressed is not None:
        most = np.where(pressed, PRESSED_SHARE, most)
    raised = np.minimum(penalty_w + GAIN * np.maximum(excess_w, 0.0), most * target_w)
    raised = np.maximum(
        raised, np.minimum(penalty_w, PRESSED_SHARE * target_w)
    )  # what was taken decays, no faster
    return np.where(due, raised, penalty_w)
