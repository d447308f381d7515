"""One look at everything: gather samples, plan if it is time, compose what may leave now. No clock, no client."""

from dataclasses import dataclass

import numpy as np

from easyrider_policy.core.commands import Orders, Wanted
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.emergency import alarmed
from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.plan import plan
from easyrider_policy.core.records import Decision, Situation
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.picture import Picture

SAMPLE_S = 0.1
URGENT_S = 0.2
"""Between two plans that an alarm asks for."""
JOBS_TOLD_S = 11.0
"""Telemetry says each running job again every 10 s: until then a board in no known job is not known to be idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look gives: orders, the sums they rest on, and why a plan was made, if one was."""

    orders: Orders
    sums: Sums
    cause: str | None
    verified: bool  # we command every node, and the sums hold by what nodes have acked


class Coordinator:
    """What must be remembered between looks. `picture` is changed by handlers between them."""

    def __init__(self, picture: Picture, period_s: float) -> None:
        self.picture, self.period_s = picture, period_s
        self.decision: Decision | None = None
        self.lower_only = False  # the journal cannot be written: nothing may rise
        self._causes: list[str] = []
        self._began_s: float | None = None
        self._planned_s = self._sampled_s = self._metered_s = -1e18
        self._meter_w: Floats = np.full(len(picture.fleet.domains), np.nan)

    def urge(self, cause: str) -> None:
        """Plan at the next look, because of this."""
        self._causes.append(cause)

    def meter_seen(self, domain: int, power_w: float) -> None:
        """The newest good reading of a domain's power."""
        self._meter_w[domain] = power_w

    def look(self, now_s: float) -> Look:
        """Everything that is due at this moment."""
        picture = self.picture
        self._began_s = now_s if self._began_s is None else self._began_s
        picture.forget_unsaid(now_s)
        if picture.follow():
            self.urge("job")
            if self.decision is not None and len(self.decision.wanted_w) != len(picture.fleet.gpus):
                self.decision = None
            if len(self._meter_w) != len(picture.fleet.domains):
                self._meter_w = np.full(len(picture.fleet.domains), np.nan)
        estimates = picture.meters.estimates(now_s)
        self._sample(now_s, estimates)
        cause = self._plan(now_s, estimates)
        orders = self._orders(now_s, estimates)
        sums = picture.safety.sums(now_s, picture.managed, picture.hard_w, estimates)
        return Look(orders=orders, sums=sums, cause=cause, verified=self._verified(sums))

    def _sample(self, now_s: float, estimates: Estimates) -> None:
        picture = self.picture
        if now_s - self._sampled_s < SAMPLE_S - 1e-3 or not picture.fleet.gpus:
            return
        self._sampled_s = now_s
        gathering = picture.gathering
        mean_w = gathering.take()
        if len(picture.observation.add(now_s, mean_w, gathering.limit_w, gathering.capped)):
            self.urge("wake")
        picture.safety.ledger.learned(picture.observation.overshoot.ratio)
        picture.walls.add(self._known(mean_w))
        if now_s - self._metered_s >= 1.0:
            picture.walls.meters(self._meter_w, 1.0)
            self._meter_w[:], self._metered_s = np.nan, now_s
        if now_s - self._planned_s >= URGENT_S and self._alarm(estimates).any():
            self.urge("emergency")

    def _known(self, mean_w: Floats) -> Floats:
        """Board means with every gap closed by the last good value, else by what the board may draw: never 0."""
        picture = self.picture
        may_w = picture.safety.ledger.acked_w
        last_w = np.where(np.isnan(picture.observation.gpu_w), may_w, picture.observation.gpu_w)
        return np.where(np.isnan(mean_w), last_w, mean_w)

    def _alarm(self, estimates: Estimates) -> Bools:
        picture, walls = self.picture, self.picture.walls
        if walls.filled == 0:
            return np.zeros(len(picture.fleet.domains), dtype=np.bool_)
        standing_w = walls.standing_w(estimates.load(picture.fleet, picture.managed).watts)
        return alarmed(
            walls.window_w(10) + standing_w,
            walls.window_w(1) + standing_w,
            walls.board_part_w + standing_w,
            picture.target_w,
            picture.hard_w,
        )

    def _plan(self, now_s: float, estimates: Estimates) -> str | None:
        picture = self.picture
        due = now_s - self._planned_s >= self.period_s - 1e-3
        if not (due or self._causes) or not picture.fleet.gpus:
            return None
        cause = self._causes[0] if self._causes else "tick"
        self._causes.clear()
        self._planned_s = now_s
        situation = self._situation(now_s, estimates)
        rules = picture.rules
        self.decision = plan(picture.observation, picture.walls, situation, picture.memory, rules.pacing)
        picture.memory = self.decision.memory
        return cause

    def _patient_w(self, now_s: float, decision: Decision, estimates: Estimates) -> Floats:
        """(G,) what is wanted; boards that another leader limited hold while their jobs may not be known yet.

        Only where all limits hold: a restart moves nothing, an overload does not wait for it.
        """
        if self._began_s is None or now_s - self._began_s >= JOBS_TOLD_S:
            return decision.wanted_w
        picture, fleet = self.picture, self.picture.fleet
        sums = picture.safety.planned_sums(now_s, picture.managed, picture.hard_w, estimates)
        tight = (sums.room_w < -1e-6) | decision.alarm
        calm = np.array([not tight[fleet.ancestors(node)].any() for node in range(len(fleet.nodes))])
        unknown = (picture.observation.layout.job_of < 0) & picture.safety.ledger.told
        return np.where(unknown & calm[fleet.gpu_node], np.nan, decision.wanted_w)

    def _situation(self, now_s: float, estimates: Estimates) -> Situation:
        """What the planner is told of limits, and of what cannot be steered now."""
        picture, safety, ledger = self.picture, self.picture.safety, self.picture.safety.ledger
        held_w = safety.commands.held.limit_w
        shown_w = np.where(np.isnan(ledger.requested_w), picture.gathering.limit_w, ledger.requested_w)
        based = safety.commands.based[picture.fleet.gpu_node] & ~np.isnan(held_w)
        reach = (now_s - ledger.roll.nonce_s < picture.rules.leases.ttl_s) & ~safety.leavings.away()
        steered = picture.managed & picture.fleet.settable & ~ledger.stuck & reach[picture.fleet.gpu_node]
        steered &= ~safety.leavings.gone(picture.managed)
        steered &= ~safety.leavings.asking(now_s)[picture.fleet.gpu_node]
        sums = safety.planned_sums(now_s, picture.managed, picture.hard_w, estimates)
        return Situation(
            now_s=now_s,
            limit_w=np.where(based, held_w, shown_w),
            steered=steered,
            counted_w=safety.planned_w(now_s),
            hard_w=picture.hard_w,
            target_w=picture.target_w,
            unmanaged_hard_w=sums.unmanaged_w,
            unmanaged_target_w=sums.unmanaged_w,
            confidence=picture.confidence(now_s),
        )

    def _orders(self, now_s: float, estimates: Estimates) -> Orders:
        picture = self.picture
        boards = len(picture.fleet.gpus)
        if not boards:
            return Orders()
        decided = self.decision
        limit_w = np.full(boards, np.nan) if decided is None else self._patient_w(now_s, decided, estimates)
        if self.lower_only:
            limit_w = np.fmin(limit_w, picture.safety.commands.held.limit_w)
        wanted = Wanted(limit_w=limit_w, managed=picture.managed, job=picture.observation.layout.job_of)
        return picture.safety.orders(now_s, wanted, picture.hard_w, estimates)

    def _verified(self, sums: Sums) -> bool:
        safety = self.picture.safety
        led = safety.lead.phase != "contending" and bool(safety.commands.based.all())
        return led and bool(sums.closed.any()) and bool((sums.room_w[sums.closed] >= -1e-6).all())
