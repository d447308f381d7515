"""Jobs that rules speak of and that nobody runs now: what newer rules would do to the mode of each when it comes."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from easyrider.tree import MODES, Mode, ModeRule
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.modes import NODE_KEYS, kinds_of_nodes, rule_of
from easyrider_policy.core.stages import scope_of

Names = Mapping[str, Sequence[str]]
JOB_KEYS: Final = ("job", "tenant", "queue")


class ToCome(NamedTuple):
    """A job that may come to some node: which rule would have governed it, and which would now; -1: none."""

    before: int
    after: int


def risen(ours: Sequence[ModeRule], theirs: Sequence[ModeRule], fleet: Fleet) -> frozenset[ToCome]:
    """Every pair of rules by which a job that may come finds a higher mode than it would have found.

    A name with `*` stands for itself: a job that the wider selector names and no narrower one does. Only rules that
    changed are looked at, each on every kind of node; those that are gone also beside each that stands higher, since
    a job of both falls to it.
    """
    changed = _changed(ours, theirs)
    jobs = {_key(names): names for rule in changed for names in _jobs(rule)}
    for gone in _gone(ours, theirs):
        for higher in theirs:
            if MODES.index(higher.mode) > MODES.index(gone.mode):
                both = {**higher.selector, **gone.selector}
                jobs |= {_key(names): names for names in _jobs(ModeRule(selector=both, mode=gone.mode))}
    nodes, found = kinds_of_nodes([*ours, *theirs], fleet) if jobs else [], set()
    for names in jobs.values():
        old, new = _of_job(ours, names), _of_job(theirs, names)
        for of_node in nodes:
            labels = {**of_node, **names}
            was, now = _governs(old, labels), _governs(new, labels)
            if MODES.index(mode_by(theirs, now)) > MODES.index(mode_by(ours, was)):
                found.add(ToCome(was, now))
    return frozenset(found)


def mode_by(rules: Sequence[ModeRule], row: int) -> Mode:
    """The mode that this one of the rules says; -1: none does."""
    return MODES[0] if row < 0 else rules[row].mode


def _changed(ours: Sequence[ModeRule], theirs: Sequence[ModeRule]) -> list[ModeRule]:
    old, new = _modes(ours), _modes(theirs)
    return [
        rule
        for rule in [*ours, *theirs]
        if old.get(scope_of(rule.selector)) != new.get(scope_of(rule.selector))
    ]


def _gone(ours: Sequence[ModeRule], theirs: Sequence[ModeRule]) -> list[ModeRule]:
    stand = _modes(theirs)
    return [rule for rule in ours if scope_of(rule.selector) not in stand]


def _modes(rules: Sequence[ModeRule]) -> dict[str, Mode]:
    return {scope_of(rule.selector): rule.mode for rule in rules}


def _jobs(rule: ModeRule) -> list[Names]:
    """What the jobs that it may name are called, one a choice of names; none where it names nodes alone."""
    keys = [key for key in JOB_KEYS if key in rule.selector]
    if not keys:
        return []
    return [
        {key: (name,) for key, name in zip(keys, chosen, strict=True)}
        for chosen in product(*(rule.selector[key] for key in keys))
    ]


def _key(names: Names) -> tuple[tuple[str, ...], ...]:
    return tuple((key, *names[key]) for key in JOB_KEYS if key in names)


def _of_job(rules: Sequence[ModeRule], names: Names) -> list[tuple[int, ModeRule]]:
    """Rules that may govern such a job, on whatever node."""
    found = []
    for row, rule in enumerate(rules):
        of_job = {key: globs for key, globs in rule.selector.items() if key not in NODE_KEYS}
        if rule_of([ModeRule(selector=of_job, mode=rule.mode)], names) == 0:
            found.append((row, rule))
    return found


def _governs(rules: Sequence[tuple[int, ModeRule]], labels: Names) -> int:
    chosen = rule_of([rule for _, rule in rules], labels)
    return -1 if chosen < 0 else rules[chosen][0]
