"""What stands at /metrics."""

from prometheus_client import REGISTRY
from wired_site import Wired


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
