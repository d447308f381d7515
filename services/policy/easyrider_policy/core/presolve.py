"""The same question without the domains that cannot bind, so that prices are sought only where they matter.

A domain that only one job draws in is a bound on that job and nothing else; a domain that carries all its jobs
at the most they can take bounds nobody. What is left has the same feasible watts and the same optimum.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.layout import Layout, Level
from easyrider_policy.core.prices import parents_of
from easyrider_policy.core.problem import SLACK_W, Problem
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Reduced(NamedTuple):
    """The smaller `problem`; `keep` (D,) domains left; (A,) pairs of lonely jobs, and watts their domains allow."""

    problem: Problem
    keep: Bools
    alone: Ints
    target_w: Floats
    hard_w: Floats


def reduced(problem: Problem) -> Reduced:
    """Tops lowered to what lonely domains allow, and only domains that may bind, roots and those on two feeds."""
    layout = problem.layout
    alone, target_w, hard_w = _alone(problem)
    most_w = np.full(len(problem.drawn), np.inf)
    most_w[alone] = np.minimum(target_w, hard_w)
    top_w = problem.top_w
    if len(alone):
        least_w = np.minimum.reduceat(most_w[layout.by_job], layout.job_pair_start)
        top_w = np.maximum(np.minimum(top_w, least_w), problem.floor_w)
    tight = replace(problem, top_w=top_w)
    keep = tight.drawn_w(top_w) > problem.target_w + SLACK_W
    keep |= tight.held_w(top_w) > problem.hard_w + SLACK_W
    keep |= _rooted(layout)
    pairs = keep[layout.pair_domain]
    small, leaf_of = _smaller(layout, keep, pairs)
    loads = replace(problem.loads, worst=problem.loads.worst[pairs], normal=problem.loads.normal[pairs])
    left = replace(
        tight,
        layout=small,
        loads=loads,
        drawn=problem.drawn[pairs],
        drawn_at_leaf=tally(leaf_of, problem.drawn_at_leaf, len(small.leaf_job)),
    )
    return Reduced(left, keep, alone, target_w, hard_w)


def lonely(
    problem: Problem, small: Reduced, watts: Floats, cost: Floats, found: tuple[Floats, Bools]
) -> tuple[Floats, Bools]:
    """Prices (D,) of the whole, and where the hard limit is the one that binds; `found`: the same of what is left.

    `cost` (J,): what a watt per board costs by the prices found. A lonely domain's price is what its job would
    gain by a watt there, beyond what the watt costs it elsewhere.
    """
    layout, (own, hard_binds) = problem.layout, found
    domain, job = layout.pair_domain[small.alone], layout.pair_job[small.alone]
    most_w = np.minimum(small.target_w, small.hard_w)
    hard_binds = hard_binds.copy()
    hard_binds[domain] = small.hard_w < small.target_w
    held = (watts[job] < problem.top_w[job] - SLACK_W) & (most_w <= watts[job] + SLACK_W)
    if not held.any():
        return own, hard_binds
    domain, job, pair = domain[held], job[held], small.alone[held]
    ratio = watts[job] / problem.peak_w[job]
    gain = curves.marginal(ratio, problem.busy[job]) / problem.peak_w[job]
    gain *= layout.weight[job] * problem.boards[job]
    own = own.copy()
    weight = np.where(hard_binds[domain], problem.loads.worst[pair], problem.drawn[pair])
    own[domain] = np.maximum(own[domain], (gain - cost[job]) / np.maximum(weight, 1e-9))
    return own, hard_binds


def _alone(problem: Problem) -> tuple[Ints, Floats, Floats]:
    """Pairs (A,) of domains in which no other job draws, and watts per board that each domain's limits allow it."""
    layout, drawn, worst = problem.layout, problem.drawn, problem.loads.worst
    draws = (drawn > 0) | (worst > 0)
    count = np.bincount(layout.pair_domain[draws], minlength=layout.domain_count)
    at = np.flatnonzero((count == 1)[layout.pair_domain] & draws)
    domain = layout.pair_domain[at]
    with np.errstate(divide="ignore", invalid="ignore"):
        target_w = np.where(drawn[at] > 0, problem.target_w[domain] / drawn[at], np.inf)
        hard_w = np.where(worst[at] > 0, problem.hard_w[domain] / worst[at], np.inf)
    return at, target_w, hard_w


def _rooted(layout: Layout) -> Bools:
    """Domains (D,) that are never left out: each job keeps one, and a domain on two feeds has no one parent."""
    parents = np.zeros(layout.domain_count, dtype=np.int64)
    for level in layout.levels:
        parents += np.bincount(level.edge_child, minlength=layout.domain_count)
    rooted: Bools = parents != 1
    return rooted


def _smaller(layout: Layout, keep: Bools, pairs: Bools) -> tuple[Layout, Ints]:
    """The layout with these domains and pairs alone, and which of its leaf pairs each leaf pair has gone to."""
    stands_for = np.arange(layout.domain_count)  # the nearest domain upwards that is left
    levels: list[Level] = []
    for level in reversed(layout.levels):
        above = stands_for[parents_of(level)]
        gone = ~keep[level.edge_child]
        stands_for[level.edge_child[gone]] = above[gone]
        levels.append(_thinned(level, keep, above))
    jobs = max(layout.job_count, 1)
    key = stands_for[layout.leaf_domain] * jobs + layout.leaf_job
    unique, leaf_of = np.unique(key, return_inverse=True)
    pair_domain, pair_job = layout.pair_domain[pairs], layout.pair_job[pairs]
    starts = np.flatnonzero(np.diff(pair_domain, prepend=-1))
    count = np.bincount(pair_job, minlength=layout.job_count)
    moved_to = np.cumsum(pairs) - 1
    return replace(
        layout,
        leaf_domain=unique // jobs,
        leaf_job=unique % jobs,
        pair_domain=pair_domain,
        pair_job=pair_job,
        by_job=moved_to[layout.by_job[pairs[layout.by_job]]],
        job_pair_start=np.cumsum(count) - count,
        domain_pair_start=starts,
        pair_rows=pair_domain[starts],
        levels=tuple(reversed(levels)),
    ), leaf_of


def _thinned(level: Level, keep: Bools, above: Ints) -> Level:
    left = np.flatnonzero(keep[level.edge_child])
    left = left[np.argsort(above[left], kind="stable")]
    parents, start = np.unique(above[left], return_index=True)
    return Level(
        rows=level.rows[keep[level.rows]],
        edge_child=level.edge_child[left],
        edge_share=level.edge_share[left],
        parents=parents,
        edge_start=start,
    )
