"""Which boards may not rise, by an operator's word: holds of the rules, and guardians that were told on their node.

A hold stops raises and nothing else: lowers, grants and the dead-man go on. It is kept where commands are composed,
so that no wish of the planner gets past it; the planner is told too, so that it asks nobody to make room in vain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Domain, HoldRule
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.layout import Layout

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """`boards` (G,) may not rise; `by` (G,) says whose word it is, as a place in `names`, -1: nobody's."""

    boards: Bools
    by: Ints
    names: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether anything is held."""
        return bool(self.names) and bool(self.boards.any())

    def why(self, board: int) -> str:
        """The reason to show for a board that is held."""
        return self.names[int(self.by[board])]

    def nodes(self, fleet: Fleet) -> Bools:
        """(N,) nodes with a board that is held: nothing of theirs is given back."""
        return np.bincount(fleet.gpu_node[self.boards], minlength=len(fleet.nodes)) > 0


def nobody(fleet: Fleet) -> Held:
    """Nothing is held."""
    boards = len(fleet.gpus)
    return Held(np.zeros(boards, dtype=np.bool_), np.full(boards, -1, dtype=np.int64), ())


def held(
    rules: Iterable[HoldRule], fleet: Fleet, nodes: Iterable[str] = (), domains: Sequence[Domain] = ()
) -> Held:
    """What is held on this fleet. `nodes`: their guardians take no raise until cleared. The first word counts.

    A hold without domains holds everything; one whose domains are all elsewhere holds nothing here. `domains`: of
    the whole tree, so that what is held above this scope holds here too.
    """
    every = [(f"hold:{rule.id}", _below(rule, fleet, domains)) for rule in rules]
    for node in sorted(nodes):
        if (row := fleet.node_index.get(node)) is not None:
            boards = np.zeros(len(fleet.gpus), dtype=np.bool_)
            boards[fleet.gpus_of(row)] = True
            every.append((f"guardian_hold:{node}", boards))
    by = np.full(len(fleet.gpus), -1, dtype=np.int64)
    for place, (_, boards) in enumerate(every):
        by[boards & (by < 0)] = place
    return Held(by >= 0, by, tuple(name for name, _ in every))


def _below(rule: HoldRule, fleet: Fleet, domains: Sequence[Domain]) -> Bools:
    if reach(rule, domains) is None:
        return np.ones(len(fleet.gpus), dtype=np.bool_)
    boards = np.zeros(len(fleet.gpus), dtype=np.bool_)
    for domain in reach(rule, domains) or ():
        if (row := fleet.domain_index.get(domain)) is not None:
            boards[fleet.domain_gpus(row)] = True
    return boards


def reach(rule: HoldRule, domains: Sequence[Domain]) -> set[str] | None:
    """Domains that a hold names, and all below them; None: everything, since it names none."""
    if not rule.domains:
        return None
    found, more = set(rule.domains), True
    while more:
        below = {d.id for d in domains if d.parent in found or (d.feeds and {d.feeds.A, d.feeds.B} & found)}
        more = not below <= found
        found |= below
    return found


def job_rows(layout: Layout, holds: Held) -> tuple[Bools, Sequence[str]]:
    """(J,) jobs that may not rise, since one of their boards may not, and why each (empty: it may)."""
    why = [""] * layout.job_count
    if not holds.any:
        return np.zeros(layout.job_count, dtype=np.bool_), why
    for row, job in enumerate(layout.jobs):
        why[row] = next((holds.why(board) for board in job.gpus if holds.boards[board]), "")
    return np.array([bool(reason) for reason in why], dtype=np.bool_), why


def lowest_w(layout: Layout, limit_w: Floats, jobs: Bools) -> Floats | None:
    """(J,) what the lowest board of each held job has now, infinite for others; None where none is held."""
    if not jobs.any():
        return None
    known_w = np.where(np.isnan(limit_w), np.inf, limit_w)
    return np.where(jobs, np.minimum.reduceat(known_w[layout.seat], layout.job_start), np.inf)


def lower_of(one_w: Floats | None, other_w: Floats | None) -> Floats | None:
    """(J,) the lower of two ceilings, either of which may be none."""
    if one_w is None or other_w is None:
        return other_w if one_w is None else one_w
    return np.minimum(one_w, other_w)


def said(reasons: tuple[str, ...], why: Sequence[str]) -> tuple[str, ...]:
    """Reasons of jobs, where what stops a job is a hold by the hold's own name."""
    if not any(why):
        return reasons
    stopped = ("held", "pacing", "start")
    return tuple(name if name and told in stopped else told for told, name in zip(reasons, why, strict=True))
