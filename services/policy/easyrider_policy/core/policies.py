"""Plans by somebody else: the signature that a policy has, what its decision must keep, and a short way to make one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from easyrider.errors import EasyRiderError
from easyrider.tree import Pacing
from easyrider_policy.core import curves
from easyrider_policy.core.history import moves
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.records import Decision, Memory, Situation
from easyrider_policy.core.walls import Walls

Floats = NDArray[np.float64]


class Policy(Protocol):
    """Limits from what is known, with no clock, file or network: the same arguments give the same decision.

    `observation` and `walls` are read only. What the next plan must know goes into the decision's `memory`.
    """

    def plan(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """Every limit with its reason."""
        ...


Planner = Callable[[Observation, Walls, Situation, Memory, Pacing], Decision]


class UnusableDecision(EasyRiderError):
    """A policy decided something that cannot be taken; nothing of it is used."""

    def __init__(self, policy: str, why: str) -> None:
        self.policy, self.why = policy, why
        super().__init__(f"policy {policy} decided what cannot be taken: {why}; nothing of it is used")


def decided(
    observation: Observation,
    walls: Walls,
    situation: Situation,
    memory: Memory,
    job_limit_w: Floats,
    reason: str,
) -> Decision:
    """A decision from nothing but a limit per board of each job (J,): idle boards at their minimum, no prices."""
    layout = observation.layout
    fleet, domains = layout.fleet, layout.domain_count
    limit_w = np.clip(job_limit_w, layout.min_w, layout.max_w)
    in_job = layout.job_of >= 0
    wanted_w = np.where(situation.steered, fleet.min_w, np.nan)
    ours = situation.steered & in_job
    wanted_w[ours] = limit_w[layout.job_of[ours]]
    peak_w = np.maximum(observation.peak_w, layout.min_w)
    speed = curves.speed(np.minimum(limit_w, peak_w) / peak_w, curves.busy_class(np.ones(layout.job_count)))
    drawn_w = walls.board_part_w + walls.standing_w(situation.unmanaged_target_w)
    changed_s, lowered_s = moves(memory, situation)
    return Decision(
        wanted_w=wanted_w,
        job_limit_w=limit_w,
        best_w=limit_w,
        demand_w=observation.peak_w,
        slowdown=np.where(observation.stalls.stalled, 0.0, 1.0 - speed),
        stalled=observation.stalls.stalled.copy(),
        reasons=(reason,) * layout.job_count,
        budget_w=np.maximum(situation.target_w, 0.0),
        observed_w=drawn_w,
        price=np.zeros(domains),
        missing_w=np.zeros(domains),
        reckoned_w=np.full(domains, np.nan),
        alarm=np.zeros(domains, dtype=np.bool_),
        reactive=True,
        gap=np.nan,
        memory=replace(
            memory,
            last_s=situation.now_s,
            limit_w=situation.limit_w,
            changed_s=changed_s,
            lowered_s=lowered_s,
            target_w=situation.target_w,
            reactive=True,
            solution=None,
        ),
    )
