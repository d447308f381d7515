"""`oracle`: the same coordinator, told the truth of the next 1.5 s, and unpaced.

It shares everything with `easyrider`: tree, rules, counting of what could be drawn (a silent node counts as its worst),
lower-before-raise, `max_slowdown`, the solver, the control period, events that plan at once, and the delay of commands.
What differs is the question that the solver is asked: natural draws are read ahead along each job's program, peaks,
busy shares, curves, overshoot and unmanaged load are true, the ten-second window is kept on true walls, and its answer
is wanted at once instead of in steps.
"""

from dataclasses import replace

import numpy as np

from easyrider_bench.controllers.contract import Bools, Floats, Observation, Site, Truth
from easyrider_bench.controllers.foresight import Curves, Window, ahead
from easyrider_bench.controllers.product import EasyRider
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core import holds
from easyrider_policy.core.budgets import Budgets, budgets
from easyrider_policy.core.question import Question
from easyrider_policy.core.records import Decision
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.solve import solve
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.core.weights import loads
from easyrider_policy.picture import Picture

PERIOD_S = 0.1
_ROUNDS = 3
"""Between limits and the mean draw they allow."""


class Oracle(EasyRider):
    """The coordinator of the product with another planner in it."""

    def __init__(self, site: Site, seed: int = 0) -> None:
        super().__init__(site, seed)
        self._clairvoyant = self.coordinator = Clairvoyant(self.picture, site)
        self.desk.coordinator = self.coordinator

    def decide(  # type: ignore[override]  # it is handed the truth as well
        self, now_s: float, seen: Observation, truth: Truth
    ) -> Floats | None:
        """As `EasyRider.decide`."""
        self._clairvoyant.see(truth, seen)
        return super().decide(now_s, seen)


class Clairvoyant(Coordinator):
    """A coordinator that plans from `Truth`."""

    def __init__(self, picture: Picture, site: Site) -> None:
        super().__init__(picture)
        self._site, self._window = site, Window(PERIOD_S)
        self._fixed_w = np.array([domain.fixed_w for domain in site.domains])
        self._carries = site.carries
        self._curves: Curves | None = None
        self._truth: Truth | None = None

    def see(self, truth: Truth, seen: Observation) -> None:
        """The truth of this moment."""
        self._truth, self._carries = truth, seen.carries
        if self._curves is None:
            self._curves = Curves(truth)
        self._window.add(truth.wall_w)
        counted = self.picture.observation.overshoot.counted
        if len(counted) == len(truth.overshoot) and not np.array_equal(counted, truth.overshoot):
            self.picture.observation.overshoot.counted = truth.overshoot.copy()
            self.picture.observation.overshoot.version += 1

    def _plan(self, now_s: float, estimates: Estimates) -> str | None:
        cause = super()._plan(now_s, estimates)
        if cause is not None and self.decision is not None and self.situation is not None:
            self.decision = self._foreseen(self.decision, self.situation)
        return cause

    def _foreseen(self, decision: Decision, situation: Situation) -> Decision:
        layout = self.picture.observation.layout
        if self._truth is None or self._curves is None or not layout.job_count:
            return decision
        coming = ahead(layout, self._truth, self._curves)
        steered = situation.steered & np.isfinite(situation.limit_w)
        ours = steered & (layout.job_of >= 0)
        weighed = loads(layout, np.where(ours, self._truth.overshoot, 0.0))
        held, _ = holds.job_rows(layout, situation.holds or holds.nobody(layout.fleet))
        room, limit_w = self._room(situation, ours), decision.best_w
        for _ in range(_ROUNDS):
            question = Question(
                loads=weighed,
                room=room,
                natural_w=np.maximum(coming.peak_w, layout.min_w),
                duty=coming.duty(limit_w),
                busy=coming.busy,
                stalled=np.zeros(layout.job_count, dtype=np.bool_),
                mine=layout.controlled & np.logical_or.reduceat(ours[layout.seat], layout.job_start) & ~held,
                ceiling_w=None,
            )
            solution = solve(layout, question)
            limit_w = solution.limit_w
        wanted_w = decision.wanted_w.copy()
        wanted_w[ours] = np.clip(
            limit_w[layout.job_of[ours]], layout.fleet.min_w[ours], layout.fleet.max_w[ours]
        )
        return replace(decision, wanted_w=wanted_w, job_limit_w=limit_w, best_w=limit_w)

    def _room(self, situation: Situation, ours: Bools) -> Budgets:
        """What jobs of ours may draw, on the mean over the time ahead; hard limits as the planner has them."""
        assert self._truth is not None
        site, truth, picture = self._site, self._truth, self.picture
        node_w = site.overhead_w + site.overhead_slope * np.bincount(
            site.node_of,
            weights=np.where(ours, 0.0, truth.natural_w.mean(axis=0)),
            minlength=len(site.node_ids),
        )
        own_w = self._fixed_w + truth.unmanaged_w.mean(axis=0)
        others_w = self._carries @ node_w + site.contains @ own_w
        places = [picture.fleet.domain_index[domain.id] for domain in site.domains]
        aim_w = np.minimum(truth.target_w.min(axis=0), picture.billing.ceiling_w[places])
        left_w = self._window.left_w(aim_w, float(truth.ahead_s[-1]))
        usual = budgets(
            picture.observation,
            picture.walls,
            situation,
            ours,
            np.zeros_like(situation.hard_w),
            reactive=False,
        )
        target_w = np.full(len(usual.target_w), np.inf)
        target_w[places] = left_w - others_w
        return Budgets(target_w=target_w, hard_w=usual.hard_w, held_back_w=np.zeros_like(target_w))
