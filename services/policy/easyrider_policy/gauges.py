"""What an operator sees of the coordinator at /metrics: watts per domain, limits moved, what waits and why."""

from typing import Any

from easyrider import metrics
from easyrider.messages import Plan
from easyrider_policy.core.commands import Orders

_LEADING = metrics.gauge("policy_leading", "1 while this instance leads")
_EPOCH = metrics.gauge("policy_epoch", "epoch of this instance's newest lead")
_DOMAIN_W = metrics.gauge(
    "policy_domain_watts",
    "wall watts of a domain: observed, target, hard, counted, missing",
    ["domain", "what"],
)
_CHANGED = metrics.counter("policy_limits_changed_total", "limits of boards changed", ["direction"])
_WAITING = metrics.gauge("policy_raises_waiting", "jobs and idle boards whose raise waits")
_SILENT = metrics.gauge("policy_silent_nodes", "nodes without a fresh word")
_PLAN_S = metrics.histogram(
    "policy_plan_seconds", "one look that planned", buckets=(0.002, 0.005, 0.02, 0.06, 0.2, 1)
)
_PLANS = metrics.counter("policy_plans_total", "plans made, by cause", ["cause"])

_WATTS = ("target", "hard", "counted", "missing", "observed")
_SHOWN: dict[str, tuple[tuple[Any, ...], list[float | None]]] = {}


def show_lead(leading: bool, epoch: int) -> None:
    """Who leads."""
    _LEADING.set(leading)
    _EPOCH.set(max(epoch, 0))


def show_orders(orders: Orders) -> None:
    """What one look moved."""
    _CHANGED.labels("down").inc(orders.lowers)
    _CHANGED.labels("up").inc(orders.raises)


def show_plan(plan: Plan) -> None:
    """What one plan found; a domain that is not observed shows no old value."""
    _PLANS.labels(plan.cause).inc()
    _PLAN_S.observe(plan.plan_ms / 1e3)
    _WAITING.set(plan.raises_waiting)
    _SILENT.set(len(plan.silent_nodes))
    for domain in plan.domains:
        observed_w = float("nan") if domain.observed_w is None else domain.observed_w
        watts = (domain.target_w, domain.hard_limit_w, domain.counted_w, domain.missing_w, observed_w)
        shown = _SHOWN.get(domain.domain)
        if shown is None:
            gauges = tuple(_DOMAIN_W.labels(domain.domain, what) for what in _WATTS)
            shown = _SHOWN[domain.domain] = (gauges, [None] * len(gauges))
        gauges, before = shown
        for at, value in enumerate(watts):
            if before[at] != value:  # most watts of a large site stand still
                gauges[at].set(value)
                before[at] = value
