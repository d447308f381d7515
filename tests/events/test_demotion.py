"""Faults of a node take its boards back to observe: when, for how long, and by which way."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from wired_site import Wired, with_modes

from easyrider import cloudevents, subjects
from easyrider.bus_port import Arrival
from easyrider.messages import ExitGrant, SetLimits
from easyrider.tree import MODES, HoldRule
from easyrider_policy.adapters.demotions_file import DemotionsFile
from easyrider_policy.core.demotion import Demotions
from easyrider_policy.core.modes import Labels
from easyrider_policy.demoting import DemotionDesk

OBSERVE, ENFORCE = MODES.index("observe"), MODES.index("enforce")


def test_an_xid_of_the_hardware_demotes_and_one_of_a_program_does_not() -> None:
    demotions = Demotions()

    assert demotions.xid("n1", "GPU-1", 31, 7) is None
    demoted = demotions.xid("n1", "GPU-1", 79, 7)

    assert demoted is not None
    assert (demoted.cause, demoted.detail, demoted.version) == ("xid", "XID 79 of GPU-1", 7)
    assert demotions.xid("n1", "GPU-1", 79, 7) is None, "once"


def test_three_moves_within_ten_minutes_demote_and_two_or_slow_ones_do_not() -> None:
    quick, slow = Demotions(), Demotions()

    at_s = [quick.drift("n1", "GPU-1", "changed_by_another", 7, s) for s in (0.0, 10.0, 20.0)]
    hourly = [slow.drift("n1", "GPU-1", "changed_by_another", 7, 3600.0 * k) for k in range(6)]

    assert [found is not None for found in at_s] == [False, False, True]
    assert hourly == [None] * 6


def test_a_cap_from_outside_is_no_quarrel() -> None:
    demotions = Demotions()

    assert [demotions.drift("n1", "GPU-1", "external_cap", 7, s) for s in range(9)] == [None] * 9


def test_newer_rules_lift_it_and_the_same_do_not() -> None:
    demotions = Demotions()
    demotions.xid("n1", "GPU-1", 79, 7)

    assert not demotions.lifted(7)
    assert demotions.lifted(8)
    assert demotions.standing == {}


async def test_all_boards_of_a_job_that_holds_a_demoted_one_are_in_observe(led: Wired) -> None:
    fleet, demotions = led.picture.fleet, Demotions()
    demotions.xid("a", "a0", 79, 1)
    chosen = np.full(len(fleet.gpus), ENFORCE)

    alone = demotions.lowered(chosen, fleet, [])
    across = demotions.lowered(chosen, fleet, [Labels(job="j", gpus=range(len(fleet.gpus)))])

    boards_of_a = fleet.gpus_of(fleet.node_index["a"])
    assert set(alone[boards_of_a]) == {OBSERVE}
    assert sorted(alone.tolist()).count(ENFORCE) == 2
    assert set(across) == {OBSERVE}
    assert set(chosen) == {ENFORCE}, "what was handed in stays"


async def xid(led: Wired, desk: DemotionDesk, code: int = 79, node: str = "a") -> None:
    _id, body = cloudevents.encode(
        "xid", {"node": node, "gpu": f"{node}0", "xid": code}, source=f"telemetry/{node}", subject="r"
    )
    await desk.on_event(body, Arrival(subjects.event("xid", "r"), int(led.now_s * 1e9)))


def desk_of(led: Wired, folder: Path) -> DemotionDesk:
    return DemotionDesk(led.picture, DemotionsFile(folder), led.news.say)


async def test_a_node_with_a_broken_board_leaves_by_the_booked_way_and_is_commanded_no_more(
    led: Wired, tmp_path: Path
) -> None:
    before = len(led.bus.exchange.said)

    await xid(led, desk_of(led, tmp_path))
    await led.seconds(8)

    told = led.bus.events("demotion")
    assert [(event["node"], event["cause"], event["gpus"]) for event in told] == [("a", "xid", ["a0", "a1"])]
    grants = [grant for grant in led.said(ExitGrant, before) if grant.node == "a"]
    assert grants
    assert set(grants[0].gpus) == {"a0", "a1"}
    after = [v for v in led.said(SetLimits, before) if v.node == "a" and v.seq > grants[0].seq]
    assert all(limit.limit_w is None for vector in after for limit in vector.limits)
    others = [vector for vector in led.said(SetLimits, before) if vector.node == "b"]
    assert all(limit.limit_w is not None for limit in others[-1].limits)


async def test_a_demotion_outlives_the_coordinator_and_ends_with_newer_rules(
    led: Wired, tmp_path: Path
) -> None:
    await xid(led, desk_of(led, tmp_path))

    again = Demotions(DemotionsFile(tmp_path).read())

    assert set(again.standing) == {"a"}
    rules = led.picture.rules
    held = dataclasses.replace(rules, version=rules.version + 1, holds=(HoldRule(id="h"),))
    led.picture.accept(held)
    await led.seconds(1)
    assert set(led.picture.demotions.standing) == {"a"}, "a hold promotes nobody"
    mended = dataclasses.replace(held.modes[0], reason="the board was replaced")
    led.picture.accept(dataclasses.replace(held, version=held.version + 1, modes=(mended,)))
    await led.seconds(1)
    assert led.picture.demotions.standing == {}
    assert led.picture.managed.all()


async def test_a_node_that_is_only_observed_cannot_be_demoted(led: Wired, tmp_path: Path) -> None:
    led.picture.accept(with_modes(led.picture.rules, "observe", led.picture.rules.version + 1))
    await led.seconds(1)

    await xid(led, desk_of(led, tmp_path))

    assert led.bus.events("demotion") == []
    assert led.picture.demotions.standing == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"specversion": "1.0"}',
        b'{"specversion":"1.0","type":"x","source":"s","subject":"r"}',
    ],
)
async def test_what_is_no_event_is_left_aside(led: Wired, tmp_path: Path, body: bytes) -> None:
    await desk_of(led, tmp_path).on_event(body, Arrival(subjects.event("xid", "r"), int(led.now_s * 1e9)))

    assert led.picture.demotions.standing == {}


async def test_an_unreadable_file_of_demotions_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "demotions.json").write_text("{")

    assert DemotionsFile(tmp_path).read() == []


def test_what_was_kept_stands_until_rules_above_those_of_the_start() -> None:
    before = Demotions()
    before.xid("n1", "GPU-1", 79, 7)

    again = Demotions(before.standing.values(), 9)

    assert not again.lifted(9)
    assert again.lifted(10)


def test_what_is_kept_is_what_is_read(tmp_path: Path) -> None:
    demotions = Demotions()
    demotions.xid("n1", "GPU-1", 79, 7)

    DemotionsFile(tmp_path).keep(demotions.standing.values())

    assert [dataclasses.asdict(d) for d in DemotionsFile(tmp_path).read()] == [
        {"node": "n1", "cause": "xid", "detail": "XID 79 of GPU-1", "version": 7}
    ]
