"""What happens plans at the next look, and is said once."""

from wired_box import at, reading
from wired_site import Wired

from easyrider import subjects
from easyrider.messages import Plan


async def test_a_job_that_starts_is_planned_for_at_the_next_look(led: Wired) -> None:
    await led.seconds(1.3)
    plans = len(led.said(Plan))

    led.starts("another", "b")
    await led.seconds(0.1)

    told = led.said(Plan)[plans:]
    assert [plan.cause for plan in told] == ["job"]


async def test_a_supply_module_that_fails_is_planned_for_at_the_next_look_and_told_once(led: Wired) -> None:
    await led.seconds(1.3)
    plans = len(led.said(Plan))

    failed = {"device": "ups", "meter": "ups-1", "domain": "ups", "modules_total": 5, "modules_ok": 4}
    for _ in range(3):
        led.desk.on_meter(reading(led.now_s, None, **failed), at(subjects.meter("r", "ups-1"), led.now_s))
        await led.seconds(0.1)

    assert led.said(Plan)[plans:][0].cause == "limit_drop"
    drop = {"domain": "ups", "share_before": 1.0, "share": 0.8}
    assert led.bus.events("limit_drop") == [drop]
    assert [line["after"] for line in led.journal.of("limit_moved")] == [0.8]


async def test_a_meter_that_falls_silent_is_planned_for_at_once_and_told_once_each_way(led: Wired) -> None:
    assert led.bus.events("meter_silent") == []
    led.metered = False
    await led.seconds(8)
    led.metered = True
    await led.seconds(3)

    assert [event["silent"] for event in led.bus.events("meter_silent")] == [True, False]
    assert "meter" in {plan.cause for plan in led.said(Plan)}


async def test_each_lead_is_told_once(led: Wired) -> None:
    await led.seconds(3)

    assert led.bus.events("leader_change") == [{"epoch": 1}]


async def test_what_cannot_be_met_is_told_once_and_its_end_too(led: Wired) -> None:
    led.picture.facility.share[:] = 0.2
    await led.seconds(4)
    led.picture.facility.share[:] = 1.0
    await led.seconds(15)

    told = [(event["domain"], event["missing_w"] > 0) for event in led.bus.events("infeasible")]
    assert told.count(("pdu", True)) == 1
    assert told.count(("pdu", False)) == 1
