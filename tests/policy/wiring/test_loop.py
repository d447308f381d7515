"""The loop over a bus and a store in memory: what leaves, when, and what is on the disk before."""

import asyncio

import msgspec
import pytest
from wired_site import Box, Wired, at, mono_ns, reading, rules

from easyrider import subjects
from easyrider.messages import ExitGrant, GpuAck, Hold, Leaving, LeavingGpu, LimitAck, Plan, SetLimits
from easyrider_policy import loop, telling
from easyrider_policy.loop import save_state


@pytest.fixture
async def led() -> Wired:
    """A coordinator that leads, past the time in which nothing may rise; both boxes hold its limits."""
    wired = Wired()
    wired.metered = True
    await wired.seconds(2)
    for name in "ab":
        wired.starts(f"job-{name}", name)
    await wired.seconds(12)
    assert wired.picture.safety.lead.phase == "leading"
    return wired


def limits(command: SetLimits) -> list[float | None]:
    return [limit.limit_w for limit in command.limits]


def leave(wired: Wired, node: str, baseline_w: float) -> None:
    """A node that stops asks for its baseline."""
    leaving = Leaving(
        tree="site", region="r", node=node, boot_id="boot-1", nonce=int(wired.now_s * 10), reason="stop",
        gpus=tuple(LeavingGpu(uuid=f"{node}{i}", baseline_w=baseline_w) for i in (0, 1)),
        t_ns=0, mono_ns=mono_ns(wired.now_s),
    )  # fmt: skip
    wired.desk.on_state(leaving, at(subjects.state("r", node), wired.now_s))


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


async def test_an_intent_is_on_the_disk_before_its_command_leaves(led: Wired) -> None:
    limits_were = [*led.boxes["a"].limit_w]
    led.log.clear()

    led.boxes["a"].draw_w = [300.0, 300.0]
    led.coordinator.supply_moved("pdu", 1.0, 0.7)
    led.picture.facility.share[:] = 0.7
    await led.seconds(0.2)

    assert led.boxes["a"].limit_w < limits_were
    assert led.log.index("durable") < led.log.index("SetLimits")
    intent = led.journal.of("intent")[-1]
    assert set(intent["limits_w"]) in ({"a0", "a1"}, {"b0", "b1"})


async def test_a_grant_that_changes_nothing_is_no_intent_and_its_ack_no_line(led: Wired) -> None:
    await led.seconds(30)
    intents, acks = len(led.journal.of("intent")), len(led.journal.of("ack"))
    granted = len(led.said(SetLimits))

    await led.seconds(5)

    assert len(led.said(SetLimits)) >= granted + 10
    assert len(led.journal.of("intent")) == intents
    assert len(led.journal.of("ack")) == acks


async def test_every_ack_of_an_intent_is_a_line(led: Wired) -> None:
    intents = {(line["node"], line["epoch"], line["seq"]) for line in led.journal.of("intent")}
    acks = {
        (line["node"], line["epoch"], line["seq"])
        for line in led.journal.of("ack")
        if line["answers"] == "set_limits"
    }

    assert intents
    assert acks == intents


async def test_with_a_broken_journal_limits_fall_and_grants_go_on_but_nothing_rises(led: Wired) -> None:
    led.journal.broken = "No space left on device"
    led.picture.facility.share[:] = 0.7
    await led.seconds(3)
    low = {name: [*box.limit_w] for name, box in led.boxes.items()}
    assert sum(map(sum, low.values())) < 1600.0, "a lowering does not wait for the disk"
    assert not led.scribe.whole

    led.picture.facility.share[:] = 1.0
    before = len(led.bus.exchange.said)
    await led.seconds(15)

    assert {name: box.limit_w for name, box in led.boxes.items()} == low
    granted = [command.node for command in led.said(SetLimits, before)]
    assert min(granted.count("a"), granted.count("b")) >= 15, "or the dead-man would act"


