"""What stands at /metrics."""

import math

import msgspec
from prometheus_client import REGISTRY
from wired_site import Wired

from easyrider import metrics
from easyrider.messages import Plan
from easyrider_policy import gauges


def shown(name: str, **labels: str) -> float:
    value = REGISTRY.get_sample_value(f"easyrider_policy_{name}", labels)
    assert value is not None, name
    return value


async def test_an_operator_sees_each_domains_watts_and_what_was_moved() -> None:
    wired = Wired()
    wired.metered = True
    moved = (
        [shown("limits_changed_total", direction=way) for way in ("down", "up")] if _known() else [0.0, 0.0]
    )
    wired.starts("job-a", "a")

    await wired.seconds(12)

    assert shown("leading") == 1.0
    assert shown("domain_watts", domain="pdu", what="hard") == 2400.0
    assert shown("domain_watts", domain="pdu", what="target") == 2280.0
    assert 200.0 < shown("domain_watts", domain="pdu", what="observed") <= 2400.0
    assert shown("domain_watts", domain="pdu", what="counted") <= 2400.0 + 1e-6
    assert shown("limits_changed_total", direction="down") > moved[0]
    assert shown("limits_changed_total", direction="up") > moved[1]
    assert shown("silent_nodes") == 0.0
    assert shown("journal_whole") == 1.0


def _known() -> bool:
    return (
        REGISTRY.get_sample_value("easyrider_policy_limits_changed_total", {"direction": "down"}) is not None
    )


async def test_a_domain_that_a_plan_leaves_out_stays_and_one_that_nobody_observes_shows_no_old_value(
    led: Wired,
) -> None:
    plan = led.said(Plan)[-1]
    (pdu,) = [domain for domain in plan.domains if domain.domain == "pdu"]
    away = msgspec.structs.replace(pdu, domain="left-out", target_w=123.0)

    gauges.show_plan(msgspec.structs.replace(plan, domains=(away, pdu)))
    gauges.show_plan(msgspec.structs.replace(plan, domains=(msgspec.structs.replace(pdu, observed_w=None),)))

    assert shown("domain_watts", domain="left-out", what="target") == 123.0
    assert math.isnan(shown("domain_watts", domain="pdu", what="observed"))
    assert b'easyrider_policy_domain_watts{domain="pdu",what="hard"} 2400.0' in metrics.text()
