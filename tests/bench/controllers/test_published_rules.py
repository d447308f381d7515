"""Each published controller keeps its own rules, on observations made by hand."""

import numpy as np
import pytest
from small_hall import JOBS, seen, small_site, with_loss

from easyrider_bench.controllers.static import Static, equal_cap_w
from easyrider_bench.controllers.steering import Steering, steered
from easyrider_bench.controllers.three_band import ThreeBand, cuts
from easyrider_bench.controllers.two_threshold import TwoThreshold, deeper

SITE = small_site()
LOW, MID, HIGH = (job.boards for job in JOBS)


def test_the_static_cap_fills_the_target_when_every_board_draws_three_per_cent_above_it() -> None:
    cap_w = equal_cap_w(SITE)

    assert 4 * 100 + 1.25 * 8 * 1.03 * cap_w == pytest.approx(6000)


def test_the_static_cap_is_made_for_the_smallest_target_that_is_planned_for() -> None:
    cap_w = equal_cap_w(with_loss(SITE, 0, 4000.0))

    assert 4 * 100 + 1.25 * 8 * 1.03 * cap_w == pytest.approx(4000)


def test_the_static_cap_is_made_for_the_narrowest_branch_too() -> None:
    cap_w = equal_cap_w(with_loss(SITE, 1, 2000.0))

    assert 2 * 100 + 1.25 * 4 * 1.03 * cap_w == pytest.approx(2000)


def test_the_static_cap_is_said_once_and_inside_the_range() -> None:
    tight, controller = small_site(overhead_w=np.full(4, 1400.0)), Static(SITE)

    first = controller.decide(0.0, seen(SITE))

    assert first is not None
    assert np.allclose(first, equal_cap_w(SITE))
    assert controller.decide(1.0, seen(SITE)) is None
    assert np.allclose(Static(tight).decide(0.0, seen(tight)), 200.0)


def test_three_bands_cut_above_99_per_cent_down_to_95_from_the_lowest_priority() -> None:
    limit_w = ThreeBand(SITE).decide(0.0, seen(SITE, meter_w=(5950.0, 2000.0, 2000.0)))

    assert limit_w is not None
    taken_w = 600.0 - limit_w[LOW]
    assert 1.25 * taken_w.sum() == pytest.approx(5950 - 0.95 * 6000, abs=0.1)
    assert (limit_w[np.r_[MID, HIGH]] == 700.0).all()


def test_three_bands_go_on_with_the_next_priority_when_the_lowest_stands_at_its_floor() -> None:
    limit_w = ThreeBand(SITE).decide(0.0, seen(SITE, meter_w=(7500.0, 2000.0, 2000.0)))

    assert limit_w is not None
    assert np.allclose(limit_w[LOW], 200.0)
    taken_w = 1.25 * (600.0 - limit_w[np.r_[LOW, MID]]).sum()
    assert taken_w == pytest.approx(7500 - 0.95 * 6000, abs=0.1)
    assert (limit_w[HIGH] == 700.0).all()


def test_within_a_priority_those_that_draw_most_give_first() -> None:
    draw_w = np.array([650.0, 500.0, 400.0, 300.0])

    caps_w = cuts(200.0, np.ones(4), draw_w, np.full(4, 200.0), np.ones(4))

    assert np.allclose(caps_w[:2], 475.0, atol=0.01)
    assert np.isinf(caps_w[2:]).all()


def test_three_bands_change_nothing_between_90_and_99_per_cent_and_let_go_under_90() -> None:
    controller = ThreeBand(SITE)
    capped = controller.decide(0.0, seen(SITE, meter_w=(5000.0, 3990.0, 2000.0)))

    between = controller.decide(3.0, seen(SITE, now_s=3.0, meter_w=(5000.0, 3620.0, 2000.0)))
    under = controller.decide(6.0, seen(SITE, now_s=6.0, meter_w=(5000.0, 3590.0, 2000.0)))

    assert capped is not None
    assert (capped < 700).any()
    assert np.array_equal(capped, between)
    assert (under == 700.0).all()


