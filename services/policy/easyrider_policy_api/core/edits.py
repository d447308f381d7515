"""Edits of the rules: a document in, another out. Nothing is saved here, and the version is the saver's."""

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from easyrider.errors import EasyRiderError
from easyrider.tree import SELECTOR_KEYS, HoldRule, LoadTarget, ModeRule, Rules

Named = TypeVar("Named", bound=LoadTarget | HoldRule)
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
    return dataclasses.replace(rules, targets=_with("a load target", rules.targets, target))


def without_target(rules: Rules, target_id: str) -> Rules:
    """Without this load target. Raises `NotThere`."""
    return dataclasses.replace(rules, targets=_without("load target", rules.targets, target_id))


def with_hold(rules: Rules, hold: HoldRule) -> Rules:
    """With one more hold. Raises `AlreadyThere`."""
    return dataclasses.replace(rules, holds=_with("a hold", rules.holds, hold))


def without_hold(rules: Rules, hold_id: str) -> Rules:
    """Without this hold. Raises `NotThere`."""
    return dataclasses.replace(rules, holds=_without("hold", rules.holds, hold_id))


def canonical(selector: Selector) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A selector in one spelling: values are alternatives, so their order says nothing."""
    return tuple((key, tuple(sorted(set(selector[key])))) for key in SELECTOR_KEYS if key in selector)


def told(selector: Selector) -> str:
    """A selector as people write it."""
    return " ".join(f"{key}={','.join(selector[key])}" for key in SELECTOR_KEYS if key in selector) or "(all)"


def _with(what: str, rows: tuple[Named, ...], row: Named) -> tuple[Named, ...]:
    if any(each.id == row.id for each in rows):
        raise AlreadyThere(f"{what} with the id {row.id} is there already")
    return (*rows, row)


def _without(what: str, rows: tuple[Named, ...], row_id: str) -> tuple[Named, ...]:
    kept = tuple(row for row in rows if row.id != row_id)
    if len(kept) == len(rows):
        raise NotThere(f"no {what} has the id {row_id}")
    return kept
