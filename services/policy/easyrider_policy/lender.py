"""One scope as a lender: shares over the regions below it, and the budgets that may leave. No clock, no client."""

import numpy as np

from easyrider_policy.core.crossing import told
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.holds import reach
from easyrider_policy.core.leader import may_publish, raises_allowed
from easyrider_policy.core.lending import Grant
from easyrider_policy.core.records import Decision
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.unmanaged import Estimates
from easyrider_policy.picture import Picture


class Lender:
    """What must be remembered between looks to share watts with regions below."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.planned_s = -np.inf
        self.room: tuple[Floats, Floats] = (
            np.zeros(0),
            np.zeros(0),
        )  # (D,) target and hard, for regions and jobs
        self.whole_w: Floats = np.zeros(0)  # (D,) the targets that the room was made from

    def plan(
        self,
        now_s: float,
        estimates: Estimates,
        decision: Decision | None,
        situation: Situation | None,
        urgent: bool,
    ) -> None:
        """New shares once a control period, and at once where something happened."""
        picture = self.picture
        picture.regions.follow(picture.safety.lead)
        if not urgent and now_s - self.planned_s < picture.rules.leases.control_period_s - 1e-3:
            return
        self.planned_s = now_s
        solution = solution_of(decision)
        self.room = self.measure(now_s, estimates, decision, situation)
        picture.regions.plan(now_s, self.room, picture.hard_w, solution)
        own = told(solution, None if situation is None else situation.echo, picture.job_keys)
        picture.regions.echo(now_s, own, picture.rules.pacing)

    def measure(
        self, now_s: float, estimates: Estimates, decision: Decision | None, situation: Situation | None
    ) -> tuple[Floats, Floats]:
        """(D,) target and hard watts that regions below, from nothing, and our own jobs may take together."""
        solution = solution_of(decision)
        picture, regions = self.picture, self.picture.regions
        normal_w, worst_w = regions.guaranteed_w(worst=False), regions.guaranteed_w(worst=True)
        self.whole_w = picture.target_w
        if decision is not None and solution is not None and situation is not None:
            room = solution.question.room
            # What comes back slowly to our own jobs is there all the same: regions ease their own return.
            lent_w = picture.target_w - decision.memory.eased_w
            hard_lent_w = picture.hard_w - situation.hard_w
            return room.target_w + lent_w + normal_w, room.hard_w + hard_lent_w + worst_w
        hard_w = picture.hard_w
        sums = picture.safety.planned_sums(now_s, picture.managed, hard_w, estimates)
        standing_w = picture.walls.standing_w(sums.unmanaged_w)
        return picture.target_w - standing_w + normal_w, sums.room_w + worst_w

    def budgets(self, now_s: float, estimates: Estimates, lower_only: bool) -> tuple[Grant, ...]:
        """Budgets that may leave now, booked; none while we do not lead."""
        picture, safety = self.picture, self.picture.safety
        if not may_publish(safety.lead, safety.leases, now_s):
            return ()
        sums = safety.sums(now_s, picture.managed, picture.hard_left_w(now_s), estimates)
        room_w = sums.room_w.copy()
        room_w[list(sums.blocked)] = -np.inf
        rises = raises_allowed(safety.lead, safety.leases, now_s) and not lower_only
        until_s = safety.lead.renewed_s + safety.leases.leader_lease_s
        return tuple(picture.regions.compose(now_s, room_w, rises, self._held(), until_s))

    def _held(self) -> frozenset[str]:
        """Regions in whose domains an operator wants nothing to rise."""
        rules, regions = self.picture.rules, self.picture.regions
        reached = [reach(rule, rules.domains) for rule in rules.holds]
        names = {borrower.id: regions.fleet.domains[borrower.row] for borrower in regions.borrowers}
        return frozenset(
            name
            for name, domain in names.items()
            if any(below is None or domain in below for below in reached)
        )


def solution_of(decision: Decision | None) -> Solution | None:
    """What the last plan was made of; None without jobs."""
    if decision is None:
        return None
    solution = decision.memory.solution
    return solution if solution is not None and solution.problem.layout.job_count else None
