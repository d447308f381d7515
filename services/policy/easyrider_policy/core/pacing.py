"""How far limits may move in one step, and which moves are exempt.

Exempt are a lowering that a limit asks for, the raise of a job that has just started or woken, and a move that
binds neither before nor after. Redistribution among running jobs goes by steps and waits; a raise waits
after any lowering, unless watts lie idle in every domain of the job: then it takes from nobody, and goes by
steps without waiting. One value per job. Whatever is raised fits beside what was not lowered.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Pacing
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.weights import least_of_domains, on_domains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LOOSE_SHARE: Final = 0.03
"""A limit that binds neither before nor after moves only by more than this share of the rating."""
IDLE_SHARE: Final = 0.03
"""So much of a domain's budget unused is no remainder of dead bands: a job slept, ended, or a limit came back."""
TOLERANCE_W: Final = 10.0
TOLERANCE_SHARE: Final = 1e-3
_BINDS: Final = 1.005


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Moves:
    """Columns over jobs, watts per board. `old_w` is held now, `wished_w` would be best."""

    old_w: Floats
    wished_w: Floats
    natural_w: Floats  # what a job may draw at most if its limit allows
    binds_w: Floats  # a limit above it does not bind: its nature, or the little a stalled job draws
    rating_w: Floats
    changed_ago_s: Floats
    lowered_ago_s: Floats
    fresh: Bools  # just started or just woken: raises are exempt
    movable: Bools
    held: Bools | None = None  # may not rise; falls only where a limit asks for it


def stands(old_w: Floats, wished_w: Floats, rating_w: Floats, pacing: Pacing) -> bool:
    """Whether no limit (J,) is to move: none is to fall, and no raise leaves the dead band."""
    rise_w = wished_w - old_w
    moves = (rise_w <= -1e-9) | (rise_w >= np.maximum(pacing.dead_band_share * rating_w, 1e-9))
    return not moves.any()


def paced(problem: Problem, moves: Moves, pacing: Pacing) -> Floats:
    """Limits (J,) per board to hold next."""
    old_w, wished_w = moves.old_w, moves.wished_w
    if stands(old_w, wished_w, moves.rating_w, pacing):
        return old_w.copy()
    required = _required(problem, moves)
    lowered_w = _lowered(moves, pacing, required)
    raised_w = _raised(moves, pacing, _idle(problem, moves, pacing))
    next_w = np.where(wished_w < old_w, lowered_w, raised_w)
    next_w = np.where(moves.movable, next_w, old_w)
    if moves.held is not None:
        # Nobody could have what such a job gave away, nor could it get it back when it wakes.
        kept_w = np.where(required, np.minimum(next_w, old_w), old_w)
        next_w = np.where(moves.held, kept_w, next_w)
    return _fitting(problem, moves, next_w)


def counts(problem: Problem, natural_w: Floats, limit_w: Floats) -> Floats:
    """Wall watts (D,) that limits draw: a job never draws more than its nature."""
    return problem.drawn_w(np.minimum(limit_w, natural_w))


def _required(problem: Problem, moves: Moves) -> Bools:
    """Jobs below a domain that what is held now, with exempt raises, would overfill."""
    rises = moves.fresh & (moves.wished_w > moves.old_w)
    held_w = np.where(rises, moves.wished_w, moves.old_w)
    tolerance_w = np.minimum(TOLERANCE_W, TOLERANCE_SHARE * np.maximum(problem.target_w, 0.0))
    over = counts(problem, moves.natural_w, held_w) > problem.target_w + tolerance_w
    over |= problem.held_w(held_w) > problem.hard_w + 1e-6
    return least_of_domains(problem.layout, np.where(over, 0.0, 1.0)) < 0.5


def _idle(problem: Problem, moves: Moves, pacing: Pacing) -> Bools:
    """Jobs (J,) all of whose domains have room beside everything that is held now; none where nobody waits."""
    if not ((moves.wished_w > moves.old_w) & (moves.lowered_ago_s < pacing.cooldown_s)).any():
        return np.zeros(len(moves.old_w), dtype=np.bool_)
    drawn_w = problem.target_w - counts(problem, moves.natural_w, moves.old_w)
    held_w = problem.hard_w - problem.held_w(moves.old_w)
    idle = (drawn_w > IDLE_SHARE * problem.target_w) & (held_w > IDLE_SHARE * problem.hard_w)
    return least_of_domains(problem.layout, np.where(idle, 1.0, 0.0)) > 0.5


def _lowered(moves: Moves, pacing: Pacing, required: Bools) -> Floats:
    fall_w = moves.old_w - moves.wished_w
    dead_w = pacing.dead_band_share * moves.rating_w
    step_w = np.maximum(moves.wished_w, moves.old_w - pacing.step_share * moves.rating_w)
    due = (moves.changed_ago_s >= pacing.cooldown_s - 1e-6) & (fall_w >= dead_w)
    stepped = np.where(due, step_w, moves.old_w)
    loose = moves.wished_w >= _BINDS * moves.binds_w
    free = np.where(fall_w >= LOOSE_SHARE * moves.rating_w, moves.wished_w, moves.old_w)
    result: Floats = np.where(required, moves.wished_w, np.where(loose, free, stepped))
    return result


def _raised(moves: Moves, pacing: Pacing, idle: Bools) -> Floats:
    rise_w = moves.wished_w - moves.old_w
    dead_w = pacing.dead_band_share * moves.rating_w
    step_w = np.minimum(moves.wished_w, moves.old_w + pacing.step_share * moves.rating_w)
    due = (
        (moves.changed_ago_s >= pacing.change_interval_s - 1e-6)
        & ((moves.lowered_ago_s >= pacing.cooldown_s - 1e-6) | idle)
        & (rise_w >= dead_w)
    )
    stepped = np.where(due, step_w, moves.old_w)
    loose = moves.old_w >= _BINDS * moves.binds_w
    free = np.where(rise_w >= LOOSE_SHARE * moves.rating_w, moves.wished_w, moves.old_w)
    exempt = np.where(rise_w >= dead_w, moves.wished_w, moves.old_w)
    result: Floats = np.where(moves.fresh, exempt, np.where(loose, free, stepped))
    return result


def _fitting(problem: Problem, moves: Moves, next_w: Floats) -> Floats:
    """Raises shrunk to the room beside what stays: a lowering left out by the dead band is still there."""
    base_w = np.minimum(moves.old_w, next_w)
    rise_w = next_w - base_w
    if not (rise_w > 1e-9).any():
        return next_w
    drawn_base = counts(problem, moves.natural_w, base_w)
    if (problem.target_w - drawn_base < counts(problem, moves.natural_w, next_w) - drawn_base).any():
        # Watts grow evenly with a shrunk raise only below the natural draw.
        rise_w = np.minimum(rise_w, np.maximum(moves.natural_w - base_w, 0.0))
        next_w = base_w + rise_w
    drawn_rise = counts(problem, moves.natural_w, next_w) - drawn_base
    held_rise = on_domains(problem.layout, problem.loads.worst, rise_w)
    part = np.minimum(
        _part(problem.target_w - drawn_base, drawn_rise),
        _part(problem.hard_w - problem.held_w(base_w), held_rise),
    )
    return base_w + rise_w * least_of_domains(problem.layout, part)


def _part(room_w: Floats, wish_w: Floats) -> Floats:
    room_w = np.maximum(room_w, 0.0)
    return np.where(wish_w > room_w, room_w / np.where(wish_w > room_w, wish_w, 1.0), 1.0)
