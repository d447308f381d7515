"""One who wakes on a large site is answered at a glance: lowers at once, its own raise with the next look."""

import numpy as np
import pytest
from wired_site import Wired

from easyrider.messages import SetLimits
from easyrider_policy import wakes
from easyrider_policy.core import giving_way, history


@pytest.fixture
async def lent(led: Wired, monkeypatch: pytest.MonkeyPatch) -> Wired:
    """Job one on node `a` computes with what job two on node `b` lends, which waits."""
    monkeypatch.setattr(wakes, "WHOLE_BELOW", 0)
    monkeypatch.setattr(giving_way, "MOST_SHARE", 1.0)
    led.starts("one", "a")
    led.starts("two", "b")
    for box in led.boxes.values():
        box.draw_w = [690.0, 690.0]
    await led.seconds(30)
    led.boxes["b"].draw_w = [110.0, 110.0]
    await led.seconds(30)
    assert min(led.boxes["a"].limit_w) > 600.0
    assert max(led.boxes["b"].limit_w) < 300.0
    return led


def hears_b_awake(wired: Wired) -> bool:
    """A frame of node `b` between two looks; whether it cannot wait."""
    from wired_box import REGION, at

    from easyrider import subjects

    wired.boxes["b"].draw_w = [690.0, 690.0]
    wired.clock.at_s += 0.02
    frame = wired.boxes["b"].frame(wired.now_s)
    wired.desk.on_frame(frame, at(subjects.frame(REGION, "b"), wired.now_s))
    wired.loop.frames_taken(wired.now_s)
    return wired.loop.hurried


async def test_who_lent_is_lowered_before_the_next_look_and_who_wakes_rises_after_it(lent: Wired) -> None:
    before = len(lent.bus.exchange.said)
    planned_w = lent.boxes["a"].limit_w[0]
    assert hears_b_awake(lent)

    assert await lent.loop.glance(lent.now_s)

    told = lent.said(SetLimits, before)
    assert [command.node for command in told] == ["a"]
    assert told[0].limits[0].limit_w < planned_w - 50.0
    lent.boxes["b"].limit_w, low_w = list(lent.boxes["b"].limit_w), lent.boxes["b"].limit_w[0]
    await lent.seconds(2.0)
    assert lent.boxes["b"].limit_w[0] > low_w + 100.0


async def test_the_intent_is_on_the_disk_before_the_command_leaves(lent: Wired) -> None:
    hears_b_awake(lent)
    lent.log.clear()

    await lent.loop.glance(lent.now_s)

    assert lent.log == ["durable", "SetLimits"]


async def test_with_a_journal_that_takes_nothing_lowers_leave_all_the_same(lent: Wired) -> None:
    hears_b_awake(lent)
    lent.journal.broken = "no space left"
    before = len(lent.bus.exchange.said)

    await lent.loop.glance(lent.now_s)

    assert [command.node for command in lent.said(SetLimits, before)] == ["a"]
    assert lent.coordinator.lower_only


async def test_a_plan_of_everything_that_is_due_is_not_put_off_by_a_glance(lent: Wired) -> None:
    hears_b_awake(lent)

    assert not await lent.loop.glance(lent.now_s + 5.0)


async def test_what_else_waits_for_a_plan_gets_the_whole_one(lent: Wired) -> None:
    hears_b_awake(lent)
    lent.coordinator.urge("limit_drop")

    assert not await lent.loop.glance(lent.now_s)


async def test_the_plan_that_is_told_next_names_the_wake(lent: Wired) -> None:
    from easyrider.messages import Plan

    hears_b_awake(lent)
    await lent.loop.glance(lent.now_s)
    before = len(lent.bus.exchange.said)

    await lent.look()

    assert [plan.cause for plan in lent.said(Plan, before)] == ["wake"]


async def test_a_plan_of_a_large_site_is_said_with_the_look_after_it_which_follows_at_once(
    lent: Wired,
) -> None:
    lent.boxes["b"].draw_w = [690.0, 690.0]
    causes = []
    lent.loop.notes.append(lambda look: causes.append((look.cause, look.unsaid, len(look.orders.messages))))

    await lent.seconds(5)

    planned = [at for at, (cause, unsaid, _) in enumerate(causes) if cause == "tick" and unsaid]
    assert len(planned) >= 4
    assert all(causes[at][2] == 0 for at in planned)
    assert all(causes[at + 1][1] is False for at in planned if at + 1 < len(causes))
    assert lent.loop.hurried or causes[-1][0] != "tick"


async def test_a_raise_that_waits_is_noted_once_however_many_plans_are_made_meanwhile(lent: Wired) -> None:
    lent.metered = True
    await lent.seconds(5)
    lent.metered = False
    await lent.seconds(20)
    before = len(lent.journal.of("raise_waited"))
    lent.boxes["b"].draw_w = [690.0, 690.0]

    await lent.seconds(6)

    waited = [entry["gpu"] for entry in lent.journal.of("raise_waited")[before:]]
    assert waited
    assert len(waited) <= 2 * len(set(waited))


@pytest.mark.parametrize(("jobs", "plans"), [(0, (5, 11)), (1000, (14, 26))])
async def test_an_alarm_that_stands_does_not_ask_for_a_plan_of_a_large_site_five_times_a_second(
    lent: Wired, monkeypatch: pytest.MonkeyPatch, jobs: int, plans: tuple[int, int]
) -> None:
    monkeypatch.setattr(wakes, "WHOLE_BELOW", jobs)
    every = np.ones(len(lent.picture.fleet.domains), dtype=np.bool_)
    monkeypatch.setattr(history, "alarms", lambda *_: every.copy())
    await lent.seconds(1)
    causes = []
    lent.loop.notes.append(lambda look: causes.append(look.cause))

    await lent.seconds(5)

    assert plans[0] <= causes.count("emergency") <= plans[1]


async def test_a_device_that_is_pressed_is_waited_for_on_no_site(
    lent: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = np.ones(len(lent.picture.fleet.domains), dtype=np.bool_)
    monkeypatch.setattr(type(lent.picture.heat), "pressed", property(lambda _: every))
    await lent.seconds(1)
    causes = []
    lent.loop.notes.append(lambda look: causes.append(look.cause))

    await lent.seconds(5)

    assert causes.count("emergency") >= 14
