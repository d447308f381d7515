"""What an operator sees of the coordinator at /metrics: watts per domain, limits moved, what waits and why."""

from collections.abc import Iterator

from easyrider import metrics
from easyrider.messages import DomainPlan, Plan
from easyrider_policy.core.commands import Orders

_LEADING = metrics.gauge("policy_leading", "1 while this instance leads")
_EPOCH = metrics.gauge("policy_epoch", "epoch of this instance's newest lead")
_CHANGED = metrics.counter("policy_limits_changed_total", "limits of boards changed", ["direction"])
_WAITING = metrics.gauge("policy_raises_waiting", "jobs and idle boards whose raise waits")
_SILENT = metrics.gauge("policy_silent_nodes", "nodes without a fresh word")
_PLAN_S = metrics.histogram(
    "policy_plan_seconds", "one look that planned", buckets=(0.002, 0.005, 0.02, 0.06, 0.2, 1)
)
_PLANS = metrics.counter("policy_plans_total", "plans made, by cause", ["cause"])

_SHOWN: dict[str, DomainPlan] = {}
"""The newest of each domain; of a large site not every plan tells of all."""


def _domain_watts() -> Iterator[tuple[tuple[str, str], float]]:
    """Asked by whoever reads metrics, in another thread: hence the copy, which is made in one go."""
    for name, domain in list(_SHOWN.items()):
        observed_w = float("nan") if domain.observed_w is None else domain.observed_w
        yield (name, "target"), domain.target_w
        yield (name, "hard"), domain.hard_limit_w
        yield (name, "counted"), domain.counted_w
        yield (name, "missing"), domain.missing_w
        yield (name, "observed"), observed_w


metrics.looked_up(
    "policy_domain_watts",
    "wall watts of a domain: observed, target, hard, counted, missing",
    ["domain", "what"],
    _domain_watts,
)


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
    _SHOWN.update((domain.domain, domain) for domain in plan.domains)
