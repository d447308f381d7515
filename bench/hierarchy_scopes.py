"""Coordinators of the hierarchy's bench: leaves with jobs, and scopes that lend to others, out of the product's rooms.

Messages are handed on as they are; leases, acks and pacing are left out.
"""

import numpy as np
from numpy.typing import NDArray

from easyrider import scopes
from easyrider.messages import Demand
from easyrider.tree import Pacing
from easyrider_policy.core import crossing, demands
from easyrider_policy.core.budgets import Budgets
from easyrider_policy.core.fleet import Fleet, build
from easyrider_policy.core.layout import Job, Layout, layout
from easyrider_policy.core.question import Question
from easyrider_policy.core.regions import Regions
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.solve import solve
from easyrider_policy.core.weights import loads
from hierarchy_site import GPUS_PER_NODE, Site

Floats = NDArray[np.float64]


def standing_w(fleet: Fleet, placed: Layout) -> Floats:
    """(D,) wall watts of machines and idle boards."""
    idle_w = np.where(placed.job_of < 0, fleet.min_w, 0.0)
    return fleet.weights.normal(fleet.node_watts(idle_w)) + fleet.fixed_w


def question(site: Site, placed: Layout, target_w: Floats, hard_w: Floats, echo: Floats | None) -> Question:
    """What a coordinator of these jobs asks; their natural draw and busy share are known everywhere."""
    rows = [int(job.id[1:]) for job in placed.jobs]
    natural_w, stands_w = site.natural_w[rows], standing_w(placed.fleet, placed)
    return Question(
        loads=loads(placed, np.ones(len(placed.fleet.gpus))),
        room=Budgets(
            target_w=target_w - stands_w, hard_w=hard_w - stands_w, held_back_w=np.zeros(len(target_w))
        ),
        natural_w=natural_w,
        duty=np.ones(len(rows)),
        busy=site.busy[rows],
        stalled=np.zeros(len(rows), dtype=np.bool_),
        mine=np.ones(len(rows), dtype=np.bool_),
        ceiling_w=crossing.ceiling_w(echo, natural_w),
    )


class Scope:
    """One coordinator. `granted_w` (hard, target): by its parent; `above`: what that echoed."""

    def __init__(self, site: Site, name: str) -> None:
        self.name, self._site, self._rules = name, site, site.rules
        own = scopes.find(site.rules, name)
        self.parent = None if own is None else own.parent
        part = scopes.part_of(site.rules, name)
        nodes = {node.id for node in part.nodes}
        self.fleet = build(part, (board for board in site.boards if board.node in nodes))
        self.placed = layout(self.fleet, list(self._jobs()))
        self.keys = crossing.keys_of(self.placed)
        self.regions = Regions(site.rules, name, self.fleet)
        self.granted_w: tuple[float, float] | None = None
        self.above: crossing.Shares = {}
        self.solution: Solution | None = None
        self.echo: Floats | None = None
        self._seq = 0

    @property
    def room(self) -> tuple[Floats, Floats]:
        """(D,) target and hard watts of its domains, its own grant in force at the root."""
        target_w, hard_w = self.fleet.aim_w.copy(), self.fleet.hard_w.copy()
        if self.granted_w is not None:
            hard_w[0], target_w[0] = min(hard_w[0], self.granted_w[0]), min(target_w[0], self.granted_w[1])
        return target_w, hard_w

    def solve(self) -> None:
        """Own watts over own jobs."""
        if self.placed.job_count:
            self.echo = crossing.bounds(self.keys, self.above)
            asked = question(self._site, self.placed, *self.room, self.echo)
            self.solution = solve(self.placed, asked, self.solution)

    def lend(self, now_s: float) -> None:
        """Watts over the regions below, and what their jobs are echoed."""
        self.regions.crossing.plan(now_s, {}, self.regions.lending.accounts, Pacing())
        self.regions.plan(now_s, self.room, self.fleet.hard_w, None)

    def demand(self, now_s: float) -> Demand:
        """What it tells its parent."""
        stands_w = standing_w(self.fleet, self.placed)
        job_keys, job_shares = crossing.packed(self.regions.crossing.upward(self._wishes()))
        asked = self.solution.question.room if self.solution is not None else None
        room = self.room if asked is None else (asked.target_w, asked.hard_w)
        whole_w = float(self.room[0][0])
        points = demands.curve(room, whole_w, 0, self.solution, self.regions, now_s)
        least_w = float(
            (stands_w + self.fleet.slope_w(np.where(self.placed.job_of < 0, 0.0, self.fleet.min_w)))[0]
        )
        self._seq += 1
        return Demand(
            parent=str(self.parent),
            region=self.name,
            boot_id="bench",
            nonce=self._seq,
            observed_w=None,
            floor_w=least_w,
            want_w=float(points[0][-1]),
            curve_w=tuple(points[0].tolist()),
            curve_value=tuple(points[1].tolist()),
            t_ns=0,
            mono_ns=0,
            tree=self._rules.id,
            tree_version=self._rules.version,
            epoch=1,
            seq=self._seq,
            job_keys=job_keys,
            job_shares=job_shares,
        )

    def _wishes(self) -> dict[int, float]:
        if self.solution is None:
            return {}
        shares = crossing.wishes(self.solution, self.echo)
        return {key: share for key, share in zip(self.keys, shares.tolist(), strict=True) if share == share}

    def _jobs(self) -> list[Job]:
        index = self.fleet.gpu_index
        found = []
        for job in self._site.layout.jobs:
            names = (f"n{row // GPUS_PER_NODE}g{row % GPUS_PER_NODE}" for row in job.gpus)
            mine = tuple(index[name] for name in names if name in index)
            if mine:
                found.append(
                    Job(
                        id=job.id,
                        gpus=mine,
                        weight=job.weight,
                        max_slowdown=job.max_slowdown,
                        mode=job.mode,
                        started_s=job.started_s,
                    )
                )
        return found


class Hierarchy:
    """All of them."""

    def __init__(self, site: Site) -> None:
        self.scopes = {region.id: Scope(site, region.id) for region in site.rules.regions}
        self.top = next(scope for scope in self.scopes.values() if scope.parent is None)
        self.leaves = [scope for scope in self.scopes.values() if not scope.regions.any]
        self._now_s = 0.0
        for leaf in self.leaves:
            leaf.solve()

    def tick(self) -> None:
        """Demands up, shares and echoes down, new limits."""
        self._now_s += 1.0
        order = self._downwards()
        for scope in reversed(order):
            if scope.parent is not None:
                demand = scope.demand(self._now_s)
                assert self.scopes[scope.parent].regions.heard(demand, self._now_s)
        for scope in order:
            if scope.regions.any:
                scope.lend(self._now_s)
                for name, (hard_w, target_w) in scope.regions.wanted.items():
                    below = self.scopes[name]
                    below.granted_w = (hard_w, target_w)
                    below.above = scope.regions.crossing.for_region(name, scope.above)
            scope.solve()

    def _downwards(self) -> list[Scope]:
        order = [self.top]
        for scope in order:
            order += [self.scopes[borrower.id] for borrower in scope.regions.borrowers]
        return order