async def test_once_the_journal_is_back_what_was_meant_is_on_it_and_limits_rise(led: Wired) -> None:
    intents = len(led.journal.of("intent"))
    led.journal.broken = "No space left on device"
    led.picture.facility.share[:] = 0.7
    await led.seconds(3)
    low_w = sum(sum(box.limit_w) for box in led.boxes.values())

    led.journal.broken = ""
    led.picture.facility.share[:] = 1.0
    await led.seconds(30)

    assert led.scribe.whole
    assert led.journal.of("journal_back")
    assert sum(sum(box.limit_w) for box in led.boxes.values()) > low_w + 100.0
    assert len(led.journal.of("intent")) > intents + 1


async def test_a_raise_that_was_lost_is_not_said_again_while_the_journal_is_broken(led: Wired) -> None:
    led.picture.facility.share[:] = 0.7
    await led.seconds(5)
    low = [*led.boxes["a"].limit_w]
    led.boxes["a"].deaf = True  # hears nothing, acks nothing
    led.picture.facility.share[:] = 1.0
    await led.seconds(3)
    led.journal.broken = "Input/output error"
    led.scribe.note({"what": "anything"})
    await led.seconds(1)
    led.boxes["a"].deaf = False
    before = len(led.bus.exchange.said)
    await led.seconds(5)

    said = [limits(command) for command in led.said(SetLimits, before) if command.node == "a"]
    assert len(said) >= 4, "grants go on"
    assert all(watts <= low[0] + 1e-6 for vector in said for watts in vector)


async def test_with_a_broken_journal_no_node_is_let_go_to_its_baseline(led: Wired) -> None:
    led.picture.facility.share[:] = 1.0
    led.boxes["b"].draw_w = [100.0, 100.0]
    led.journal.broken = "No space left on device"
    await led.seconds(1)

    for _ in range(8):
        await led.seconds(0.2)
        leave(led, "b", 300.0)

    assert not led.said(ExitGrant)


async def test_leave_to_restore_is_an_intent_on_the_disk_before_it_is_granted(led: Wired) -> None:
    led.boxes["b"].limit_w = [300.0, 300.0]
    led.picture.facility.share[:] = 0.7
    await led.seconds(3)
    led.picture.facility.share[:] = 1.0
    led.log.clear()

    for _ in range(10):
        leave(led, "b", 300.0)
        await led.seconds(0.1)

    (granted, *_) = led.said(ExitGrant)
    (intent, *_) = [line for line in led.journal.of("intent") if "restores" in line]
    assert (intent["node"], intent["seq"], intent["restores"]) == ("b", granted.seq, "all")
    assert "durable" in led.log[: led.log.index("ExitGrant")]


async def test_a_disk_that_does_not_answer_delays_no_grant(
    led: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    answers = threading.Event()
    monkeypatch.setattr(led.journal, "_write", lambda entries, durable: answers.wait(30))
    led.scribe.note({"what": "anything"})
    before, began = len(led.bus.exchange.said), asyncio.get_running_loop().time()

    await led.seconds(3)

    took_s = asyncio.get_running_loop().time() - began
    assert not led.scribe.whole
    assert led.coordinator.lower_only
    assert len(led.said(SetLimits, before)) >= 6
    assert took_s < 3.0
    answers.set()


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


async def test_the_first_vector_of_a_fallback_is_an_intent_even_where_no_limit_moves() -> None:
    wired = Wired(rules(pdu_w=6000.0))
    wired.metered = True
    for box in wired.boxes.values():
        box.limit_w = [200.0, 200.0]  # where an idle board is wanted anyway

    await wired.seconds(12)

    assert all(box.fallback_w == 250.0 for box in wired.boxes.values())
    assert {line["node"] for line in wired.journal.of("intent")} == {"a", "b"}


async def test_a_refusal_is_a_line_with_its_reason(led: Wired) -> None:
    ack = Box("a").take(led.said(SetLimits)[-1], led.now_s)
    refused = LimitAck(
        **{**{name: getattr(ack, name) for name in ack.__struct_fields__}, "accepted": False,
           "refused": "stale_nonce", "gpus": (GpuAck(uuid="a0", requested_w=None, enforced_w=None),)}
    )  # fmt: skip

    led.desk.on_ack(refused, at(subjects.ack("r", "a"), led.now_s))
    await led.seconds(0.1)

    assert led.journal.of("refusal")[-1]["refused"] == "stale_nonce"
