"""Demand windows told in the plan: each running interval, and whether holding its mean pays."""

from easyrider.messages.plans import DemandPlan
from easyrider_policy.core.billing import Standing
from easyrider_policy.picture import Picture


def demand_plans(picture: Picture) -> tuple[DemandPlan, ...]:
    """Every window of the scope."""
    return tuple(_told(one, picture.billing.unix_s) for one in picture.billing.every)


def _told(one: Standing, unix_s: float) -> DemandPlan:
    aim, close_w = one.aim, one.close_w
    return DemandPlan(
        id=one.window.id,
        domain=one.window.domain,
        left_s=one.left_s,
        mean_w=None if close_w is None else max(0.0, close_w),
        billed_w=one.billed_w(unix_s),
        aim_w=None if aim is None else max(0.0, aim.aim_w),
        ceiling_w=None if aim is None else max(0.0, aim.ceiling_w),
        saved_value=0.0 if aim is None else aim.saves,
        cost_value=0.0 if aim is None else aim.costs,
        lost_value=one.cost,
        currency=one.tariff.currency,
        why=one.why,
    )
