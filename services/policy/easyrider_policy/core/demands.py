"""What a region tells its parent: what is drawn, what could be, what it cannot go below, what more is worth."""

import numpy as np

from easyrider_policy.core.counting import Sums
from easyrider_policy.core.demand_curve import own_claims, whole_curve
from easyrider_policy.core.fleet import Fleet, Floats
from easyrider_policy.core.region_shares import share, thinned
from easyrider_policy.core.regions import Regions
from easyrider_policy.core.situation import Situation
from easyrider_policy.core.solution import Solution


def counted_w(sums: Sums, fleet: Fleet, root: int, regions: Regions, now_s: float) -> float | None:
    """All that could be drawn on the domain now; None where boards are of unknown kind and number."""
    if fleet.unknown.any():
        return None
    return max(0.0, float(sums.counted_w[root] + regions.could_w(now_s)[root]))


def floor_w(
    situation: Situation | None, sums: Sums, fleet: Fleet, overshoot: Floats, root: int, regions: Regions
) -> float | None:
    """What stays countable when everything that can be lowered is: boards at the higher of minimum and fallback.

    None, which is not zero, where boards are of unknown kind and number, before the first plan with them
    (`situation` None), and where a region below has not told its own.
    """
    below_w = [account.floor_w for account in regions.lending.accounts.values()]
    if fleet.unknown.any() or None in below_w or (situation is None and fleet.gpus):
        return None
    lent_w = sum(
        max(0.0, max(account.owed_w, floor_w or 0.0) - b.guaranteed_w) * float(regions.carried[b.id][root])
        for account, floor_w, b in zip(
            regions.lending.accounts.values(), below_w, regions.borrowers, strict=True
        )
    )
    if situation is None:
        return float(sums.counted_w[root]) + lent_w
    least_w = np.maximum(fleet.min_w, fleet.fallback_w[fleet.gpu_node]) * overshoot
    board_w = np.where(situation.steered, np.minimum(least_w, situation.counted_w), situation.counted_w)
    standing_w = fleet.worst_fixed_w + situation.unmanaged_hard_w + fleet.margin_w
    return float((fleet.worst_wall_w(board_w) + standing_w)[root]) + lent_w


def curve(
    room: tuple[Floats, Floats],
    whole_w: float,
    root: int,
    solution: Solution | None,
    regions: Regions,
    now_s: float,
) -> tuple[Floats, Floats]:
    """Points of (watts, worth) as if the region's own domain had no limit. `room`: (D,) target and hard watts for
    jobs and regions below; `whole_w`: the domain's target that `room` was made from."""
    standing_w = whole_w - float(room[0][root])
    if not regions.any and solution is not None and (solution.problem.boards > 0).any():
        watts, value = whole_curve(solution, root)
        return np.maximum(0.0, standing_w + watts), value
    claims = [*regions.claims(now_s), *([] if solution is None else own_claims(solution))]
    if not claims:  # nobody wants more than what stands there
        return np.array([max(0.0, standing_w)]), np.zeros(1)
    budget_w = np.minimum(*room)
    budget_w[root] = np.inf
    shares = share(claims, budget_w)
    begin_w = standing_w + float(sum(claim.floor_w * claim.carried[root] for claim in claims))
    return thinned(np.maximum(0.0, begin_w + shares.path_w), shares.path_value)


def nothing() -> tuple[Floats, Floats]:
    """A curve without points: nothing is known of what watts are worth here."""
    return np.zeros(0), np.zeros(0)
