"""Intents before acts: what is on the disk when a command leaves, and what a broken disk leaves possible."""

import asyncio
import threading

import pytest
from wired_box import Box, at, mono_ns
from wired_site import Wired, rules

from easyrider import subjects
from easyrider.messages import ExitGrant, GpuAck, Hold, Leaving, LeavingGpu, LimitAck, SetLimits
from easyrider_policy.saying import Saying


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


async def test_a_node_whose_vector_may_not_leave_is_granted_without_watts(led: Wired, monkeypatch) -> None:
    led.journal.broken = "No space left on device"
    led.scribe.note({"what": "anything"})
    await led.seconds(1)
    # As with a board that nobody could read: no watts of it are surely no raise.
    monkeypatch.setattr(Saying, "_raises", lambda _self, command: isinstance(command, SetLimits))
    before = len(led.bus.exchange.said)
    await led.seconds(5)

    assert not led.said(SetLimits, before)
    assert len([hold for hold in led.said(Hold, before) if hold.node == "a"]) >= 4


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
