"""A policy that somebody chose by name, where the product's own plan would stand: never over boards without leave.

It is foreign code inside the loop that keeps every limit, so `boundary.foreign` is where it is called, and nothing it
returns is read anywhere else before it was weighed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np

from easyrider.boundary import foreign
from easyrider.tree import Pacing, Rules
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.history import beside
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Policy, UnusableDecision
from easyrider_policy.core.records import Decision, Memory, Situation
from easyrider_policy.core.vetting import checked, lent, overdrawn, read_only
from easyrider_policy.core.walls import Walls

Told = Callable[[str], None]
AGAIN_S = 60.0
"""A policy that fails and recovers by turns is told of no more often."""
LONGEST = 300
"""Letters of what a policy says of its own failure."""


class Trial:
    """A policy where nothing is written: a replay, a bench. What it raises ends the run, as `UnusableDecision`."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name, self._policy = name, policy

    def __call__(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """See `plan`. Raises `UnusableDecision`, and nothing else."""

        def decide() -> Decision:
            told = read_only(situation)
            decision = self._policy.plan(observation, walls, told, lent(memory), pacing)
            return checked(self.name, decision, observation, situation)

        return foreign(decide, self.failed)

    def failed(self, fault: BaseException) -> NoReturn:
        """What the policy, or what it returned, raised: as `UnusableDecision`."""
        if isinstance(fault, UnusableDecision):
            raise fault
        text = foreign(lambda: str(fault), lambda _silent: "")
        why = f"{type(fault).__name__}: {text}"[:LONGEST]
        raise UnusableDecision(self.name, " ".join(why.split())) from fault


class Live:
    """A policy on a site: it decides while no board is steered, and over boards only where the rules name it.

    Where it may not, fails, or would have a domain exceed its hard limit, the product's own plan decides; `told` is
    handed one line with the reason. What either remembers stays its own.
    """

    def __init__(self, trial: Trial, rules: Callable[[], Rules], told: Told) -> None:
        self._trial, self._rules, self._told = trial, rules, told
        self._theirs: tuple[Fleet, Memory] | None = (
            None  # what the policy remembers; None: the product decided last
        )
        self._refused: str | None = None  # by what right the product decided last
        self._told_s: dict[str, float] = {}

    def __call__(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """See `plan`."""
        kind, why = "leave", refusal(self._trial.name, self._rules(), int(situation.steered.sum()))
        if not why:
            try:
                return self._by_policy(observation, walls, situation, memory, pacing)
            except UnusableDecision as fault:
                kind, why = "fault", f"{fault}; the product's own plan decides"
        began = kind != self._refused or self._theirs is not None
        self._refused, self._theirs = kind, None
        if began and situation.now_s - self._told_s.get(kind, -np.inf) >= AGAIN_S:
            self._told_s[kind] = situation.now_s
            self._told(why)
        return plan(observation, walls, situation, memory, pacing)

    def _by_policy(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """Its decision, with the product's memory of this moment beside it. Raises `UnusableDecision`."""
        fleet, theirs = observation.layout.fleet, memory
        if self._theirs is not None:
            before, kept = self._theirs
            theirs = (
                kept if before is fleet else foreign(lambda: kept.carried(before, fleet), self._trial.failed)
            )
        decision = self._trial(observation, walls, situation, theirs, pacing)
        if why := overdrawn(decision, observation, situation):
            raise UnusableDecision(self._trial.name, why)
        self._theirs = fleet, decision.memory
        # Nothing is learned from what it reckons: the credit would be the product's to spend.
        unknown_w = np.full(len(fleet.domains), np.nan)
        return replace(decision, memory=beside(memory, situation), reckoned_w=unknown_w)


def refusal(name: str, rules: Rules, steered: int) -> str:
    """Why a policy may not decide over so many steered boards, in one line; empty: it may."""
    if not steered or name in rules.policies:
        return ""
    return (
        f"policy {name} is refused: rules version {rules.version} put GPUs in pilot or enforce and do not allow it "
        "by name (policies); the product's own plan decides"
    )
