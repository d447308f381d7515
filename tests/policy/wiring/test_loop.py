"""The loop over a bus and a store in memory: what leaves, and when."""

import msgspec
import pytest
from structlog.testing import capture_logs
from wired_site import Wired, rules

from easyrider.life import Life
from easyrider.messages import Hold, Plan, SetLimits
from easyrider_policy import loop, telling
from easyrider_policy.keeping import save_state


async def test_boxes_are_held_first_then_limited_within_the_hard_limit(led: Wired) -> None:
    first = [type(command) for command in led.said(Hold)[:1] + led.said(SetLimits)[:1]]

    assert first == [Hold, SetLimits]
    assert sum(sum(box.limit_w) + 100.0 for box in led.boxes.values()) <= 2400.0 + 1e-6
    assert all(box.fallback_w == 250.0 for box in led.boxes.values())


async def test_the_plan_is_told_with_what_was_observed_and_counted(led: Wired) -> None:
    plan = led.said(Plan)[-1]

    pdu = {domain.domain: domain for domain in plan.domains}["pdu"]
    assert plan.leading
    assert plan.epoch == 1
    assert plan.tree_version == 1
    assert pdu.closed
    assert pdu.counted_w <= pdu.hard_limit_w
    assert {told.job for told in plan.jobs} == {"job-a", "job-b"}
    assert len(led.journal.of("verified")) == 1


async def test_every_box_gets_a_grant_each_second(led: Wired) -> None:
    before = len(led.bus.exchange.said)

    await led.seconds(5)

    granted = [command.node for command in led.said(SetLimits, before)]
    assert granted.count("a") >= 5
    assert granted.count("b") >= 5


async def test_a_command_does_not_leave_after_the_lease_has_run_out_during_the_look(led: Wired) -> None:
    led.clock.slips_s = 6.0  # each look at the clock finds that much gone: a process that was frozen
    before = len(led.bus.exchange.said)

    await led.loop.once(led.clock.at_s + 1.0)

    led.clock.slips_s = 0.0
    assert not led.said(SetLimits, before)


async def test_a_bus_that_is_down_ends_nothing_and_afterwards_grants_go_on(led: Wired) -> None:
    led.bus.connected = False
    await led.seconds(3)
    led.bus.connected = True
    before = len(led.bus.exchange.said)

    await led.seconds(2)

    assert len(led.said(SetLimits, before)) >= 4


