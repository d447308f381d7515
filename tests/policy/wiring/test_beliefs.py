"""Small beliefs: what supplies carry, whom forecasts convince, what changed, what is ours, who waits."""

import numpy as np
import pytest
from test_gather import fleet
from wired_box import reading
from wired_site import rules

from easyrider_policy.core.changes import Standing
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import build
from easyrider_policy.core.metering import ours_w
from easyrider_policy.core.patience import waits

ALL = np.ones(4, dtype=bool)


def supply(facility: Facility, ok: int | None, total: int | None = 5, **other: object) -> float:
    told = {"meter": "ups-1", "domain": "ups", "modules_ok": ok, "modules_total": total, **other}
    facility.heard(reading(1000.0, None, **told))
    return float(facility.share[0])


def test_limits_shrink_with_modules_and_come_back_with_them() -> None:
    facility = Facility(fleet())

    assert supply(facility, 4) == pytest.approx(0.8)
    assert supply(facility, 5) == 1.0


def test_the_worse_of_two_devices_counts() -> None:
    facility = Facility(fleet())

    supply(facility, 3, meter="one")
    supply(facility, 4, meter="two")

    assert facility.share[0] == pytest.approx(0.6)


@pytest.mark.parametrize("doubt", [{"quality": "suspect"}, {"gated": False}])
def test_a_doubtful_reading_makes_it_worse_at_once_and_better_never(doubt: dict[str, object]) -> None:
    facility = Facility(fleet())

    assert supply(facility, 3, **doubt) == pytest.approx(0.6)
    assert supply(facility, 5, **doubt) == pytest.approx(0.6)
    assert supply(facility, 5) == 1.0


@pytest.mark.parametrize(("ok", "total"), [(None, 5), (4, None), (None, None)])
def test_an_unknown_state_is_the_last_known(ok: int | None, total: int | None) -> None:
    facility = Facility(fleet())
    supply(facility, 4)

    assert supply(facility, ok, total) == pytest.approx(0.8)


def test_a_module_that_was_pulled_out_is_missing_although_the_device_counts_it_no_more() -> None:
    facility = Facility(fleet())

    assert supply(facility, 4, total=4) == pytest.approx(0.8)


def test_a_lost_module_stays_lost_over_a_change_of_the_fleet() -> None:
    facility = Facility(fleet())
    supply(facility, 4)

    moved = facility.carried(build(rules(2), []))

    assert moved.share.tolist() == pytest.approx([0.8, 1.0])
    assert supply(moved, 5) == 1.0


def test_a_trouble_is_told_once_when_it_begins_and_once_when_it_has_ended_for_good() -> None:
    standing = Standing(calm_s=10.0)

    told = [standing.moved({"pdu"} if s % 4 < 2 and s < 20 else set(), float(s)) for s in range(40)]

    assert [s for s, change in enumerate(told) if change.begun] == [0]
    assert [s for s, change in enumerate(told) if change.ended] == [28]


def test_only_read_and_limited_boards_are_ours() -> None:
    known, draw_w = fleet(), np.array([300.0, 400.0, 500.0, 600.0])
    managed = np.array([True, True, True, False])

    ours = ours_w(known, draw_w, np.zeros(4), managed, 100.0)

    assert ours.tolist() == [1400.0, 1400.0]


@pytest.mark.parametrize(("unread_s", "ours"), [(2.9, 2000.0), (3.1, np.nan), (9.9, np.nan), (10.1, 1400.0)])
def test_a_board_unread_is_trusted_then_doubted_then_foreign(unread_s: float, ours: float) -> None:
    draw_w = np.array([300.0, 400.0, 500.0, 600.0])

    shown = ours_w(fleet(), draw_w, np.array([0.0, 0.0, 0.0, unread_s]), ALL, 100.0)

    assert shown[1] == pytest.approx(ours, nan_ok=True)


def test_a_board_never_read_is_doubted_from_the_start() -> None:
    draw_w = np.array([300.0, 400.0, 500.0, np.nan])

    assert np.isnan(ours_w(fleet(), draw_w, np.zeros(4), ALL, 100.0)).all()


def test_a_node_not_met_is_doubted_for_ten_seconds() -> None:
    known = fleet("a")
    two = np.array([300.0, 400.0])

    assert np.isnan(ours_w(known, two, np.zeros(2), ALL[:2], 9.0)).all()
    assert ours_w(known, two, np.zeros(2), ALL[:2], 11.0).tolist() == [800.0, 800.0]


def test_boards_limited_before_us_wait_for_word_of_their_jobs_unless_it_is_tight_above() -> None:
    known = fleet()
    in_job = np.array([True, False, False, False])
    told = np.array([True, True, True, False])

    assert waits(known, in_job, told, np.array([False, False])).tolist() == [False, True, True, False]
    assert not waits(known, in_job, told, np.array([False, True])).any()
    assert not waits(known, in_job, told, np.array([True, False])).any()
