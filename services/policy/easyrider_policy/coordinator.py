"""One look at everything: gather samples, plan if it is time, compose what may leave now. No clock, no client."""

from collections.abc import Callable

import numpy as np

from easyrider_policy.bills import bill
from easyrider_policy.core import foreign, history
from easyrider_policy.core.commands import Orders, Wanted
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.domain_draw import Draws, draws
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.lending import Grant
from easyrider_policy.core.overshoot import MOST
from easyrider_policy.core.patience import JOBS_TOLD_S, waits
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Planner
from easyrider_policy.core.records import Decision
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.tidings import Tiding
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.lender import Lender
from easyrider_policy.look import Excursion as Excursion
from easyrider_policy.look import Look as Look
from easyrider_policy.picture import Picture
from easyrider_policy.situations import foreign_drawn_w, situation_of
from easyrider_policy.staging import Staging
from easyrider_policy.wakes import Wakes, large

SAMPLE_S = 0.1
BOARDS_WAIT_S, JOBS_WAIT_S = 1 / 2000, 1 / 20000
"""By board of the site, between two times that news of boards or jobs is taken in: a site that comes up tells of them
one by one, and to take in a large one takes long."""
CALM_S = 0.25
"""Once no further board was told of for so long, the rest of that wait is spared."""
STANDING_S = 0.5
"""Of a large site the same for alarms that the last plan has seen: what it asked for takes longer to show anyway."""
PLAIN = ("tick", "wake")
"""Causes whose orders can wait for a turn of others."""
URGENT_S = 0.2
"""Between two plans that an alarm asks for."""