def test_the_upper_controller_looks_every_nine_seconds() -> None:
    controller = ThreeBand(SITE)
    controller.decide(0.0, seen(SITE, meter_w=(5000.0, 2000.0, 2000.0)))

    looks = [
        controller.decide(t, seen(SITE, now_s=t, meter_w=(6500.0, 2000.0, 2000.0))) for t in (3.0, 6.0, 9.0)
    ]

    assert [bool((limit_w < 700).any()) for limit_w in looks if limit_w is not None] == [False, False, True]


def test_steering_gives_unused_watts_to_those_at_their_cap_in_proportion_to_their_rating() -> None:
    draw_w = np.array([100.0, 300.0, 400.0])
    cap_w = np.array([400.0, 300.0, 400.0])
    span_w = (np.full(3, 0.0), np.array([700.0, 700.0, 350.0]))

    next_w = steered(draw_w, cap_w, np.ones((1, 3)), np.array([600.0]), span_w)

    assert next_w[0] == pytest.approx(115.0)
    assert next_w.sum() == pytest.approx(600.0, abs=0.5)
    assert next_w[1] / next_w[2] == pytest.approx(2.0)


def test_steered_caps_fit_every_nested_budget() -> None:
    slopes = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    draw_w = np.full(4, 600.0)

    next_w = steered(
        draw_w, draw_w, slopes, np.array([1800.0, 700.0]), (np.full(4, 200.0), np.full(4, 700.0))
    )

    assert (slopes @ next_w <= np.array([1800.0, 700.0]) + 0.5).all()
    assert next_w[2:].sum() == pytest.approx(1100.0, abs=1.0)


def test_steering_takes_a_measured_excess_back_from_all() -> None:
    usual = Steering(SITE).decide(
        0.0, seen(SITE, draw_w=560.0, limit_w=560.0, meter_w=(6000.0, 3000.0, 3000.0))
    )
    excess = Steering(SITE).decide(
        0.0, seen(SITE, draw_w=560.0, limit_w=560.0, meter_w=(6125.0, 3000.0, 3000.0))
    )

    assert usual is not None
    assert excess is not None
    assert 1.25 * (usual - excess).sum() == pytest.approx(125.0, abs=1.0)


@pytest.mark.parametrize(
    ("depth", "load", "after"),
    [(0, 0.89, 0), (0, 0.91, 1), (1, 0.86, 1), (1, 0.84, 0), (1, 0.98, 2), (2, 0.93, 2), (2, 0.91, 1), (2, 1.01, 3),
     (3, 0.96, 3), (3, 0.94, 2), (3, 0.5, 0)],
)  # fmt: skip
def test_thresholds_are_90_97_and_100_per_cent_and_are_left_5_per_cent_lower(
    depth: int, load: float, after: int
) -> None:
    assert deeper(depth, load) == after


def test_the_first_threshold_slows_low_priority_the_second_all_and_the_brake_stops_them() -> None:
    def at(share: float) -> np.ndarray:
        limit_w = TwoThreshold(SITE).decide(0.0, seen(SITE, meter_w=(share * 6000, 2000.0, 2000.0)))
        assert limit_w is not None
        return limit_w

    first, second, brake = at(0.95), at(0.98), at(1.01)

    assert np.allclose(first[np.r_[LOW, MID]], 700 * 1275 / 1410)
    assert np.allclose(first[HIGH], 700.0)
    assert np.allclose(second[LOW], 700 * 1110 / 1410)
    assert np.allclose(second[HIGH], 700 * 1305 / 1410)
    assert np.allclose(brake, 200.0)


def test_a_branch_over_its_threshold_slows_its_own_boards_alone() -> None:
    limit_w = TwoThreshold(SITE).decide(0.0, seen(SITE, meter_w=(5000.0, 4100.0, 2000.0)))

    assert limit_w is not None
    assert np.allclose(limit_w[:4], 200.0)
    assert np.allclose(limit_w[4:], 700.0)
