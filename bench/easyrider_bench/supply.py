"""The power tree of all runs: what passes each domain, what it may carry now, what was announced, what opened.

Runs whose tree is smaller are filled up with domains that carry nothing and never open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from easyrider_bench.breakers import Breakers
from easyrider_bench.cases import STEP_S, Case, Loss
from easyrider_bench.controllers.contract import Bools, Floats

FAR_W = 1e12


@dataclass(frozen=True, slots=True)
class Opened:
    """A device that opened, or a battery that ran empty."""

    run: int
    domain: int
    at_s: float


@dataclass
class State:
    """Limits (runs, domains) and shares of node power (runs, domains, nodes), as true or as announced."""

    hard_w: Floats
    target_w: Floats
    capacity_w: Floats
    carries: Floats
    contains: Floats
    lost_modules: Floats
    on_battery: Bools


class Supply:
    """Walls, limits, heat. `wall_w` (runs, domains) is that of the last step."""

    def __init__(self, cases: Sequence[Case], *, trips: bool = True) -> None:
        self._cases = cases
        runs, nodes = len(cases), len(cases[0].site.node_ids)
        self.domains = max(len(case.site.domains) for case in cases)
        shape = (runs, self.domains)
        self._overhead_w = np.array([case.site.overhead_w for case in cases])
        self._slope = np.array([case.site.overhead_slope for case in cases])
        self._fixed_w = np.zeros(shape)
        self.stranger_w = np.zeros(shape)
        self.lit = np.ones((runs, nodes))
        self._alive = np.ones(shape)
        rating, hard, target = (np.full(shape, FAR_W) for _ in range(3))
        self._home = np.zeros(
            (runs, self.domains, nodes), dtype=np.bool_
        )  # below it, whatever feeds are lost
        self._under = np.zeros((runs, self.domains, self.domains), dtype=np.bool_)
        for run, case in enumerate(cases):
            for place, domain in enumerate(case.site.domains):
                rating[run, place], hard[run, place] = domain.rating_w, domain.hard_limit_w
                target[run, place], self._fixed_w[run, place] = domain.target_w, domain.fixed_w
            count = len(case.site.domains)
            self._home[run, :count] = case.site.carries >= 1.0
            self._under[run, :count, :count] = case.site.contains >= 1.0
        self._normal = (rating, hard, target)
        self._trips = trips
        curves = [[d.curve for d in case.site.domains] for case in cases]
        self.breakers = Breakers([run + [()] * (self.domains - len(run)) for run in curves])
        self._lost: list[list[Loss]] = [[] for _ in cases]
        self._battery_j: dict[tuple[int, int], float] = {}
        self._open_feeds: set[tuple[int, int]] = set()
        self._next_s = 0.0
        self.true = self._state(-1.0)
        self.told = self._state(-1.0)
        self._told_s = [case.site.event_delay_s for case in cases]
        self.opened: list[Opened] = []
        self.wall_w = np.zeros(shape)
        self.node_w = np.zeros((runs, nodes))

    def load(self, gpu_node_w: Floats, t_s: float) -> list[Opened]:
        """Carry the boards' watts, summed by node (runs, nodes), for one step; what opened in it."""
        self._change(t_s)
        self.node_w = self.lit * (self._overhead_w + self._slope * gpu_node_w)
        own_w = self._alive * (self._fixed_w + self.stranger_w)
        self.wall_w = np.einsum("rdn,rn->rd", self.true.carries, self.node_w) + np.einsum(
            "rde,re->rd", self.true.contains, own_w
        )
        if not self._trips:
            return []
        opened = self.breakers.carry(self.wall_w / self.true.capacity_w)
        for (run, place), left_j in list(self._battery_j.items()):
            if not self.true.on_battery[run, place] or self.breakers.opened[run, place]:
                continue
            self._battery_j[run, place] = left_j - float(self.wall_w[run, place]) * STEP_S
            if left_j <= 0.0:
                opened[run, place] = self.breakers.opened[run, place] = True
        found = [Opened(int(run), int(place), t_s) for run, place in np.argwhere(opened)]
        for each in found:
            self._open(each)
        self.opened += found
        return found

    def battery_s(self, run: int) -> Floats:
        """What is left at the present load, (domains,); NaN without a battery in use."""
        left_s = np.full(self.domains, np.nan)
        for (of, place), left_j in self._battery_j.items():
            if of == run and self.told.on_battery[run, place]:
                left_s[place] = max(left_j, 0.0) / max(float(self.wall_w[run, place]), 1.0)
        return left_s

    def state_at(self, run: int, t_s: float) -> tuple[Floats, Floats]:
        """(hard, target) that will be in force in one run then."""
        _, hard, target = self._normal
        share = self._shares(run, t_s)
        return hard[run] * share, target[run] * share

    def _change(self, t_s: float) -> None:
        """Bring the true and the announced state up to this moment."""
        if t_s + 1e-9 < self._next_s:
            return
        self.true, self.told = self._state(t_s), self._state(t_s, delayed=True)
        moments = [
            moment + delay
            for case in self._cases
            for loss in case.losses
            for moment in (loss.begin_s, loss.end_s)
            for delay in (0.0, case.site.event_delay_s)
        ]
        self._next_s = min((m for m in moments if m > t_s + 1e-9), default=np.inf)

    def _shares(self, run: int, t_s: float) -> Floats:
        share = np.ones(self.domains)
        for loss in self._cases[run].losses:
            if not loss.feed and loss.begin_s <= t_s + 1e-9 < loss.end_s:
                share[loss.domain] *= loss.share
        return share

    def _state(self, t_s: float, *, delayed: bool = False) -> State:
        rating, hard, target = self._normal
        shares, carries, contains = np.ones(rating.shape), [], []
        modules, battery = np.zeros(rating.shape), np.zeros(rating.shape, dtype=np.bool_)
        for run, case in enumerate(self._cases):
            at_s = t_s - case.site.event_delay_s if delayed else t_s
            shares[run] = self._shares(run, at_s)
            passes, holds = self._padded(case)
            for loss in case.losses:
                if not loss.begin_s <= at_s + 1e-9 < loss.end_s:
                    continue
                modules[run, loss.domain] += loss.modules
                battery[run, loss.domain] |= loss.battery_j is not None
                if not delayed and loss.battery_j is not None:
                    self._battery_j.setdefault((run, loss.domain), loss.battery_j)
            for place in case.site.feeds or ():
                lost = any(
                    x.feed and x.domain == place and x.begin_s <= at_s + 1e-9 < x.end_s for x in case.losses
                )
                if lost or (run, place) in self._open_feeds:
                    other = sum(case.site.feeds or ()) - place
                    for share in (passes, holds):
                        share[other] += share[place]
                        share[place] = 0.0
            carries.append(passes)
            contains.append(holds)
        return State(
            hard * shares, target * shares, rating * shares, np.array(carries), np.array(contains), modules, battery
        )  # fmt: skip

    def _padded(self, case: Case) -> tuple[Floats, Floats]:
        count, nodes = case.site.carries.shape
        passes, holds = np.zeros((self.domains, nodes)), np.zeros((self.domains, self.domains))
        passes[:count] = case.site.carries
        holds[:count, :count] = case.site.contains
        return passes, holds

    def _open(self, each: Opened) -> None:
        """Darken what hangs below; where a feed opens, all hangs on the other, or on nothing."""
        run, place = each.run, each.domain
        feeds = self._cases[run].site.feeds
        if feeds is None or place not in feeds:
            self.lit[run] *= ~self._home[run, place]
            self._alive[run] *= ~self._under[run, place]
            return
        self._open_feeds.add((run, place))
        self._next_s = -1.0
        other = sum(feeds) - place
        if self.true.carries[run, other].sum() == 0.0 or (run, other) in self._open_feeds:
            self.lit[run], self._alive[run] = 0.0, 0.0
