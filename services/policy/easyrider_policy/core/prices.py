"""A price per domain, so that every job takes what it is worth and nested budgets are met.

Path price: bottom up, what each domain draws at each of K prices, at most its budget; the price at which it
just meets its budget clears it; top down, a domain's price is the highest on its path to the root. Exact
on a tree up to the price grid when no job spans domains, a very good first guess otherwise.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core import curves
from easyrider_policy.core.layout import Layout, Level
from easyrider_policy.core.problem import SLACK_W, Problem
from easyrider_policy.core.tally import tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRICES = 24
GUESSED = 14
"""Where jobs span domains the prices are a first guess, which sweeps make better: fewer will do."""
MANY = 20_000
ALIKE = 0.02
"""From so many places of jobs on, those whose worth per watt differs by less (10 W of 500) share a price curve."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Prices:
    """`path` (D,): price of a wall watt below a domain, with all above it; `own` (D,): its own share of it."""

    path: Floats
    own: Floats


def path_prices(problem: Problem, budget_w: Floats) -> Prices:
    """Prices that meet `budget_w` (D,), in watts that count against targets."""
    layout = problem.layout
    worth = np.maximum(layout.weight * problem.boards, 1e-9)
    cost = tally(layout.leaf_job, problem.drawn_at_leaf, layout.job_count)
    log_scale = np.log(np.maximum(cost, 1e-9) * problem.peak_w / worth)
    taking = (problem.boards > 0) & (problem.top_w > problem.floor_w + SLACK_W) & (cost > 0)
    if not taking.any():
        zero = np.zeros(layout.domain_count)
        return Prices(path=zero, own=zero)
    scale = log_scale[taking]
    least_busy = curves.LEAST_BUSY
    low = math.log(0.2 * least_busy) - float(scale.max())
    high = math.log(3.0) - float(scale.min())
    leaves = len(layout.leaf_job)
    guessed = leaves > layout.job_count or leaves >= MANY
    log_price = np.linspace(low, high, GUESSED if guessed else PRICES)
    load = _load_at(problem, log_scale, log_price)
    clearing = _climb(layout.levels, load, budget_w, log_price)
    return _descend(layout, clearing)


def _load_at(problem: Problem, log_scale: Floats, log_price: Floats) -> Floats:
    """Wall watts (D, K + 1) of jobs on their nearest domains when a watt costs nothing, then each price."""
    layout = problem.layout
    load = np.zeros((layout.domain_count, len(log_price) + 1))
    if len(layout.leaf_job) >= MANY:
        domain, parts = _alike(problem, log_scale, log_price)
    else:
        bounds = problem.peak_w, problem.floor_w, problem.top_w
        wanted = _wanted(log_scale, log_price, problem.busy, bounds)
        domain, parts = layout.leaf_domain, wanted[layout.leaf_job] * problem.drawn_at_leaf[:, None]
    starts = np.flatnonzero(np.diff(domain, prepend=-1))  # both stand sorted by domain
    load[domain[starts]] = np.add.reduceat(parts, starts, axis=0)
    return load


def _wanted(
    log_scale: Floats, log_price: Floats, classes: Ints, bounds: tuple[Floats, Floats, Floats]
) -> Floats:
    """Watts (n, K + 1) that are taken; `bounds`: at full draw, at least, at most, in watts of any kind."""
    full_w, least_w, most_w = bounds
    ratio = curves.shares_along(log_scale, log_price, classes)
    wanted = np.empty((len(full_w), len(log_price) + 1))
    wanted[:, 0] = most_w
    np.multiply(ratio, full_w[:, None], out=wanted[:, 1:])
    np.minimum(wanted, most_w[:, None], out=wanted)
    np.maximum(wanted, least_w[:, None], out=wanted)
    return wanted


def _alike(problem: Problem, log_scale: Floats, log_price: Floats) -> tuple[Ints, Floats]:
    """Domains (g,) and wall watts (g, K + 1) of groups: jobs of one domain, one curve and nearly one worth per watt.

    Prices need no more than that; the watts of each job are found by its own curve afterwards.
    """
    layout, weight = problem.layout, problem.drawn_at_leaf
    job = layout.leaf_job
    grade = np.rint((log_scale - log_scale.min()) / ALIKE).astype(np.int64)
    kind = problem.busy * (int(grade.max()) + 1) + grade
    kinds = int(kind.max()) + 1
    group, first, member = np.unique(
        layout.leaf_domain * kinds + kind[job], return_index=True, return_inverse=True
    )
    full_w, least_w, most_w = (
        tally(member, weight * watts[job], len(group))
        for watts in (problem.peak_w, problem.floor_w, problem.top_w)
    )
    chosen = job[first]
    wanted = _wanted(log_scale[chosen], log_price, problem.busy[chosen], (full_w, least_w, most_w))
    return group // kinds, wanted


def _climb(levels: tuple[Level, ...], load: Floats, budget_w: Floats, log_price: Floats) -> Floats:
    """Clearing price per domain; `load` is completed from the deepest level up."""
    clearing = np.zeros(len(budget_w))
    for level in levels:
        mine = load[level.rows]
        clearing[level.rows] = _cross(mine, budget_w[level.rows], log_price)
        if level.edge_child.size:
            np.minimum(mine, np.maximum(budget_w[level.rows], mine[:, -1])[:, None], out=mine)
            load[level.rows] = mine
            up = load[level.edge_child] * level.edge_share[:, None]
            load[level.parents] += np.add.reduceat(up, level.edge_start, axis=0)
    return clearing


def _cross(load: Floats, budget_w: Floats, log_price: Floats) -> Floats:
    """The price at which each row's load falls to its budget: 0 where it never exceeds it."""
    fits = load <= budget_w[:, None] + SLACK_W
    at = np.where(fits.any(axis=1), fits.argmax(axis=1), len(log_price))
    rows = np.arange(len(budget_w))
    before = np.maximum(at - 1, 0)
    high, low = load[rows, before], load[rows, at]
    part = np.where(high > low, (high - budget_w) / np.where(high > low, high - low, 1.0), 1.0)
    part = np.clip(part, 0.0, 1.0)
    first = math.exp(log_price[0])
    step = log_price[1] - log_price[0]
    inner = np.exp(log_price[0] + (np.maximum(at, 2) - 2 + part) * step)
    return np.where(at == 0, 0.0, np.where(at == 1, part * first, inner))


def _descend(layout: Layout, clearing: Floats) -> Prices:
    path, inherited = clearing.copy(), np.zeros(len(clearing))
    for level in reversed(layout.levels):
        if level.edge_child.size:
            np.add.at(inherited, level.edge_child, level.edge_share * path[parents_of(level)])
            path[level.rows] = np.maximum(clearing[level.rows], inherited[level.rows])
    return Prices(path=path, own=path - inherited)


def parents_of(level: Level) -> Ints:
    """The parent of each edge of a level."""
    sizes = np.diff(np.append(level.edge_start, len(level.edge_child)))
    return np.repeat(level.parents, sizes)
