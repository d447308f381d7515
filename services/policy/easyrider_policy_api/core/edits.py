"""Edits of the rules: a document in, another out. Nothing is saved here, and the version is the saver's."""

import dataclasses
from collections.abc import Mapping

from easyrider.errors import EasyRiderError
from easyrider.tree import SELECTOR_KEYS, HoldRule, LoadTarget, ModeRule, Rules

Selector = Mapping[str, tuple[str, ...]]


class NotThere(EasyRiderError):
    """What was to be taken away is not in the rules."""


class AlreadyThere(EasyRiderError):
    """Something else has this id already."""


def with_mode(rules: Rules, rule: ModeRule) -> Rules:
    """The rule in the place of the one with the same selector, else behind all."""
    wanted = canonical(rule.selector)
    rows = list(rules.modes)
    for index, row in enumerate(rows):
        if canonical(row.selector) == wanted:
            rows[index] = rule
            break
    else:
        rows.append(rule)
    return dataclasses.replace(rules, modes=tuple(rows))


def without_mode(rules: Rules, selector: Selector) -> Rules:
    """Without the rule of this selector. Raises `NotThere`."""
    wanted = canonical(selector)
    kept = tuple(row for row in rules.modes if canonical(row.selector) != wanted)
    if len(kept) == len(rules.modes):
        raise NotThere(f"no mode has the selector {told(selector)}")
    return dataclasses.replace(rules, modes=kept)


def with_target(rules: Rules, target: LoadTarget) -> Rules:
    """With one more load target. Raises `AlreadyThere`."""
    if any(row.id == target.id for row in rules.targets):
        raise AlreadyThere(f"a load target with the id {target.id} is there already")
    return dataclasses.replace(rules, targets=(*rules.targets, target))


def without_target(rules: Rules, target_id: str) -> Rules:
    """Without this load target. Raises `NotThere`."""
    kept = tuple(row for row in rules.targets if row.id != target_id)
    if len(kept) == len(rules.targets):
        raise NotThere(f"no load target has the id {target_id}")
    return dataclasses.replace(rules, targets=kept)


def with_hold(rules: Rules, hold: HoldRule) -> Rules:
    """With one more hold. Raises `AlreadyThere`."""
    if any(row.id == hold.id for row in rules.holds):
        raise AlreadyThere(f"a hold with the id {hold.id} is there already")
    return dataclasses.replace(rules, holds=(*rules.holds, hold))


def without_hold(rules: Rules, hold_id: str) -> Rules:
    """Without this hold. Raises `NotThere`."""
    kept = tuple(row for row in rules.holds if row.id != hold_id)
    if len(kept) == len(rules.holds):
        raise NotThere(f"no hold has the id {hold_id}")
    return dataclasses.replace(rules, holds=kept)


def canonical(selector: Selector) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A selector in one spelling: values are alternatives, so their order says nothing."""
    return tuple((key, tuple(sorted(set(selector[key])))) for key in SELECTOR_KEYS if key in selector)


def told(selector: Selector) -> str:
    """A selector as people write it."""
    return " ".join(f"{key}={','.join(selector[key])}" for key in SELECTOR_KEYS if key in selector) or "(all)"
