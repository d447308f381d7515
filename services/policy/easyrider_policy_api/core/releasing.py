"""A scope on its way back to what it was found with: every mode that limits something of it becomes `observe`.

Leaving `pilot` or `enforce` is a leaving: the coordinator books the baseline before it grants it, so limits stay
until there is room. A rule that is more specific than the scope would outrank it, so each active rule that meets the
scope gets a rule of its own for what both name; of two equally specific rules the less active one wins.
"""

import dataclasses
from fnmatch import fnmatchcase

from easyrider.errors import EasyRiderError
from easyrider.tree import SELECTOR_KEYS, ModeRule, Rules
from easyrider_policy_api.core.edits import Selector, canonical, told, with_mode

_ACTIVE = ("pilot", "enforce")


class Unclear(EasyRiderError):
    """Two patterns overlap in a way no selector can say."""


def released(rules: Rules, scope: Selector, reason: str, since: str) -> Rules:
    """The rules with everything of `scope` in `observe`; an empty scope is everything. Raises `Unclear`."""
    if not scope:
        rows = tuple(
            dataclasses.replace(row, mode="observe", reason=reason, since=since)
            if row.mode in _ACTIVE
            else row
            for row in rules.modes
        )
        return dataclasses.replace(rules, modes=rows)
    found = with_mode(rules, ModeRule(selector=dict(scope), mode="observe", reason=reason, since=since))
    for row in rules.modes:
        if row.mode not in _ACTIVE or canonical(row.selector) == canonical(scope):
            continue
        both = _both(row.selector, scope)
        if both is not None and canonical(both) != canonical(scope):
            found = with_mode(found, ModeRule(selector=both, mode="observe", reason=reason, since=since))
    return found


def _both(rule: Selector, scope: Selector) -> dict[str, tuple[str, ...]] | None:
    """The selector of what both name; None where nothing can be."""
    found: dict[str, tuple[str, ...]] = {}
    for key in SELECTOR_KEYS:
        if key in rule and key in scope:
            values = _values(key, rule[key], scope[key])
            if not values:
                return None
            found[key] = values
        elif key in rule or key in scope:
            found[key] = tuple(rule[key] if key in rule else scope[key])
    return found


def _values(key: str, some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    if key == "rack" and not any(map(_is_glob, others)):
        return others  # domains stand below one another: whatever is below the scope is to be released anyway
    found: list[str] = []
    for one in some:
        for other in others:
            if _within(one, other):
                found.append(one)
            elif _within(other, one):
                found.append(other)
            elif key == "rack" or (_is_glob(one) and _is_glob(other)):
                raise Unclear(
                    f"a rule for {told({key: (one,)})} is active, and whether it meets {told({key: (other,)})} cannot "
                    "be told from the patterns; release the scope by exact names, or set the mode of that rule"
                )
    return tuple(dict.fromkeys(found))


def _within(one: str, other: str) -> bool:
    return one == other or fnmatchcase(one, other)


def _is_glob(text: str) -> bool:
    return any(char in text for char in "*?[")
