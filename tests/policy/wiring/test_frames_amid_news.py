"""A node's frames look as they always do, but what they mean has changed around it: they are judged as any are."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec.structs import replace as replaced
from wired_box import mono_ns
from wired_frames import judged_alone, repeating, say

from easyrider import wire
from easyrider.tree import Node
from easyrider_policy.dropped import DROPPED
from easyrider_policy.intake import Intake
from easyrider_policy.moulds import MOST_SHAPES, Moulds

LONGER = {name: bytes(2 * size) for name, size in {
    "temperature_c": 2, "util_pct": 1, "sm_mhz": 2, "mem_mhz": 2, "reasons": 8, "memory_mb": 4, "mean10_w": 4,
    "max10_w": 4, "slow_ok": 1,
}.items()}  # fmt: skip
"""Columns of once a second: a frame with them fits no mould of one without."""
WAYS = pytest.mark.parametrize("how", [{}, LONGER], ids=["fitting", "decoded"])


@WAYS
def test_frames_of_nodes_that_stand_elsewhere_in_the_fleet_are_theirs(how: dict[str, object]) -> None:
    wired, intake = repeating()
    first = Node(id="0", domain="pdu", node_class="box", fallback_w_per_gpu=250.0)
    known, before_s = wired.picture.rules, wired.now_s
    wired.picture.accept(replace(known, version=2, nodes=(first, *known.nodes)))
    wired.picture.follow()
    wired.clock.at_s += 1.0

    say(wired, intake, "b", **how)

    assert wired.picture.fleet.nodes == ("0", "a", "b")
    assert wired.picture.safety.ledger.roll.heard_s.tolist() == [-np.inf, before_s, wired.now_s]


@WAYS
def test_boards_that_stand_elsewhere_in_the_fleet_keep_their_watts(how: dict[str, object]) -> None:
    wired, intake = repeating()
    known = wired.picture.rules
    wired.picture.accept(replace(known, version=2, nodes=known.nodes[::-1]))
    wired.picture.follow()

    say(wired, intake, "a", 123.0, **how)

    draws_w = dict(zip(wired.picture.fleet.gpus, wired.picture.gathering.newest_w.tolist(), strict=True))
    assert wired.picture.fleet.gpus == ("b0", "b1", "a0", "a1")
    assert (draws_w["a0"], draws_w["a1"]) == (123.0, 123.0)
    assert np.isnan([draws_w["b0"], draws_w["b1"]]).all()


@WAYS
def test_a_node_whose_clock_was_forgotten_is_not_timed_by_another_boot_of_it(how: dict[str, object]) -> None:
    wired, intake = repeating()
    for boot in ("boot-8", "boot-9"):
        wired.clock.at_s += 1.0
        wired.picture.ages.minted_s("a", boot, mono_ns(wired.now_s + 50.0), round(wired.now_s * 1e9))
    assert wired.picture.ages.forgotten == 1
    wired.clock.at_s += 1.0

    say(wired, intake, "a", **how)

    assert wired.picture.frames_s["a"] == wired.now_s
    assert wired.picture.gathering.newest_w[:2].tolist() == [600.0, 600.0]


@WAYS
def test_frames_of_a_boot_that_was_replaced_say_nothing_of_the_one_that_runs(how: dict[str, object]) -> None:
    wired, intake = repeating()
    if how:
        say(wired, intake, "a", **how)
    ledger, gathering = wired.picture.safety.ledger, wired.picture.gathering
    gathering.take()
    ledger._booted(0, "boot-2")
    intake._moulds = type(intake._moulds)() if how else intake._moulds

    say(wired, intake, "a", limit_w=650.0, **how)

    assert ledger.seen_w[:2].tolist() == [0.0, 0.0]
    assert np.isnan(gathering.take()).all()


def test_a_new_boot_is_heard_of_by_its_first_frame() -> None:
    wired, intake = repeating()

    say(wired, intake, "a", boot_id="boot-2")

    assert wired.picture.safety.ledger.roll.boot == ["boot-2", "boot-1"]


@WAYS
def test_a_frame_by_a_clock_far_ahead_is_left_aside(how: dict[str, object]) -> None:
    wired, intake = repeating()
    ledger, before_s = wired.picture.safety.ledger, wired.picture.frames_s["a"]
    wired.clock.at_s += 0.1

    say(wired, intake, "a", limit_w=650.0, late_s=-3600.0, **how)

    assert wired.picture.frames_s["a"] == before_s
    assert ledger.seen_ns[:2].max() < mono_ns(wired.now_s)


@WAYS
def test_what_a_frame_shows_of_before_the_newest_ack_is_over(how: dict[str, object]) -> None:
    wired, intake = repeating()
    ledger = wired.picture.safety.ledger
    ledger.seen.forget(slice(0, 4))
    ledger.acked_ns[:] = mono_ns(wired.now_s), -1

    for name in "ab":
        say(wired, intake, name, limit_w=650.0, late_s=0.05, **how)

    assert ledger.seen_w.tolist() == [0.0, 0.0, 650.0, 650.0]


@WAYS
def test_a_frame_that_comes_late_makes_its_node_no_older_than_it_was(how: dict[str, object]) -> None:
    wired, intake = repeating()
    wired.clock.at_s += 1.0
    say(wired, intake, "a")

    say(wired, intake, "a", late_s=0.5, **how)

    assert wired.picture.frames_s["a"] == wired.now_s


@pytest.mark.parametrize("taught", [False, True])
@WAYS
def test_frames_that_are_no_reading_any_more_raise_counts_and_show_no_draw(
    how: dict[str, object], taught: bool
) -> None:
    wired, intake = repeating()
    if taught:
        say(wired, intake, "a", **LONGER)
        wired.picture.gathering.take()
    wired.clock.at_s += 9.0
    hot = {**how, "temperature_c": np.array([99, 99], dtype="<i2").tobytes()} if how else how

    say(wired, intake, "a", limit_w=690.0, late_s=4.0, **hot)

    assert wired.picture.safety.ledger.seen_w[:2].tolist() == [700.0, 700.0]
    assert np.isnan(wired.picture.gathering.take()).all()
    assert not (wired.picture.gathering.temperature_c == 99.0).any()


def test_a_node_that_the_operator_called_dark_is_not_once_its_frame_is_heard() -> None:
    wired, intake = repeating()
    wired.picture.safety.operator_released(0)

    say(wired, intake, "a")

    assert not wired.picture.safety.ledger.dark[0]


@pytest.mark.parametrize("field", ["mean_w", "power_w"])
@WAYS
def test_a_draw_that_is_no_number_is_no_reading(how: dict[str, object], field: str) -> None:
    wired, intake = repeating()

    say(wired, intake, "a", **{**how, field: np.array([np.inf, 300.0], dtype="<f4").tobytes()})

    assert not np.isinf(wired.picture.gathering.newest_w).any()
    assert wired.picture.safety.ledger.roll.heard_s[0] <= wired.now_s


def test_a_frame_of_fewer_boards_than_its_list_has_shows_nothing() -> None:
    wired, intake = repeating()
    fewer = {"energy_mj": 8, "energy_ok": 1, "power_w": 4, "power_ok": 1, "mean_w": 4, "mean_ok": 1, "limit_mw": 4,
             "limit_ok": 1, "age_ms": 2}  # fmt: skip

    say(wired, intake, "a", gpu_count=1, **{name: bytes(size) for name, size in fewer.items()})

    assert np.isnan(wired.picture.gathering.newest_w).all()


def test_boards_listed_in_another_order_than_the_fleet_has_them_keep_their_own_watts() -> None:
    wired, intake = repeating()
    wired.picture.know_list("a", ["a1", "a0"])
    turned = list(wired.picture._lists["a"])[-1]

    for least_w in (100.0, 200.0, 300.0, 400.0):
        draw_w = np.array([least_w, least_w + 50.0], dtype="<f4").tobytes()
        say(wired, intake, "a", mean_w=draw_w, power_w=draw_w, gpus_hash=turned)

        draws_w = wired.picture.gathering.newest_w
        assert draws_w[:2].tolist() == [least_w + 50.0, least_w]
        assert np.isnan(draws_w[2:]).all()


def test_a_list_of_boards_that_is_not_known_makes_no_reading() -> None:
    wired, intake = repeating()

    say(wired, intake, "a", gpus_hash=b"12345678")

    assert np.isnan(wired.picture.gathering.newest_w).all()


def test_nobody_speaks_on_the_subject_of_another() -> None:
    wired, intake = repeating()
    wired.clock.at_s += 1.0
    before_s = dict(wired.picture.frames_s)

    for _ in range(3):
        say(wired, intake, "a", on="b")
        say(wired, intake, "a", on="nobody")

    assert wired.picture.frames_s == before_s


def test_a_frame_in_the_name_of_another_is_neither_its_nor_its_senders() -> None:
    wired, intake = repeating()
    before_s = dict(wired.picture.frames_s)
    wired.clock.at_s += 1.0

    say(wired, intake, "a", node="b")

    assert wired.picture.frames_s == before_s
    assert np.isnan(wired.picture.gathering.newest_w).all()


def test_a_stranger_is_counted_and_not_read() -> None:
    wired, intake = repeating()
    before = DROPPED.labels("unknown_node")._value.get()
    intake._waiting.append((b"easyrider.frame.r.stranger", b"no message at all", 0))

    intake.take(wired.now_s)

    assert DROPPED.labels("unknown_node")._value.get() == before + 1


def test_what_changes_its_place_in_frames_of_one_length_is_read_where_it_stands() -> None:
    wired, intake = repeating()
    for seq, rejected in ((200, 5), (200, 5), (5, 200), (5, 200), (5, 200)):
        wired.clock.at_s += 0.1
        draw_w = 10.0 * wired.now_s

        say(wired, intake, "a", draw_w, limit_w=20000.0, seq=seq, rejected=rejected)

        assert wired.picture.frames_s["a"] == pytest.approx(wired.now_s)
        assert wired.picture.gathering.newest_w[:2].tolist() == pytest.approx([draw_w] * 2)


def test_whoever_plays_with_the_lengths_of_frames_takes_no_more_room() -> None:
    wired, intake = repeating()
    usual = next(iter(intake._usual.values()))
    moulds = Moulds()
    for length in range(2 * MOST_SHAPES):
        frame = replaced(wired.boxes["a"].frame(wired.now_s), node="n" * (length + 1))
        moulds.learn(b"a", wire.encode(frame), frame, usual)

    assert len(moulds._benches) == len(moulds._seats) == MOST_SHAPES


def test_frames_of_one_node_keep_their_order_in_one_moment() -> None:
    wired, intake = repeating()
    calls: list[float] = []
    waiting = Intake(wired.desk, calls.append)
    for draw_w in (100.0, 200.0, 300.0):
        wired.clock.at_s += 0.1
        taken, intake.take = intake.take, lambda _: None  # type: ignore[method-assign]
        say(wired, intake, "a", draw_w)
        intake.take = taken  # type: ignore[method-assign]
    waiting._waiting = intake._waiting

    waiting.take(wired.now_s)

    assert wired.picture.gathering.take()[:, 0].tolist() == [100.0, 200.0, 300.0]


def test_what_is_learned_again_after_news_is_believed_unread_again() -> None:
    wired, intake = repeating()
    judged = judged_alone(wired)
    wired.picture.accept(replace(wired.picture.rules, version=2))
    wired.picture.rules_moved = True
    wired.picture.follow()

    for _ in range(3):
        wired.clock.at_s += 0.1
        say(wired, intake, "a")

    assert judged == []
    assert len(intake._moulds._seats) == 1


def test_frames_that_repeat_themselves_are_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    wired, intake = repeating()
    monkeypatch.setattr(intake, "_take_left", lambda *_: pytest.fail("a frame was decoded"))
    wired.clock.at_s += 0.1

    for name in "ab":
        say(wired, intake, name, 321.0)

    assert wired.picture.gathering.newest_w.tolist() == [321.0] * 4
