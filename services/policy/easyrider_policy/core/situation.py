"""The world as a plan is told of it, apart from the jobs' draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.holds import Held

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Situation:
    """The world as it is now, apart from the jobs' draw. Wall watts on domains, board watts on boards."""

    now_s: float  # monotonic
    limit_w: Floats  # (G,) what each board is asked to hold: newest sent, else as read back; NaN unknown
    steered: Bools  # (G,) in pilot or enforce, takes limits, and its node can be commanded now
    counted_w: Floats  # (G,) the most a board may draw, for those not steered; 0 where foreign load has it
    hard_w: Floats  # (D,) in force now: lost modules and facility events included
    target_w: Floats  # (D,)
    unmanaged_hard_w: Floats  # (D,) the most that foreign load may draw
    unmanaged_target_w: Floats  # (D,) foreign load besides boards that are read, until an offset is learned
    holds: Held | None = None  # boards that may not rise
    echo: Floats | None = None  # (J,) shares of natural draw that coordinators elsewhere leave to jobs
    closed: Bools | None = None  # (D,) every board below is ours to limit
    pilot_floor_w: float | None = None  # per board, where a domain is not closed
    confidence: float | None = None  # of the forecasts, weighted over boards; None: no forecaster
    ahead_w: Floats | None = (
        None  # (D,) mean that boards are forecast to bring, wall watts; NaN: not forecast
    )
    pressed: Bools | None = None  # (D,) devices with next to nothing left of their trip curve
