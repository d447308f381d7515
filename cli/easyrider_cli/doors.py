"""Where an operator's word goes: the admin API, or bus and store of the stack on this machine. Both doors alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from easyrider.errors import EasyRiderError
from easyrider.tree import HoldRule, Rules

Scope = Mapping[str, tuple[str, ...]]
"""A selector: keys AND, values OR; empty is everything."""
Kind = Literal["gpu", "job", "domain"]
Freed = Literal["node", "region"]
LONGEST_REASON = 500


class Refused(EasyRiderError):
    """It was understood and not done; what was in force stays."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"refused: {why}")


def fit_reason(reason: str) -> str:
    """The reason, as long as the API takes one, by whichever door it goes. Raises `Refused`."""
    if len(reason) > LONGEST_REASON:
        raise Refused(f"a reason of {len(reason)} characters: {LONGEST_REASON} at most; nothing was changed")
    return reason


_HOLDS = "limits in force stay as they are"
_ADVICE = "on a node its guardian can be told alone: `easyrider hold --socket PATH`"


class NoAnswer(EasyRiderError):
    """Nobody who could do it answered. `advice`: what still holds and what to do, where that is another."""

    def __init__(self, place: str, why: str, advice: str = "") -> None:
        self.place, self.why = place, why.rstrip(".")
        ours = _ADVICE if _HOLDS in why else f"{_HOLDS}; {_ADVICE}"  # an API may have said it
        super().__init__(f"{place} does not answer ({self.why}); {advice or ours}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of an edit of the rules."""

    version: int
    in_force: bool
    why: str = ""  # where it is saved and not in force yet


class Door(Protocol):
    """Raises `Refused` and `NoAnswer`."""

    def rules(self) -> Rules:
        """The newest rules."""
        ...

    def state(self, region: str = "") -> dict[str, Any]:
        """What the leader knows now, of a region below where one is named: `easyrider_policy.live.LiveState`."""
        ...

    def explain(self, kind: Kind, name: str) -> dict[str, Any]:
        """Why a GPU, job or domain is limited: `easyrider_policy.explain_answers`."""
        ...

    def trust(self) -> dict[str, Any]:
        """How far each scope has come: `easyrider_policy.trust_answers`."""
        ...

    def hold(self, hold: HoldRule) -> Done:
        """Put a hold into the rules."""
        ...

    def clear(self, hold_id: str) -> Done:
        """Take one away."""
        ...

    def release(self, scope: Scope, reason: str, override: str = "") -> Done:
        """Put a scope into `observe`. `override`: why, though what it comes to cannot be foretold."""
        ...

    def free(self, kind: Freed, name: str) -> float | None:
        """Let go of what is booked for a node or region that is known to be dark: wall watts, where they are told."""
        ...
