"""Frames taken together leave the same beliefs as frames judged one by one."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wired_box import REGION, at
from wired_frames import hear, judged_alone, repeating, site

from easyrider import subjects
from easyrider.messages import NodeFrame
from easyrider_policy.intake import Intake

BOARDS = ("acked_w", "seen_w", "seen_ns", "read_s", "told", "stuck")
NODES = ("proven", "dark", "fence")

watts = st.floats(0, 800, width=32)
cells = st.lists(st.sampled_from([0, 0, 0, 1, 2, 4]), min_size=2, max_size=2)
SLOW = {
    "temperature_c": np.array([61, 85], dtype="<i2").tobytes(), "util_pct": b"\x05\x06", "sm_mhz": bytes(4),
    "mem_mhz": bytes(4), "reasons": np.array([0x20, 0x4], dtype="<u8").tobytes(), "memory_mb": bytes(8),
    "mean10_w": bytes(8), "max10_w": bytes(8),
}  # fmt: skip
ONE_BOARD = {
    "energy_mj": 8, "energy_ok": 1, "power_w": 4, "power_ok": 1, "mean_w": 4, "mean_ok": 1, "limit_mw": 4,
    "limit_ok": 1, "age_ms": 2,
}  # fmt: skip
oddity = st.sampled_from(
    [{}] * 6
    + [{**SLOW, "slow_ok": ok} for ok in (b"\0\0", b"\0\0", b"\0\1")]
    + [
        {"boot_id": "boot-0"},
        {"boot_id": "boot-2"},
        {"gpus_hash": b"12345678"},
        {"mean_w": b"1234"},
        {"mean_w": np.array([np.nan, 300], dtype="<f4").tobytes()},
        {"power_w": np.array([np.inf, 300], dtype="<f4").tobytes()},
        {"limit_ok": b"\0"},
        {"before_us": b""},
        {"age_ms": b"123"},
        {"node": "b"},
    ]
)


@st.composite
def said(draw: st.DrawFn) -> tuple[str, float, list[float], list[float], list[int], dict[str, object]]:
    """One frame: node, how late it comes, draws, limits, validity, and what is odd about it."""
    late_s = draw(st.sampled_from([0.0, 0.0, 0.0, 0.2, 4.0]))
    pair = st.lists(watts, min_size=2, max_size=2)
    return draw(st.sampled_from("ab")), late_s, draw(pair), draw(pair), draw(cells), draw(oddity)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(said(), max_size=6), max_size=6))
def test_frames_taken_together_are_believed_as_frames_judged_one_by_one(batches: list[list[tuple]]) -> None:
    alone, together, calls = site(), site(), []
    intake = Intake(together.desk, calls.append)
    for batch in batches:
        for name, late_s, draw_w, limit_w, ok, odd in batch:
            for wired in (alone, together):
                wired.clock.at_s += 0.05
                box = wired.boxes[name]
                box.draw_w, box.limit_w = list(draw_w), list(limit_w)
                said_now = box.frame(wired.now_s - late_s, mean_ok=bytes(ok))
                frame = msgspec.structs.replace(said_now, **odd)
                where = at(subjects.frame(REGION, name), wired.now_s)
                if wired is alone:
                    wired.desk.on_frame(frame, where)
                else:
                    hear(intake, frame, where)
        intake.take(together.now_s)
        for column in BOARDS + NODES:
            ours, theirs = (getattr(w.picture.safety.ledger, column) for w in (together, alone))
            assert np.array_equal(ours, theirs), column
        assert together.picture.frames_s == alone.picture.frames_s
        assert np.array_equal(
            together.picture.safety.ledger.roll.heard_s, alone.picture.safety.ledger.roll.heard_s
        )
        for column in ("limit_w", "newest_w", "capped", "hot", "temperature_c"):
            ours, theirs = (getattr(w.picture.gathering, column) for w in (together, alone))
            assert np.array_equal(ours, theirs, equal_nan=column not in ("capped", "hot")), column
        assert np.array_equal(
            together.picture.gathering.take(), alone.picture.gathering.take(), equal_nan=True
        )
    assert len(calls) == len(batches)


def test_what_is_usual_goes_the_short_way_once_a_state_has_named_the_boards() -> None:
    wired = site()
    judged = judged_alone(wired)
    intake = Intake(wired.desk, lambda _: None)

    for _ in range(5):
        for name, box in wired.boxes.items():
            frame: NodeFrame = box.frame(wired.now_s)
            hear(intake, frame, at(subjects.frame(REGION, name), wired.now_s))
        wired.clock.at_s += 0.1
    intake.take(wired.now_s)

    assert judged == []
    assert wired.picture.gathering.take().shape == (5, 4)


def test_strangers_between_do_not_part_frames_that_go_together() -> None:
    wired, heard = site(), []
    intake = Intake(wired.desk, lambda _: None)
    ledger = wired.picture.safety.ledger
    looks_heard = ledger.looks_heard
    for _ in range(2):
        for name, box in wired.boxes.items():
            stranger = msgspec.structs.replace(box.frame(wired.now_s), node="stranger")
            hear(intake, stranger, at(subjects.frame(REGION, "stranger"), wired.now_s))
            hear(intake, box.frame(wired.now_s), at(subjects.frame(REGION, name), wired.now_s))
        ledger.looks_heard = lambda looks: (heard.append(len(looks.nodes)), looks_heard(looks))  # type: ignore[method-assign]
        heard.clear()
        intake.take(wired.now_s)

    assert heard == [2]


@pytest.mark.parametrize(
    "odd",
    [
        {"age_ms": b"123"},
        {"mean_w": b"1234"},
        {"gpu_count": 1, **{name: bytes(width) for name, width in ONE_BOARD.items()}},
    ],
)
def test_a_frame_whose_columns_do_not_fit_costs_no_other_node_the_short_way(
    odd: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    wired, intake = repeating()
    monkeypatch.setattr(intake, "_judge_each", lambda *_: pytest.fail("frames were judged one by one"))
    moulds = type(intake._moulds)
    for name, how in (("a", odd), ("b", {})):
        intake._moulds = moulds()  # or they are not decoded
        hear(
            intake,
            msgspec.structs.replace(wired.boxes[name].frame(wired.now_s), **how),
            at(subjects.frame(REGION, name), wired.now_s),
        )

    intake.take(wired.now_s)

    assert np.isfinite(wired.picture.gathering.newest_w).tolist() == [False, False, True, True]
