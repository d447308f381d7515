"""A word whose clock runs far ahead is left aside: it may not outlast every answer, nor make others look old."""

import msgspec
import pytest
from wired_box import REGION, at, mono_ns
from wired_frames import COUNTED
from wired_site import Wired

from easyrider import subjects, wire
from easyrider.bus_port import Arrival
from easyrider.errors import MalformedMessage
from easyrider.messages import NodeFrame, NodeState, SetLimits
from easyrider_policy.intake import Intake
from easyrider_policy.words import Words

FAR_NS = 2**62
STAMPS = [FAR_NS, mono_ns(1000.0) + 3600 * 10**9]


async def running() -> Wired:
    """Boards are under limits that their nodes acked."""
    wired = Wired()
    for box in wired.boxes.values():
        box.seq = COUNTED
    await wired.seconds(8)
    return wired


def count_w(wired: Wired) -> list[float]:
    return wired.picture.safety.ledger.counted_w(wired.now_s)[:2].tolist()


def say_frame(way: str, wired: Wired, intake: Intake, frame: NodeFrame) -> None:
    where = at(subjects.frame(REGION, "a"), wired.now_s)
    if way == "desk":
        wired.desk.on_frame(frame, where)
        return
    if way == "decoded":
        intake._moulds = type(intake._moulds)()
    intake._waiting.append((where.subject.encode(), wire.encode(frame), where.mono_ns))
    intake.take(wired.now_s)


@pytest.mark.parametrize("stamp_ns", STAMPS)
@pytest.mark.parametrize("way", ["desk", "decoded", "mould"])
async def test_one_frame_with_a_clock_far_ahead_pins_no_count(way: str, stamp_ns: int) -> None:
    wired = await running()
    box, intake, before_w = wired.boxes["a"], Intake(wired.desk, lambda _: None), count_w(wired)
    say_frame("decoded", wired, intake, box.frame(wired.now_s))
    held_w, box.limit_w = box.limit_w, [690.0, 690.0]
    say_frame(way, wired, intake, box.frame(wired.now_s, mono_ns=stamp_ns))
    box.limit_w = held_w
    await wired.seconds(2)

    assert max(count_w(wired)) <= max(before_w) + 1.0
    assert wired.now_s - wired.picture.frames_s["a"] < 0.2, "frames look as old as they are"


@pytest.mark.parametrize("stamp_ns", STAMPS)
@pytest.mark.parametrize("together", [False, True])
async def test_one_state_with_a_clock_far_ahead_pins_no_count(together: bool, stamp_ns: int) -> None:
    wired = await running()
    box, before_w, words = wired.boxes["a"], count_w(wired), Words(wired.desk)
    where = at(subjects.state(REGION, "a"), wired.now_s)
    odd: NodeState = msgspec.structs.replace(box.state(wired.now_s), mono_ns=stamp_ns)
    for state in (box.state(wired.now_s), odd):
        if together:
            words._waiting.append((where.subject.encode(), msgspec.msgpack.encode(state), where.mono_ns))
            words.take()
        else:
            wired.desk.on_state(state, where)
    await wired.seconds(2)

    assert wired.picture.safety.ledger.seen.high_ns[:2].max() <= mono_ns(wired.now_s)
    assert max(count_w(wired)) <= max(before_w) + 1.0


async def test_an_ack_with_a_clock_far_ahead_does_not_hide_what_frames_show_after_it() -> None:
    wired = await running()
    box, where = wired.boxes["a"], at(subjects.ack(REGION, "a"), wired.now_s)
    command = wired.said(SetLimits)[-1]
    key = box.key[0], box.key[1] + 1
    ack = msgspec.structs.replace(box.take(command, wired.now_s), accepted=True, refused=None)
    ack = msgspec.structs.replace(ack, epoch=key[0], seq=key[1], mono_ns=FAR_NS)
    before_w = count_w(wired)
    wired.desk.on_ack(ack, where)

    assert count_w(wired) == before_w

    box.limit_w = [690.0, 690.0]
    wired.clock.at_s += 0.1
    wired.desk.on_frame(box.frame(wired.now_s), at(subjects.frame(REGION, "a"), wired.now_s))

    assert min(count_w(wired)) >= 690.0


@pytest.mark.parametrize("way", ["desk", "decoded", "mould"])
async def test_a_clock_that_jumped_for_good_is_believed_within_seconds(way: str) -> None:
    wired = await running()
    box, intake = wired.boxes["a"], Intake(wired.desk, lambda _: None)
    say_frame("decoded", wired, intake, box.frame(wired.now_s))
    box.limit_w = [690.0, 690.0]
    for _ in range(40):
        wired.clock.at_s += 0.1
        stamp_ns = mono_ns(wired.now_s) + 60 * 10**9
        say_frame(way, wired, intake, box.frame(wired.now_s, mono_ns=stamp_ns))

    assert min(count_w(wired)) >= 690.0
    assert wired.now_s - wired.picture.frames_s["a"] < 0.2


@pytest.mark.parametrize("stamp_ns", [-1, 2**63, 2**64 - 1])
def test_a_stamp_that_no_clock_shows_is_no_message(stamp_ns: int) -> None:
    frame = Wired().boxes["a"].frame(1000.0, mono_ns=stamp_ns)

    with pytest.raises(MalformedMessage):
        wire.decode(wire.encode(frame), (NodeFrame,))


@pytest.mark.parametrize("broken", ["_take_fitting", "_take_alike", "sift"])
async def test_frames_that_cannot_be_taken_together_are_judged_one_by_one(broken: str, monkeypatch) -> None:
    wired = await running()
    intake = Intake(wired.desk, lambda _: None)

    def hear() -> None:
        for name, box in wired.boxes.items():
            word = subjects.frame(REGION, name).encode(), wire.encode(box.frame(wired.now_s))
            intake._waiting.append((*word, int(wired.now_s * 1e9)))
        intake.take(wired.now_s)

    if broken != "_take_alike":
        hear()
    wired.clock.at_s += 1.0
    monkeypatch.setattr(intake._moulds if broken == "sift" else intake, broken, lambda *_: 1 / 0)
    hear()

    assert [wired.now_s - at_s < 0.01 for at_s in wired.picture.frames_s.values()] == [True, True]


async def test_a_frame_that_fails_alone_costs_no_other_node_its_own(monkeypatch) -> None:
    wired = await running()
    intake, on_frame = Intake(wired.desk, lambda _: None), wired.desk.on_frame

    def falls_over(frame: NodeFrame, arrival: Arrival) -> None:
        if frame.node == "a":
            raise ZeroDivisionError
        on_frame(frame, arrival)

    monkeypatch.setattr(wired.desk, "on_frame", falls_over)
    monkeypatch.setattr(intake, "_take_alike", lambda *_: 1 / 0)
    wired.clock.at_s += 1.0
    for name, box in wired.boxes.items():
        word = subjects.frame(REGION, name).encode(), wire.encode(box.frame(wired.now_s))
        intake._waiting.append((*word, int(wired.now_s * 1e9)))
    intake.take(wired.now_s)

    assert wired.picture.frames_s["b"] > wired.now_s - 0.01 > wired.picture.frames_s["a"]
