"""Holds and load targets of the rules, from their version to what nodes are told, plans say and events tell."""

import json
from dataclasses import replace
from typing import Any

import pytest
from wired_box import REGION
from wired_site import Wired, rules

from easyrider import subjects
from easyrider.messages import Plan, SetLimits
from easyrider.moments import rfc_3339
from easyrider.tree import HoldRule, LoadTarget, ModeRule

RED = HoldRule(id="red", reason="a smell of burning", by="ann")
NOON_S = 1_800_000_000.0


def version(wired: Wired, number: int, **changed: Any) -> None:
    wired.picture.accept(replace(wired.picture.rules, version=number, **changed))


def events(wired: Wired, kind: str) -> list[dict[str, Any]]:
    where = subjects.event(kind, REGION)
    return [json.loads(body)["data"] for subject, body in wired.bus.exchange.said if subject == where]


def limits_w(wired: Wired) -> list[float]:
    return [watts for box in wired.boxes.values() for watts in box.limit_w]


async def wakes(wired: Wired) -> None:
    """Both jobs have drawn little; now they want all they can get."""
    for box in wired.boxes.values():
        box.draw_w = [700.0, 700.0]


@pytest.fixture
async def low(led: Wired) -> Wired:
    """Limits have come down with a target that has gone up again since: without a hold they would rise."""
    version(
        led, 2, domains=(led.picture.rules.domains[0], replace(led.picture.rules.domains[1], target_w=1600.0))
    )
    await led.seconds(15)
    version(
        led,
        3,
        holds=(RED,),
        domains=(led.picture.rules.domains[0], replace(led.picture.rules.domains[1], target_w=2280.0)),
    )
    await wakes(led)
    return led


async def test_what_would_rise_stays_while_a_hold_is_in_force_and_rises_once_it_is_cleared(
    low: Wired,
) -> None:
    await low.seconds(0.3)
    held_w = limits_w(low)
    await low.seconds(20)
    assert limits_w(low) == held_w

    version(low, 4, holds=())
    await low.seconds(20)

    assert sum(limits_w(low)) > sum(held_w) + 100


async def test_the_plan_names_the_hold_and_an_event_tells_its_beginning_and_its_end(low: Wired) -> None:
    await low.seconds(3)
    plan = low.said(Plan)[-1]
    version(low, 4, holds=())
    await low.seconds(3)

    assert plan.holds == ("red",)
    assert {job.reason for job in plan.jobs} == {"hold:red"}
    told = events(low, "hold")
    assert [(e["id"], e["held"], e["by"]) for e in told] == [("red", True, "ann"), ("red", False, "ann")]
    assert low.said(Plan)[-1].holds == ()


async def test_a_hold_in_other_domains_holds_nothing_here(low: Wired) -> None:
    before_w = sum(limits_w(low))
    version(low, 4, holds=(replace(RED, domains=("elsewhere",)),))
    await low.seconds(20)

    assert sum(limits_w(low)) > before_w + 100


async def test_lowers_go_on_and_grants_too(low: Wired) -> None:
    await low.seconds(1)
    before_w, said = sum(limits_w(low)), len(low.bus.exchange.said)
    domains = low.picture.rules.domains
    version(low, 4, domains=(domains[0], replace(domains[1], target_w=1300.0)))
    await low.seconds(15)

    assert sum(limits_w(low)) < before_w - 100
    for name in "ab":
        assert len([m for m in low.said(SetLimits, said) if m.node == name]) >= 14


async def test_a_job_that_sleeps_under_a_hold_lends_nothing_since_it_could_not_get_it_back(
    led: Wired,
) -> None:
    version(led, 2, holds=(RED,))
    await led.seconds(2)
    held_w = led.boxes["a"].limit_w[:]
    led.boxes["a"].draw_w = [90.0, 90.0]
    await led.seconds(12)

    assert led.boxes["a"].limit_w == held_w


