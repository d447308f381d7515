"""The regions right below a scope: what they hold, what they are worth, what each is to get.

Their domains stand in the fleet with the guaranteed share as a fixed load; here is what goes beyond it. A scope
without regions has an empty one of these, and nothing of it costs time.
"""

import numpy as np

from easyrider import scopes
from easyrider.messages import Demand
from easyrider.tree import Pacing, Rules
from easyrider_policy.core.crossing import Crossing, Shares, unpacked
from easyrider_policy.core.demand_curve import own_claims
from easyrider_policy.core.fleet import Fleet, Floats
from easyrider_policy.core.leader import Lead
from easyrider_policy.core.lending import Account, Borrower, Grant, Lending
from easyrider_policy.core.region_limits import short_of_time
from easyrider_policy.core.region_shares import DEAR, Claim, concave, filled, share
from easyrider_policy.core.solution import Solution

STEADY_SHARE = 0.01
"""Of what a region's domain may carry: shares that move less stay as they are, as long as they fit."""
QUIET_PERIODS = 3
"""A region quiet for longer may not hear either: it is planned at what it could be drawing, and others make room."""
Watts = dict[str, float]


class Regions:
    """Accounts of every region right below, and the shares that the last plan gave them."""

    def __init__(self, rules: Rules, scope: str, fleet: Fleet, before: "Regions | None" = None) -> None:
        self.fleet = fleet
        self.borrowers = tuple(
            Borrower(
                id=region.id,
                row=(row := fleet.domain_index[str(region.domain)]),
                guaranteed_w=region.guaranteed_w or 0.0,
                worst_w=float(fleet.hard_w[row]),
                levels=scopes.depth(rules, region.id),
            )
            for region in scopes.children(rules, scope)
        )
        leases, lease_s = rules.leases, rules.region_lease_s
        if before is None:
            self.lending = Lending(self.borrowers, leases, lease_s, rules.version)
        else:
            self.lending = before.lending.moved_to(self.borrowers, leases, lease_s, rules.version)
        self.carried = {b.id: fleet.weights.worst_above(self._unit(b.row)) for b in self.borrowers}
        self.short = short_of_time(fleet, self.borrowers, leases, lease_s)
        self.wanted: dict[str, tuple[float, float]] = {} if before is None else before._wanted_of(self)
        self.missing_w: Floats = np.zeros(len(fleet.domains))
        self.crossing: Crossing = Crossing() if before is None else before.crossing

    @property
    def any(self) -> bool:
        """Whether there are regions below."""
        return bool(self.borrowers)

    @property
    def above(self) -> Floats:
        """(D,) how many regions each domain carries, by weight; 0: none hangs below."""
        return sum(self.carried.values(), np.zeros(len(self.fleet.domains)))

    def follow(self, lead: Lead) -> None:
        """A new epoch of ours ends what was known of the leader before."""
        if lead.phase != "contending" and lead.epoch != self.lending.epoch:
            self.lending.took_over(lead.epoch, lead.taken_s)

    def heard(self, demand: Demand, now_s: float) -> bool:
        """Whether a demand is news."""
        news = self.lending.heard(demand, now_s)
        if news:
            self.crossing.heard(demand.region, unpacked(demand.job_keys, demand.job_shares))
        return news

    # Watts (D,) beyond the guaranteed shares, wall

    def could_w(self, now_s: float) -> Floats:
        """What regions could be drawing."""
        return self._worst(self.lending.counted_w(now_s))

    def planned_w(self, now_s: float) -> Floats:
        """What planning leaves to them: what they hold, or what they are to get."""
        known = self.lending.planned_w(now_s)
        return self._worst({name: max(w, self.wanted.get(name, (0.0,))[0]) for name, w in known.items()})

    def aimed_w(self) -> Floats:
        """What their targets allow them to draw, every feed working."""
        return self._normal({name: target_w for name, (_, target_w) in self.wanted.items()})

    def drawn_w(self, now_s: float) -> Floats:
        """What they say they draw; what they hold where they do not say."""
        planned, found = self.lending.planned_w(now_s), {}
        for name, account in self.lending.accounts.items():
            told = account.demand
            fresh = told is not None and now_s - account.heard_s < self.lending.lease_s
            found[name] = planned[name]
            if told is not None and fresh and told.observed_w is not None:
                found[name] = told.observed_w
        return self._normal(found)

    def guaranteed_w(self, *, worst: bool) -> Floats:
        """What stands in the fleet as their fixed load."""
        own = np.zeros(len(self.fleet.domains))
        for borrower in self.borrowers:
            own[borrower.row] += borrower.guaranteed_w
        return self.fleet.weights.worst_above(own) if worst else self.fleet.weights.normal_above(own)

    # Decided

    def claims(self, now_s: float) -> list[Claim]:
        """What each region wants and what it is worth there; one that is silent keeps what it could be drawing."""
        planned = self.lending.planned_w(now_s)
        return [
            _claim(
                account,
                planned[name],
                self.carried[name],
                now_s - account.heard_s < QUIET_PERIODS * self.lending.leases.control_period_s,
                self.wanted.get(name, (0.0, 0.0))[1],
            )
            for name, account in self.lending.accounts.items()
        ]

    def plan(
        self, now_s: float, room: tuple[Floats, Floats], hard_w: Floats, solution: Solution | None
    ) -> None:
        """Share watts over regions and own jobs. `room`: (D,) target and hard watts that both together may take;
        `hard_w` (D,) in force now."""
        if not self.any:
            return
        kept_back_w = np.where(self.short, np.maximum(0.0, hard_w - self.fleet.smallest_hard_w), 0.0)
        lendable_w = room[1] - kept_back_w
        regions, own = self.claims(now_s), [] if solution is None else own_claims(solution)
        both, budget_w = [*regions, *own], np.minimum(room[0], lendable_w)
        shares = share(both, budget_w)
        count = len(regions)
        target_w = filled(both, shares.watts, budget_w)[:count]
        mine_w = lendable_w - _held_w(own, shares.watts[count:], solution)
        limit_w = np.maximum(target_w, filled(regions, target_w, mine_w))
        self.missing_w = shares.short_w
        fresh = {b.id: (float(limit_w[k]), float(target_w[k])) for k, b in enumerate(self.borrowers)}
        if not self._steady(fresh, regions, budget_w, mine_w, shares.watts[count:], own):
            self.wanted = fresh

    def echo(self, now_s: float, own: Shares, pacing: Pacing) -> None:
        """What jobs that cross below are echoed. `own`: wishes of this scope's own jobs."""
        accounts = self.lending.accounts.items()
        heard = [name for name, account in accounts if now_s - account.heard_s < self.lending.lease_s]
        self.crossing.plan(now_s, own, heard, pacing)

    def compose(
        self,
        now_s: float,
        room_w: Floats,
        raises_allowed: bool,
        held: frozenset[str] = frozenset(),
        until_s: float = np.inf,
    ) -> list[Grant]:
        """Budgets that may leave now, booked. `room_w` (D,): what hard limits leave above all that is counted;
        `held`: regions that may not rise; `until_s`: end of our lease at the store."""
        return self.lending.compose(now_s, self.wanted, room_w, self.carried, raises_allowed, held, until_s)

    def _steady(
        self,
        fresh: dict[str, tuple[float, float]],
        regions: list[Claim],
        budget_w: Floats,
        mine_w: Floats,
        own_w: Floats,
        own: list[Claim],
    ) -> bool:
        """Whether the shares of before still fit and are near enough to go on with."""
        if self.wanted.keys() != fresh.keys():
            return False
        for borrower in self.borrowers:
            grain_w = STEADY_SHARE * borrower.worst_w
            pairs = zip(self.wanted[borrower.id], fresh[borrower.id], strict=True)
            if any(abs(old - new) > grain_w for old, new in pairs):
                return False
        hard_w, target_w = np.zeros(len(budget_w)), np.zeros(len(budget_w))
        for claim, borrower in zip(regions, self.borrowers, strict=True):
            hard_w += claim.carried * self.wanted[borrower.id][0]
            target_w += claim.carried * self.wanted[borrower.id][1]
        for claim, watts in zip(own, own_w.tolist(), strict=True):
            target_w += claim.carried * watts
        return bool((hard_w <= mine_w + 1e-6).all() and (target_w <= budget_w + 1e-6).all())

    def _wanted_of(self, other: "Regions") -> dict[str, tuple[float, float]]:
        names = {borrower.id for borrower in other.borrowers}
        return {name: watts for name, watts in self.wanted.items() if name in names}

    def _unit(self, row: int) -> Floats:
        unit = np.zeros(len(self.fleet.domains))
        unit[row] = 1.0
        return unit

    def _beyond(self, watts: Watts) -> Floats:
        own = np.zeros(len(self.fleet.domains))
        for borrower in self.borrowers:
            if borrower.id in watts:
                own[borrower.row] += watts[borrower.id] - borrower.guaranteed_w
        return own

    def _worst(self, watts: Watts) -> Floats:
        return self.fleet.weights.worst_above(self._beyond(watts))

    def _normal(self, watts: Watts) -> Floats:
        return self.fleet.weights.normal_above(self._beyond(watts))


