"""What an observation keeps when boards or jobs change: columns of boards and jobs that are still there."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from easyrider_policy.core.observe import Observation

Ints = NDArray[np.int64]

_BOARDS: Final = ("gpu_w", "unread_s", "limit_w", "still_s")
_OVERSHOOT: Final = ("ratio", "learned_s", "counted")
_JOBS: Final = ("draw_w", "highest_w", "lowest_w")
_PARTS: Final = {
    "peaks": ("known", "peak_w", "high_w", "free_top_w", "hiding_w", "counts", "hid", "level_w", "held"),
    "busy": ("ring", "off", "share", "classes"),
    "learned": ("shape", "trusted", "heard", "since_move", "sums", "told"),
    "paces": ("free_s", "free_heard", "slow", "slow_heard"),
    "stalls": ("stalled", "low_s", "missing_s", "woke_s", "usual_s", "set_up"),
    "duty": ("seconds", "ratios", "age_s", "duty"),
    "flags": ("said_s", "limit_w"),
    "rhythms": ("ring", "period_s", "confidence", "heard_s"),
}


def carry_boards(old: "Observation", new: "Observation") -> None:
    """Boards by UUID."""
    index = old.layout.fleet.gpu_index
    back = np.array([index.get(uuid, -1) for uuid in new.layout.fleet.gpus], dtype=np.int64)
    here, there = np.flatnonzero(back >= 0), back[back >= 0]
    for name in _BOARDS:
        getattr(new, name)[here] = getattr(old, name)[there]
    for name in _OVERSHOOT:
        getattr(new.overshoot, name)[here] = getattr(old.overshoot, name)[there]
    new.limiters.take(old.limiters, here, there)


def carry_jobs(old: "Observation", new: "Observation", a: Ints, b: Ints) -> None:
    """Jobs in columns `a` of the old one are in columns `b` of the new one."""
    for part, names in _PARTS.items():
        for name in names:
            getattr(getattr(new, part), name)[..., b] = getattr(getattr(old, part), name)[..., a]
    for name in _JOBS:
        getattr(new, name)[b] = getattr(old, name)[a]
    new.second[:, b] = old.second[:, a]
    new.learned.version = old.learned.version + 1
    new.peaks.carry(old.peaks)
    new.busy.at, new.duty.row, new.rhythms.at = old.busy.at, old.duty.row, old.rhythms.at