class Coordinator:
    """What must be remembered between looks. `picture` is changed by handlers between them."""

    def __init__(self, picture: Picture, planner: Planner = plan, untold: list[Tiding] | None = None) -> None:
        self.picture, self._planner = picture, planner
        self.untold: list[Tiding] = [] if untold is None else untold  # events that came up where nobody waits
        self.decision: Decision | None = None
        self.looked: Look | None = None  # the newest
        self.situation: Situation | None = None  # of the last decision
        self.draws: Draws | None = None  # of the last decision
        self.sums: Sums | None = None  # of the last look
        self.lender = Lender(picture)
        self.staging = Staging(picture, self.untold.append)
        self.prepares: list[Callable[[float], None]] = []  # asked first at every look
        self.lower_only = False  # the journal cannot be written: nothing may rise
        self._causes: list[str] = []
        self._began_s = np.inf
        self._planned_s = self._sampled_s = self._metered_s = self._forgot_s = -1e18
        self._meter_w: dict[str, float] = {}
        self._silent_meters: frozenset[str] = frozenset()
        self._excursions: list[Excursion] = []
        self._followed_s = self._boards_s = self._grew_s = -np.inf
        self._followed = self._grown = 0  # boards known when they were last followed, and at the last look
        self._phase = picture.safety.lead.phase
        self._wakes = Wakes()

    def urge(self, cause: str) -> None:
        """Plan at the next look, because of this."""
        if cause not in self._causes:
            self._causes.append(cause)

    def meter_seen(self, domain: str, power_w: float) -> None:
        """The newest good reading of a domain's power, of a meter that passed its gate."""
        self._meter_w[domain] = power_w

    def supply_moved(self, domain: str, before: float, after: float) -> None:
        """What a domain's supply can carry changed to another share of what was planned."""
        self._excursions.append(Excursion(domain=domain, before=before, after=after))
        self.urge("limit_drop" if after < before else "limit_back")

    def notice(self, now_s: float) -> bool:
        """Whether what has come since the last sample asks for a plan at once: a job that wakes."""
        gathering = self.picture.gathering
        woken = self.picture.observation.notice(now_s, gathering.newest_w, gathering.limit_w)
        if len(woken):
            self._wakes.add(woken)
            self.urge("wake")
        return len(woken) > 0

    def glance(self, now_s: float) -> Look | None:
        """What those who woke are answered at once, lowers alone; None where everything should be looked at instead."""
        picture, sums = self.picture, self.sums
        for prepare in self.prepares:
            prepare(now_s)
        if self._causes != ["wake"] or sums is None or picture.safety.lead.phase != self._phase:
            return None
        if self._due(now_s) or self.learning(now_s) or not self._given_way(now_s):
            return None
        self._causes.clear()
        assert self.decision is not None
        wanted = Wanted(
            limit_w=self.decision.wanted_w,
            managed=picture.managed,
            job=picture.observation.layout.job_of,
        )
        return Look(
            orders=picture.safety.lowered(now_s, wanted),
            sums=sums,
            cause="wake",
            verified=False,
            silent_meters=self._silent_meters,
            excursions=(),
        )

    def look(self, now_s: float, unix_s: float = 0.0) -> Look:
        """Everything that is due at this moment; `unix_s` is for appointments alone."""
        picture, fleet = self.picture, self.picture.fleet
        for prepare in self.prepares:
            prepare(now_s)
        self._began_s = min(self._began_s, now_s)
        if now_s - self._forgot_s >= 1.0:
            picture.forget_unsaid(now_s)
            self._forgot_s = now_s
        size = len(picture.boards)
        if size != self._grown:
            self._grown, self._grew_s = size, now_s
        grows = now_s - self._grew_s < CALM_S or size == self._followed
        boards_wait = now_s - self._boards_s < size * BOARDS_WAIT_S and grows
        jobs_wait = now_s - self._followed_s < size * JOBS_WAIT_S
        if (moved := picture.follow(boards_wait=boards_wait, jobs_wait=jobs_wait)) is not None:
            self._followed_s = now_s
            if not picture.boards_moved:  # else what was taken in were jobs alone
                self._boards_s, self._followed = now_s, size
            self._wakes.planned()  # rows of a layout that is gone
            self.urge(moved)
        if picture.fleet is not fleet:
            self.decision = None  # its columns are another fleet's
        drawn = None if self.decision is None else self.draws
        if picture.targets.pass_to(unix_s, picture.own_target_w, None if drawn is None else drawn.soft_w):
            self.urge("load_target")
        if bill(picture, drawn, now_s, unix_s):
            self.urge("demand")
        estimates = picture.meters.estimates(now_s, foreign_drawn_w(picture))
        silent = frozenset(picture.fleet.domains[row] for row in estimates.reasons)
        if silent != self._silent_meters:
            self.urge("meter")
        self._silent_meters = silent
        self._sample(now_s, estimates)
        budgets: tuple[Grant, ...] = ()
        urgent = bool(self._causes)
        cause = self._plan(now_s, estimates)
        if picture.regions.any:
            self.lender.plan(now_s, estimates, self.decision, self.situation, urgent)
            budgets = self.lender.budgets(now_s, estimates, self.lower_only or bool(picture.unfit))
        # Of a large site two turns: others wait for half as long, and whoever woke meanwhile is answered first.
        unsaid = self._planned_s == now_s and cause in PLAIN and large(picture)
        orders = Orders() if unsaid else self._orders(now_s, estimates)
        if picture.safety.lead.phase != self._phase:
            self._phase = picture.safety.lead.phase
            self.urge("take_over")
        sums = picture.safety.sums(now_s, picture.managed, picture.hard_left_w(now_s), estimates)
        self.sums = sums
        excursions, self._excursions = tuple(self._excursions), []
        return Look(
            orders=orders,
            sums=sums,
            cause=cause,
            verified=self._verified(now_s, sums),
            silent_meters=silent,
            excursions=excursions,
            budgets=budgets,
            unsaid=unsaid,
        )

    def _sample(self, now_s: float, estimates: Estimates) -> None:
        picture = self.picture
        if now_s - self._sampled_s < SAMPLE_S - 1e-3 or not picture.fleet.gpus:
            return
        self._sampled_s = now_s
        gathering, observation, walls = picture.gathering, picture.observation, picture.walls
        mean_w = gathering.take()
        woken = observation.add(now_s, mean_w, gathering.limit_w, gathering.capped, gathering.hot)
        if len(woken):
            self._wakes.add(woken)
            self.urge("wake")
        picture.sampled()
        overshoot = observation.overshoot
        picture.safety.ledger.learned(np.where(picture.managed, MOST, overshoot.counted))
        walls.add(observation.believed_w(mean_w))
        # before it leads, boards not heard yet count at their maximum: in sums that is safe, as heat it is made up
        if picture.safety.lead.phase == "leading" and self.situation is not None:
            load_w = walls.board_part_w + walls.standing_w(self.situation.unmanaged_target_w)
            load_w = np.fmax(load_w, picture.meters.shown_w(now_s))
            picture.heat.pass_to(now_s, load_w, picture.facility.capacity_w)
        if now_s - self._metered_s >= 1.0:
            shown_w = np.array([self._meter_w.get(domain, np.nan) for domain in picture.fleet.domains])
            shown_w[picture.regions.above > 0] = np.nan  # what regions draw there is no offset
            walls.meters(shown_w, 1.0)
            walls.doubt(estimates.reasons)
            self._meter_w, self._metered_s = {}, now_s
        if now_s - self._planned_s >= URGENT_S and self._alarmed(now_s, estimates):
            self.urge("emergency")

    def _alarmed(self, now_s: float, estimates: Estimates) -> bool:
        """Whether a domain asks for a plan now."""
        picture = self.picture
        load_w = estimates.load(picture.fleet, picture.managed).watts
        other_w = foreign.besides(load_w, foreign_drawn_w(picture))
        alarm = history.alarms(picture.fleet, picture.walls, picture.target_meant_w, picture.hard_w, other_w)
        if self.decision is not None and large(picture) and now_s - self._planned_s < STANDING_S:
            alarm &= ~self.decision.alarm
        return bool((alarm | picture.heat.pressed).any())

    def _plan(self, now_s: float, estimates: Estimates) -> str | None:
        picture = self.picture
        if not picture.fleet.gpus:
            self._causes.clear()
            return None
        if not (self._due(now_s) or self._causes):
            return None
        if self._causes == ["wake"] and not self._due(now_s) and self._given_way(now_s):
            self._causes.clear()
            return "wake"
        cause = self._causes[0] if self._causes else "tick"
        self._causes.clear()
        self._planned_s = now_s
        self._wakes.planned()
        situation = self.situation = situation_of(picture, now_s, estimates)
        pacing = picture.rules.pacing
        self.decision = self._planner(picture.observation, picture.walls, situation, picture.memory, pacing)
        picture.memory = self.decision.memory
        picture.walls.reckoned_w = self.decision.reckoned_w
        solution = self.decision.memory.solution
        self.draws = None if solution is None else draws(solution, situation)
        mean_w = picture.walls.target_means_w() + picture.walls.standing_w(situation.unmanaged_target_w)
        picture.targets.observed(mean_w, self.decision.missing_w, now_s)
        self.staging.planned(now_s, self.decision, situation)
        return cause

    def _due(self, now_s: float) -> bool:
        """Whether a whole plan is."""
        return now_s - self._planned_s >= self.picture.rules.leases.control_period_s - 1e-3

    def _given_way(self, now_s: float) -> bool:
        """Whether those who woke have their answer without a whole plan."""
        decision = self._wakes.answered(self.picture, self.decision, self.situation, now_s)
        if decision is None:
            return False
        self.decision, self.picture.walls.reckoned_w = decision, decision.reckoned_w
        return True

    def _orders(self, now_s: float, estimates: Estimates) -> Orders:
        picture = self.picture
        boards = len(picture.fleet.gpus)
        if not boards:
            picture.safety.passed(now_s)
            return Orders()
        limit_w = np.full(boards, np.nan)
        if self.decision is not None:
            limit_w = self._patient_w(now_s, self.decision, estimates)
        if self.lower_only or picture.unfit:
            # Below what was last acked too: a raise that was lost on its way must not be said again.
            held_w = np.fmin(picture.safety.commands.held.limit_w, picture.safety.ledger.requested_w)
            limit_w = np.fmin(limit_w, held_w)
        wanted = Wanted(limit_w=limit_w, managed=picture.managed, job=picture.observation.layout.job_of)
        return picture.safety.orders(now_s, wanted, picture.hard_left_w(now_s), estimates)

    def learning(self, now_s: float) -> bool:
        """Whether a fresh coordinator may not have been told of every job yet."""
        return now_s - self._began_s < JOBS_TOLD_S

    def _patient_w(self, now_s: float, decision: Decision, estimates: Estimates) -> Floats:
        """(G,) what is wanted; nothing of boards whose jobs a fresh coordinator may not have heard of yet.

        Asked at every look: the decision of a moment ago did not know what has been acked since.
        """
        if not self.learning(now_s):
            return decision.wanted_w
        picture = self.picture
        hard_w = picture.hard_meant_w(now_s)
        sums = picture.safety.planned_sums(now_s, picture.managed, hard_w, estimates)
        # An alarm short of every limit is a warning: no reason to take busy boards for idle.
        over = decision.alarm & ~(decision.observed_w <= picture.target_meant_w)
        tight = (sums.room_w < -1e-6) | over
        in_job = picture.observation.layout.job_of >= 0
        held = waits(picture.fleet, in_job, picture.safety.ledger.told, tight)
        return np.where(held, np.nan, decision.wanted_w)

    def _verified(self, now_s: float, sums: Sums) -> bool:
        safety = self.picture.safety
        based, nonce_s = safety.commands.based, safety.ledger.roll.nonce_s
        reach = now_s - nonce_s < self.picture.rules.leases.ttl_s
        led = safety.lead.phase != "contending" and bool(based.any()) and bool((based | ~reach).all())
        if sums.closed.any():
            return led and bool((sums.room_w[sums.closed] >= -1e-6).all())
        # Nothing can be proved here, so it is held against the load that is metered or declared; not against guesses.
        return led and not sums.blocked and bool((sums.room_w >= -1e-6).all())