def _claim(account: Account, planned_w: float, carried: Floats, reached: bool, share_w: float) -> Claim:
    """`share_w`: what it had. A region that cannot say yet what watts are worth there keeps that, if it can be."""
    demand, most_w = account.demand, account.borrower.worst_w
    none = np.zeros(0)
    if demand is None or not reached:
        return Claim(floor_w=planned_w, most_w=planned_w, curve_w=none, curve_value=none, carried=carried)
    # Without a floor told it may be asked to go to its share; what it cannot get below stays counted.
    floor_w = max(account.owed_w, 0.0 if demand.floor_w is None else demand.floor_w)
    curve_w, curve_value = concave(np.array(demand.curve_w), np.array(demand.curve_value))
    if not len(curve_w):
        want_w = max(floor_w, share_w, demand.want_w)
        curve_w, curve_value = np.array([floor_w, want_w]), np.array([0.0, DEAR * (want_w - floor_w)])
    return Claim(
        floor_w=floor_w,
        most_w=max(floor_w, most_w),
        curve_w=curve_w,
        curve_value=curve_value,
        carried=carried,
    )


def _held_w(own: list[Claim], watts: Floats, solution: Solution | None) -> Floats:
    """(D,) what own jobs count against hard limits when their targets are these watts."""
    if solution is None or not own:
        return np.zeros(1)
    problem = solution.problem
    drawn_w, held_w = problem.drawn_w(solution.limit_w), problem.held_w(solution.limit_w)
    ratio = np.where(drawn_w > 1.0, held_w / np.maximum(drawn_w, 1.0), 1.0)
    total: Floats = sum((c.carried * w for c, w in zip(own, watts.tolist(), strict=True)), np.zeros(1))
    return total * ratio