async def test_a_node_whose_guardian_holds_is_asked_for_no_raise_until_it_is_cleared(low: Wired) -> None:
    version(low, 4, holds=())
    box = low.boxes["a"]
    whole = box.state
    box.state = lambda now_s, **other: whole(now_s, held=True, **other)  # type: ignore[method-assign]
    await low.seconds(1.5)
    held_w = box.limit_w[:]
    await low.seconds(15)
    assert box.limit_w == held_w
    assert "a" in low.said(Plan)[-1].holds
    box.state = whole  # type: ignore[method-assign]
    await low.seconds(15)

    assert sum(box.limit_w) > sum(held_w)


async def test_newer_holds_alone_forget_nothing_of_what_was_asked(led: Wired) -> None:
    fleet, commands = led.picture.fleet, led.picture.safety.commands

    version(led, 2, holds=(RED,))
    await led.seconds(0.2)

    assert led.picture.fleet is fleet
    assert led.picture.safety.commands is commands
    assert led.picture.safety.holds.boards.all()


async def test_a_hold_is_kept_over_boards_that_come_and_modes_that_change(led: Wired) -> None:
    version(led, 2, holds=(RED,))
    await led.seconds(0.2)
    version(led, 3, modes=(ModeRule(selector={"node": ("*",)}, mode="pilot"),))
    await led.seconds(0.2)

    assert led.picture.safety.holds.boards.all()


async def test_a_load_target_is_kept_from_its_beginning_to_its_end_and_told(led: Wired) -> None:
    begin_s = led.now_s
    led.clock.unix_s = lambda: NOON_S - 90.0 + led.now_s - begin_s  # type: ignore[method-assign]
    wish = LoadTarget(
        id="evening",
        domain="pdu",
        begins=rfc_3339(NOON_S),
        ends=rfc_3339(NOON_S + 40.0),
        target_w=1500.0,
        reason="grid",
        by="ann",
    )
    version(led, 2, targets=(wish,))

    await led.seconds(92)
    begun = led.said(Plan)[-1]
    await led.seconds(20)
    kept = led.said(Plan)[-1]
    drawn_w = led.wall_w()
    await led.seconds(20)

    (target,) = begun.targets
    assert (target.phase, target.short_w, target.missing_w) == ("holds", 0.0, 0.0)
    assert {job.reason for job in begun.jobs} == {"load_target:evening"}
    pdu = next(domain for domain in kept.domains if domain.domain == "pdu")
    assert pdu.target_w == 1500.0
    assert kept.targets[0].kept_ratio == 1.0
    assert drawn_w <= 1500.0
    told = events(led, "target")
    assert [(e["change"], e["id"], e["reason"]) for e in told] == [
        ("begins", "evening", "grid"),
        ("ends", "evening", "grid"),
    ]
    assert led.said(Plan)[-1].targets == ()


async def test_a_load_target_below_every_minimum_is_told_as_a_shortfall_with_its_watts(led: Wired) -> None:
    led.clock.unix_s = lambda: NOON_S + 5.0  # type: ignore[method-assign]
    wish = LoadTarget(
        id="evening", domain="pdu", begins=rfc_3339(NOON_S), ends=rfc_3339(NOON_S + 600), target_w=700.0
    )
    version(led, 2, targets=(wish,))
    await led.seconds(15)

    target = led.said(Plan)[-1].targets[0]
    assert target.missing_w > 200.0
    assert target.short_w > 200.0
    assert [e["change"] for e in events(led, "target")] == ["begins", "short"]


async def test_who_takes_the_lead_with_rules_that_hold_raises_nothing() -> None:
    heir = Wired(replace(rules(5), holds=(RED,)))
    heir.metered = True
    for box in heir.boxes.values():
        box.limit_w, box.fallback_w, box.draw_w = [300.0, 300.0], 250.0, [700.0, 700.0]
    await heir.seconds(2)
    for name in "ab":
        heir.starts(f"job-{name}", name, change="running")
    await heir.seconds(20)
    held_w = limits_w(heir)
    version(heir, 6, holds=())
    await heir.seconds(15)

    assert held_w == [300.0] * 4
    assert sum(limits_w(heir)) > 1300.0
