"""A decision of somebody else, weighed whole before anything of it is used: its columns, its memory, its limits."""

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.overshoot import MOST
from easyrider_policy.core.policies import UnusableDecision
from easyrider_policy.core.records import Decision, Memory, Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.weights import Loads

Floats = NDArray[np.float64]

LONGEST_REASON: Final = 256
SLACK_W: Final = 1e-3
"""Rounding of sums over many boards: no limit is that exact."""
_KNOWN: Final = (
    *((name, "jobs") for name in ("job_limit_w", "best_w", "demand_w", "slowdown")),
    *((name, "domains") for name in ("budget_w", "observed_w", "price", "missing_w")),
)
_REMEMBERED: Final = (
    *((name, "boards") for name in ("changed_s", "lowered_s")),
    *((name, "domains") for name in ("penalty_w", "alarm_for_s", "acted_ago_s")),
)
_UNBOUND: Final = ("eased_w", "spare_w")
"""Remembered of domains, and infinite where nothing binds."""
_OBJECTS: Final = {"solution": Solution, "loads": Loads, "loads_layout": Layout}
"""Remembered whole, or not at all: none of it is read but by the policy that remembers it."""


def checked(name: str, decision: Decision, observation: Observation, situation: Situation) -> Decision:
    """A copy of the decision, with no word on boards that are not steered and none outside a board's range.

    Raises `UnusableDecision` where it is none, or a column or its memory does not fit the jobs, boards and domains
    that it was told of. What else reading it may raise is foreign too: call this where that is stopped.
    """
    if type(decision) is not Decision:
        raise UnusableDecision(name, f"a {type(decision).__name__} instead of a Decision")
    layout = observation.layout
    rows = {"jobs": layout.job_count, "boards": len(layout.fleet.gpus), "domains": layout.domain_count}
    found: dict[str, Any] = {
        column: _floats(name, column, getattr(decision, column), rows[of]) for column, of in _KNOWN
    }
    found["reckoned_w"] = _floats(name, "reckoned_w", decision.reckoned_w, rows["domains"], unknown=True)
    wanted_w = _floats(name, "wanted_w", decision.wanted_w, rows["boards"], unknown=True)
    for column, of in (("stalled", "jobs"), ("alarm", "domains")):
        found[column] = _marks(name, column, getattr(decision, column), rows[of])
    found["reasons"] = _reasons(name, decision.reasons, rows["jobs"])
    found["gap"] = _number(name, "gap", decision.gap, unknown=True)
    if type(decision.reactive) is not bool:
        raise UnusableDecision(name, f"reactive is a {type(decision.reactive).__name__}")
    found["memory"] = _remembered(name, decision.memory, rows)
    known = situation.steered & np.isfinite(wanted_w)
    within_w = np.clip(np.nan_to_num(wanted_w), layout.fleet.min_w, layout.fleet.max_w)
    return replace(decision, wanted_w=np.where(known, within_w, np.nan), **found)


def overdrawn(decision: Decision, observation: Observation, situation: Situation) -> str:
    """Which domain could draw more than its hard limit by these limits, with the watts; empty: none could.

    A board without a wish counts what it is asked to hold now. Where not even minimum limits fit, those may stand.
    """
    fleet = observation.layout.fleet
    held_w = np.where(np.isnan(situation.limit_w), situation.counted_w, situation.limit_w)
    asked_w = np.where(np.isnan(decision.wanted_w), held_w, decision.wanted_w)
    could_w = _could_w(observation, situation, asked_w)
    most_w = np.maximum(situation.hard_w, _could_w(observation, situation, fleet.min_w)) + SLACK_W
    for row in np.flatnonzero(~(could_w <= most_w)).tolist():
        return (
            f"{fleet.domains[row]} could draw {could_w[row]:.0f} W by its limits, and may draw "
            f"{situation.hard_w[row]:.0f} W"
        )
    return ""


def read_only(situation: Situation) -> Situation:
    """The same, with columns that nobody can write into."""
    return replace(situation, **_views(situation))


def lent(memory: Memory) -> Memory:
    """The same of what is remembered."""
    return replace(memory, **_views(memory))


