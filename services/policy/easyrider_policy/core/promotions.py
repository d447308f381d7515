"""What newer rules do to the modes of boards, scope by scope, and whether each rise has passed its gate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from easyrider.tree import MODES, Mode, ModeRule, Rules
from easyrider_policy.core import modes
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.gate import Verdict, weighed
from easyrider_policy.core.jobs_to_come import mode_by, risen
from easyrider_policy.core.modes import Labels
from easyrider_policy.core.stages import NONE, Book, scope_of, scopes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Boards of one scope that come into another mode. `gpus` 0: none yet, of nodes or jobs that nobody has told of."""

    scope: str  # that they were in, and what was seen of it counts
    into: str  # the scope whose rule moves them
    before: Mode
    after: Mode
    gpus: int
    override: str  # why the gate is passed over; empty: it is not
    verdict: Verdict | None  # None: it goes down

    @property
    def passes(self) -> bool:
        """Down always, up through its gate or over it."""
        return self.verdict is None or self.verdict.met or bool(self.override)

    @property
    def gate(self) -> str:
        """What became of the gate; `followed`: the coordinator that leads has judged."""
        if self.verdict is None:
            return ""
        if self.verdict.met:
            return "met"
        return "overridden" if self.override else "followed"


def moves(before: Rules, after: Rules, book: Book, fleet: Fleet, jobs: Sequence[Labels]) -> list[Move]:
    """Every move, each scope and pair of modes once. The gates in force judge, not those that come with the rise."""
    ours = book.effective(before.modes)
    theirs = without(book, lifted(book, before, after)).effective(after.modes)
    overrides, names, into = _overrides(before.modes, after.modes), scopes_of(ours), scopes_of(theirs)
    counts: dict[tuple[str, str, Mode, Mode], int] = {}
    for was, now, each in (
        (modes.board_rules(ours, fleet, jobs), modes.board_rules(theirs, fleet, jobs), 1),
        (modes.node_rules(ours, fleet), modes.node_rules(theirs, fleet), 0),
    ):
        old, new = modes.modes_of(ours, was), modes.modes_of(theirs, now)
        changed = np.flatnonzero(old != new)
        rows = zip(was[changed], now[changed], old[changed], new[changed], strict=True)
        for a, b, low, high in rows:
            key = (names[a], into[b], MODES[low], MODES[high])
            counts[key] = counts.get(key, 0) + each
    for job in risen(ours, theirs, fleet):  # a queue that is empty tonight is full tomorrow
        mode_before, mode_after = mode_by(ours, job.before), mode_by(theirs, job.after)
        counts.setdefault((names[job.before], into[job.after], mode_before, mode_after), 0)
    return [
        Move(
            scope=scope,
            into=to,
            before=low,
            after=high,
            gpus=gpus,
            override=overrides.get(to, ""),
            verdict=weighed(book.scopes.get(scope), low, high, before.gates)
            if MODES.index(high) > MODES.index(low)
            else None,
        )
        for (scope, to, low, high), gpus in counts.items()
    ]


def lifted(book: Book, before: Rules, after: Rules) -> frozenset[str]:
    """Scopes that were taken back and are not any more by these rules: by their gate, or by a fresh override."""
    told: Mapping[str, Mode] = {scope_of(rule.selector): rule.mode for rule in after.modes}
    overrides = _overrides(before.modes, after.modes)
    found = set()
    for name, back in book.returned.items():
        mode = told.get(name, MODES[0])
        if MODES.index(mode) <= MODES.index(back.mode):
            found.add(name)  # the operator asks for no more than it has
        elif overrides.get(name) or weighed(book.scopes.get(name), back.mode, mode, before.gates).met:
            found.add(name)
    return frozenset(found)


def may_raise(before: Sequence[ModeRule], after: Sequence[ModeRule]) -> bool:
    """Whether some board or job, heard of or not, could come into a higher mode, or back into the one it lost."""
    if [scope_of(rule.selector) for rule in before] != [scope_of(rule.selector) for rule in after]:
        return True
    pairs = zip(before, after, strict=True)
    higher = (MODES.index(new.mode) > MODES.index(old.mode) for old, new in pairs)
    return any(higher) or bool(_overrides(before, after))


def without(book: Book, names: frozenset[str]) -> Book:
    """The same book in which these are not taken back."""
    return Book(scopes=book.scopes, returned={n: one for n, one in book.returned.items() if n not in names})


def faults(found: Sequence[Move]) -> list[str]:
    """Every rise whose gate is not met, with the numbers that are missing."""
    return [
        f"modes: {move.scope} may not rise from {move.before} to {move.after} yet: {move.verdict.missing}; wait, or "
        "say in `override` of that mode why the gate is passed over"
        for move in found
        if move.verdict is not None and not move.passes
    ]


def _overrides(before: Sequence[ModeRule], after: Sequence[ModeRule]) -> dict[str, str]:
    """Those that come with these rules: one that stood there before has passed its gate already."""
    old = {(scope_of(rule.selector), rule.override.strip()) for rule in before}
    fresh = ((scope_of(rule.selector), rule.override.strip()) for rule in after)
    return {scope: why for scope, why in fresh if why and scope != NONE and (scope, why) not in old}
