"""What each domain draws if nothing limits its jobs, with all at their minimum, and with all at `max_slowdown`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.demand_window import Load
from easyrider_policy.core.floors import soft_floors
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.tally import tally
from easyrider_policy.core.weights import on_domains

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Draws:
    """(D,) wall watts as means over each target's window, by the question of one plan; boards by their weight."""

    standing_w: Floats  # without the jobs that are ours to steer
    natural_w: Floats
    least_w: Floats
    soft_w: Floats
    weighted_gpus: Floats
    unmanaged_w: Floats  # foreign load, as the plan took it

    def load(self, row: int) -> Load:
        """One domain."""
        return Load(
            standing_w=float(self.standing_w[row]),
            natural_w=float(self.natural_w[row]),
            least_w=float(self.least_w[row]),
            weighted_gpus=float(self.weighted_gpus[row]),
        )


def draws(solution: Solution, situation: Situation) -> Draws:
    """Of the plan that this solution was made for."""
    problem, question = solution.problem, solution.question
    layout = problem.layout
    standing_w = situation.target_w - question.room.held_back_w - question.room.target_w
    soft_w = np.minimum(soft_floors(layout, question.natural_w, question.busy), problem.top_w)
    soft_w = np.where(question.stalled, problem.top_w, soft_w)
    least_w = np.where(question.stalled, problem.top_w, np.minimum(layout.min_w, problem.top_w))
    boards = np.zeros(layout.domain_count)
    if layout.job_count:
        each = layout.weight * problem.boards / np.maximum(problem.loads.per_job, 1e-9)
        boards = tally(layout.pair_domain, problem.loads.normal * each[layout.pair_job], layout.domain_count)
    return Draws(
        standing_w=standing_w,
        natural_w=standing_w + on_domains(layout, problem.drawn, problem.top_w),
        least_w=standing_w + on_domains(layout, problem.drawn, least_w),
        soft_w=standing_w + on_domains(layout, problem.drawn, soft_w),
        weighted_gpus=boards,
        unmanaged_w=situation.unmanaged_target_w,
    )
