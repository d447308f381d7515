"""A policy that somebody chose by name, where the product's own plan would stand: never over boards without leave."""

from collections.abc import Callable

from easyrider.tree import Pacing, Rules
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Policy, UnusableDecision, checked
from easyrider_policy.core.records import Decision, Memory, Situation
from easyrider_policy.core.walls import Walls

FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What foreign code may raise; the product's own plan decides then."""
Told = Callable[[str], None]


class Trial:
    """A policy where nothing is written: a replay, a bench. What it raises ends the run, as `UnusableDecision`."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name, self._policy = name, policy

    def __call__(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """See `plan`. Raises `UnusableDecision`."""
        try:
            decision = self._policy.plan(observation, walls, situation, memory, pacing)
        except FAULTS as fault:
            raise UnusableDecision(self.name, f"{type(fault).__name__}: {fault}") from fault
        return checked(self.name, decision, observation, situation)


class Live:
    """A policy on a site: it decides while no board is steered, and over boards only where the rules name it.

    Where it may not, or fails, the product's own plan decides; `told` is handed one line with the reason, once.
    """

    def __init__(self, trial: Trial, rules: Callable[[], Rules], told: Told) -> None:
        self._trial, self._rules, self._told = trial, rules, told
        self._last = ""

    def __call__(
        self, observation: Observation, walls: Walls, situation: Situation, memory: Memory, pacing: Pacing
    ) -> Decision:
        """See `plan`."""
        why = refusal(self._trial.name, self._rules(), int(situation.steered.sum()))
        if not why:
            try:
                decision = self._trial(observation, walls, situation, memory, pacing)
                self._last = ""
                return decision
            except UnusableDecision as fault:
                why = f"{fault}; the product's own plan decides"
        if why != self._last:
            self._last = why
            self._told(why)
        return plan(observation, walls, situation, memory, pacing)


def refusal(name: str, rules: Rules, steered: int) -> str:
    """Why a policy may not decide over so many steered boards, in one line; empty: it may."""
    if not steered or name in rules.policies:
        return ""
    return (
        f"policy {name} is refused: rules version {rules.version} put GPUs in pilot or enforce and do not allow it "
        "by name (policies); the product's own plan decides"
    )
