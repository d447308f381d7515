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


def checked(name: str, decision: Decision, observation: Observation, situation: Situation) -> Decision:
    """The decision, with no word on boards that are not steered and none outside a board's range.

    Raises `UnusableDecision` where its columns do not fit the jobs, boards and domains that it was told of.
    """
    if not isinstance(decision, Decision):
        raise UnusableDecision(name, f"a {type(decision).__name__} instead of a Decision")
    layout = observation.layout
    jobs, boards, domains = layout.job_count, len(layout.fleet.gpus), layout.domain_count
    for column, rows in (
        *((one, jobs) for one in ("job_limit_w", "best_w", "demand_w", "slowdown", "stalled", "reasons")),
        *((one, domains) for one in ("budget_w", "observed_w", "price", "missing_w", "reckoned_w", "alarm")),
        ("wanted_w", boards),
    ):
        if len(getattr(decision, column)) != rows:
            raise UnusableDecision(name, f"{column} has {len(getattr(decision, column))} rows of {rows}")
    if not np.isfinite(decision.job_limit_w).all():
        raise UnusableDecision(name, "job_limit_w is not known for every job")
    known = situation.steered & np.isfinite(decision.wanted_w)
    within_w = np.clip(np.nan_to_num(decision.wanted_w), layout.fleet.min_w, layout.fleet.max_w)
    return replace(decision, wanted_w=np.where(known, within_w, np.nan))


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