def _could_w(observation: Observation, situation: Situation, asked_w: Floats) -> Floats:
    """(D,) wall watts that could be drawn with steered boards at these limits (G,), by what the sum rule counts."""
    fleet = observation.layout.fleet
    steered_w = np.maximum(asked_w, fleet.fallbacks_w) * MOST
    boards_w = fleet.worst_wall_w(np.where(situation.steered, steered_w, situation.counted_w))
    return boards_w + fleet.worst_fixed_w + situation.unmanaged_hard_w + fleet.margin_w


def _views(record: Any) -> dict[str, Any]:
    found = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            found[field.name] = view = value.view()
            view.flags.writeable = False
    return found


def _floats(
    name: str, column: str, value: object, rows: int, *, unknown: bool = False, unbound: bool = False
) -> Floats:
    """A copy of one column; NaN is taken where a number may be `unknown`, infinity where it may be `unbound`."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        raise UnusableDecision(name, f"{column} is no array of floats but a {_kind(value)}")
    if value.shape != (rows,):
        raise UnusableDecision(name, f"{column} has the shape {value.shape}, and {rows} rows are wanted")
    copied = np.array(value, dtype=np.float64)
    taken = np.isfinite(copied) | (np.isnan(copied) & unknown) | ((copied == np.inf) & unbound)
    if not taken.all():
        raise UnusableDecision(name, f"{column} is not known, or infinite, in some rows")
    return copied


def _marks(name: str, column: str, value: object, rows: int) -> NDArray[np.bool_]:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "b" or value.shape != (rows,):
        raise UnusableDecision(name, f"{column} is no array of {rows} booleans but a {_kind(value)}")
    return np.array(value, dtype=np.bool_)


def _reasons(name: str, value: object, rows: int) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or len(value) != rows:
        raise UnusableDecision(name, f"reasons are no tuple of {rows} texts but a {_kind(value)}")
    if not all(isinstance(reason, str) and len(reason) <= LONGEST_REASON for reason in value):
        raise UnusableDecision(name, f"reasons are to be texts of {LONGEST_REASON} letters at most")
    return tuple(str(reason) for reason in value)


def _number(name: str, column: str, value: object, *, unknown: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):  # numpy's float64 is a float
        raise UnusableDecision(name, f"{column} is no number but a {_kind(value)}")
    number = float(value)
    if not (np.isfinite(number) or (unknown and np.isnan(number))):
        raise UnusableDecision(name, f"{column} is {number}")
    return number


def _remembered(name: str, memory: object, rows: dict[str, int]) -> Memory:
    if type(memory) is not Memory:
        raise UnusableDecision(name, f"memory is a {type(memory).__name__}")
    found: dict[str, Any] = {
        column: _floats(name, f"memory.{column}", getattr(memory, column), rows[of])
        for column, of in _REMEMBERED
    }
    for column in _UNBOUND:
        value = getattr(memory, column)
        found[column] = _floats(name, f"memory.{column}", value, rows["domains"], unbound=True)
    found["limit_w"] = _floats(name, "memory.limit_w", memory.limit_w, rows["boards"], unknown=True)
    if memory.target_w is not None:
        found["target_w"] = _floats(name, "memory.target_w", memory.target_w, rows["domains"])
    for column in ("last_s", "doubt_s"):
        found[column] = _number(name, f"memory.{column}", getattr(memory, column))
    if type(memory.reactive) is not bool:
        raise UnusableDecision(name, f"memory.reactive is a {type(memory.reactive).__name__}")
    if memory.loads_steered is not None:
        found["loads_steered"] = _marks(name, "memory.loads_steered", memory.loads_steered, rows["boards"])
    if type(memory.loads_version) is not int:
        raise UnusableDecision(name, f"memory.loads_version is a {type(memory.loads_version).__name__}")
    for column, kind in _OBJECTS.items():
        value = getattr(memory, column)
        if value is not None and type(value) is not kind:
            raise UnusableDecision(name, f"memory.{column} is a {type(value).__name__}")
    return replace(memory, **found)


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array of shape {value.shape}"
    return type(value).__name__