async def test_a_plan_that_cannot_be_told_does_not_end_the_control(
    led: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absurd(*args: object, **kw: object) -> Plan:
        plan = telling.tell(*args, **kw)
        domains = tuple(msgspec.structs.replace(domain, price=float("inf")) for domain in plan.domains)
        return msgspec.structs.replace(plan, domains=domains)

    monkeypatch.setattr(loop, "tell", absurd)
    before, plans = len(led.bus.exchange.said), len(led.said(Plan))

    await led.seconds(2)

    assert len(led.said(Plan)) == plans
    assert len(led.said(SetLimits, before)) >= 4


async def test_a_standby_tells_no_plan_and_leaves_the_leaders_state_in_the_store() -> None:
    wired = Wired(owner="standby")
    await wired.store.take_lead("site", "r", "leader", 0, 1e6)
    await wired.store.save_state("site", "r", {"plan": b"the leader's"})

    await wired.seconds(5)
    await save_state(wired.loop, wired.store, "site", "r")

    assert wired.coordinator.decision is not None
    assert not wired.said(Plan)
    assert not wired.said(Hold)
    assert await wired.store.load_state("site", "r") == {"plan": b"the leader's"}


async def test_a_leaders_plan_is_in_the_store_and_a_silent_store_is_no_matter(led: Wired) -> None:
    led.store.silent = "gone"
    await save_state(led.loop, led.store, "site", "r")
    led.store.silent = ""
    await save_state(led.loop, led.store, "site", "r")

    assert "plan" in await led.store.load_state("site", "r")


async def test_boards_that_appear_one_node_after_the_other_keep_limits_and_lead() -> None:
    wired = Wired()
    wired.boxes["b"].dumb = True
    await wired.seconds(12)
    assert wired.boxes["a"].fallback_w == 250.0
    epoch, held = wired.picture.safety.lead.epoch, [*wired.boxes["a"].limit_w]

    wired.boxes["b"].dumb = False
    await wired.seconds(12)

    assert wired.picture.safety.lead.epoch == epoch
    assert wired.boxes["a"].limit_w == held
    assert wired.boxes["b"].fallback_w == 250.0


async def test_a_node_never_heard_counts_its_declared_maximum() -> None:
    wired = Wired()
    wired.boxes["b"].dumb = True
    await wired.seconds(12)
    wired.starts("job-a", "a")

    await wired.seconds(20)

    plan = wired.said(Plan)[-1]
    pdu = {domain.domain: domain for domain in plan.domains}["pdu"]
    assert pdu.counted_w >= 2 * 700.0 + 200.0
    assert plan.silent_nodes == ("b",)
    assert sum(wired.boxes["a"].limit_w) <= 2400.0 - 1400.0 - 200.0 + 1e-6


async def test_in_observe_boxes_are_held_and_never_written() -> None:
    wired = Wired(rules(mode="observe"))
    await wired.seconds(3)
    wired.starts()

    await wired.seconds(20)

    assert not wired.said(SetLimits)
    assert wired.boxes["a"].limit_w == [700.0, 700.0]


async def test_a_new_coordinator_moves_nothing_and_takes_the_next_epoch(led: Wired) -> None:
    await led.seconds(20)
    held = {name: [*box.limit_w] for name, box in led.boxes.items()}
    successor = Wired(now_s=led.now_s + 10.0, owner="other")
    successor.store, successor.boxes, successor.metered = led.store, led.boxes, True
    successor.leadership._store = led.store
    led.store._now_s = lambda: successor.clock.at_s

    await successor.seconds(4)

    assert successor.picture.safety.lead.epoch == 2
    assert {name: box.limit_w for name, box in led.boxes.items()} == held


async def test_where_no_node_has_been_heard_the_log_says_why_no_plan_is_made_and_not_at_every_look() -> None:
    wired = Wired()

    with capture_logs() as lines:
        for tick in range(120):
            await wired.loop.once(1000.0 + tick / 10)

    said = [line for line in lines if line["event"].startswith("no plan is made: no node")]
    assert len(said) == 1
    assert said[0]["nodes"] == ["a", "b"]


async def test_what_has_never_been_heard_has_no_age() -> None:
    wired, life = Wired(), Life("test")
    life.watch("states", lambda: 1000.0 - wired.desk.states_s, 3.0)
    life.watch("frames", lambda: 1000.0 - wired.desk.frames_s, 3.0)
    life.watch("loop", lambda: 1000.0 - wired.loop.looked_s, 3.0)

    ready, checks = life.readiness()

    assert not ready
    assert {checks[name]["age_s"] for name in ("states", "frames", "loop")} == {None}


async def test_a_large_site_is_told_of_its_plans_less_often_and_commanded_all_the_same(
    led: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "TELL_PER_BOARD_S", 0.5)  # four boards: as forty thousand would make it
    since = len(led.bus.exchange.said)

    await led.seconds(6)

    assert 2 <= len(led.said(Plan, since)) <= 4
    assert len(led.said(SetLimits, since)) >= 10  # two nodes, granted every second


async def test_a_large_site_is_told_beside_the_looks_that_plan_and_of_all_that_moved_since(
    led: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "TELL_PER_BOARD_S", 0.5)
    looks: list[tuple[str | None, int]] = []
    led.loop.notes.append(lambda look: looks.append((look.cause, look.orders.lowers)))
    since, told_after = len(led.bus.exchange.said), []

    for at in range(60):
        if at == 30:
            led.picture.accept(rules(version=2, pdu_w=1800.0))
        before = len(led.said(Plan, since))
        await led.look()
        if len(led.said(Plan, since)) > before:
            told_after.append(len(looks))

    assert told_after
    assert all(looks[at - 1][0] is None for at in told_after)
    first, last = told_after[0], told_after[-1]
    lowered = sum(plan.lowers for plan in led.said(Plan, since)[1:])
    assert lowered == sum(low for _, low in looks[first:last]) > 0
