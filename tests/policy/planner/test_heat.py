"""How warm breakers are, how long they hold, and what that changes in an emergency."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import UPS, World, load, site

from easyrider.tree import CurvePoint, Domain, Node, NodeClass, Rules, TripCurve
from easyrider_policy.core.emergency import MOST_SHARE, penalised
from easyrider_policy.core.fleet import Fleet, build
from easyrider_policy.core.heat import LONGEST_STEP_S, PRESSED_S, Heat
from easyrider_policy.core.history import emergencies
from easyrider_policy.core.records import Situation
from easyrider_policy.core.timing import allowed_s
from easyrider_policy.core.trip_curves import TripCurves

POINTS = (
    CurvePoint(multiple=1.1, time_s=600.0),
    CurvePoint(multiple=1.25, time_s=60.0),
    CurvePoint(multiple=1.5, time_s=10.0),
)
ONE = np.array([1.0])


def fleet(*curves) -> Fleet:
    """One domain of 1000 W for each curve."""
    domains = tuple(
        Domain(id=f"d{k}", kind="pdu", rating_w=1000.0, curve=curve) for k, curve in enumerate(curves)
    )
    return build(
        Rules(
            id="s", version=1, domains=domains, classes={"b": NodeClass(overhead_w=0.0, overhead_slope=1.0)},
            nodes=(Node(id="n", domain="d0", node_class="b", fallback_w_per_gpu=100.0),),
        ),
        [],
    )  # fmt: skip


def warmed(load_w: float, seconds: float, curve=POINTS, spent: float = 0.0) -> Heat:
    """A device that has carried a load for so long, from cold."""
    heat = Heat(fleet(curve))
    heat.spent[:] = spent
    for step in range(round(seconds * 10) + 1):
        heat.pass_to(step / 10, load_w * ONE, 1000.0 * ONE)
    return heat


@pytest.mark.parametrize("multiple", [0.0, 0.99, 1.0, 1.05, 1.1, 1.2, 1.25, 1.3, 1.49, 1.5, 1.51, 9.0])
def test_all_curves_at_once_say_what_each_says_alone(multiple):
    curves = (POINTS, POINTS[:1], POINTS[1:])
    table = TripCurves(fleet(*curves).domain_records)

    found = table.allowed_s(np.full(3, multiple))

    assert found == pytest.approx([allowed_s(curve, multiple) for curve in curves])


def test_a_device_without_a_curve_has_no_heat_rather_than_none_spent():
    heat = Heat(fleet((), POINTS))
    heat.pass_to(0.0, np.full(2, 1250.0), np.full(2, 1000.0))

    assert heat.told(np.full(2, 1250.0), np.full(2, 800.0))[0] == (None, None, None, None)
    assert not heat.pressed[0]


def test_a_steady_overload_spends_the_curve_in_just_the_time_that_it_allows():
    assert warmed(1250.0, 30.0).spent[0] == pytest.approx(0.5)
    assert warmed(1250.0, 30.0).time_to_trip_s[0] == pytest.approx(30.0)
    assert warmed(1250.0, 70.0).spent[0] == 1.0


def test_beyond_its_last_point_a_device_opens_at_once():
    assert warmed(1600.0, 0.2).spent[0] == 1.0
    assert warmed(1600.0, 0.2).time_to_trip_s[0] == 0.0


def test_within_its_rating_it_cools_by_its_own_time():
    curve = TripCurve(points=POINTS, cooling_s=100.0)

    assert warmed(990.0, 100.0, curve, spent=0.8).spent[0] == pytest.approx(0.8 / np.e)
    assert warmed(990.0, 100.0, curve, spent=0.8).time_to_trip_s[0] == np.inf


def test_an_excursion_is_allowed_until_half_of_the_curve_is_spent_and_no_longer():
    left = warmed(1250.0, 12.0).allowance(1250.0 * ONE, 800.0 * ONE)

    assert left.seconds[0] == pytest.approx(0.3 * 60.0)
    assert left.joules[0] == pytest.approx(0.3 * 60.0 * 450.0)
    assert warmed(1250.0, 40.0).allowance(1250.0 * ONE, 800.0 * ONE).seconds[0] == 0.0
    assert warmed(900.0, 1.0).allowance(900.0 * ONE, 800.0 * ONE).seconds[0] == np.inf


def test_one_who_has_just_begun_takes_half_of_every_curve_as_spent():
    heat = Heat(fleet(POINTS))
    heat.pass_to(0.0, 1250.0 * ONE, 1000.0 * ONE)

    assert heat.spent[0] == 0.5
    assert heat.time_to_trip_s[0] == pytest.approx(30.0)
    assert not heat.pressed[0], "half a curve is time enough for an ordinary lowering"


def test_capacity_that_falls_makes_an_overload_of_the_same_watts():
    heat = warmed(900.0, 1.0)
    heat.pass_to(2.0, 900.0 * ONE, 720.0 * ONE)

    assert heat.multiple[0] == pytest.approx(1.25)
    assert heat.time_to_trip_s[0] == pytest.approx(59.0, abs=1.1)


def test_heat_goes_with_a_device_to_a_new_fleet_and_a_new_device_is_half_spent():
    heat = warmed(1250.0, 6.0)

    moved = heat.carried(fleet(POINTS, POINTS))

    assert moved.spent[0] == pytest.approx(0.1)
    assert moved.spent[1] == 0.5


def test_a_short_pause_of_the_loop_is_heat_at_the_present_load():
    heat = warmed(1250.0, 0.0)
    heat.pass_to(LONGEST_STEP_S, 1250.0 * ONE, 1000.0 * ONE)

    assert heat.spent[0] == pytest.approx(5.0 / 60.0)


@pytest.mark.parametrize("gap_s", [LONGEST_STEP_S + 0.1, 4000.0])
def test_after_a_longer_one_nobody_knows_what_was_drawn_so_half_of_the_curve_counts_as_spent(gap_s):
    cold, warm = warmed(1250.0, 0.0), warmed(900.0, 1.0, spent=0.8)

    cold.pass_to(gap_s, 1250.0 * ONE, 1000.0 * ONE)
    before = float(warm.spent[0])
    warm.pass_to(1.0 + gap_s, 900.0 * ONE, 1000.0 * ONE)

    assert cold.spent[0] == pytest.approx(0.5 + 5.0 / 60.0), "not cold, nor an hour of the present load"
    assert 0.75 < warm.spent[0] <= before, "what was hotter has not surely cooled meanwhile"


def test_it_is_pressed_once_so_little_is_left_that_waiting_would_cost_the_breaker():
    assert not warmed(1250.0, 60.0 - PRESSED_S - 1.0).pressed[0]
    assert warmed(1250.0, 60.0 - PRESSED_S + 1.0).pressed[0]
    assert not warmed(900.0, 1.0, spent=0.9).pressed[0]


def test_a_pressed_breaker_is_an_emergency_that_waits_for_nothing():
    world = World(site(), [load("a", range(8), 400.0)])
    world.run(12)
    zero = np.zeros(3)
    calm = Situation(
        now_s=world.now_s, limit_w=world.limit_w, steered=np.ones(32, dtype=bool), counted_w=world.limit_w,
        hard_w=world.fleet.hard_w, target_w=world.fleet.aim_w * 0.2, unmanaged_hard_w=zero, unmanaged_target_w=zero,
    )  # fmt: skip
    just_acted = dataclasses.replace(world.memory, acted_ago_s=np.zeros(3), target_w=calm.target_w)
    pressed = dataclasses.replace(calm, pressed=np.array([True, False, False]))
    never = np.full(32, -1e9)

    waits = emergencies(world.fleet, world.walls, calm, just_acted, never)
    cuts = emergencies(world.fleet, world.walls, pressed, just_acted, never)

    assert waits.penalty_w[UPS] == 0.0
    assert cuts.alarm[UPS]
    assert cuts.penalty_w[UPS] > 0.0


def test_where_a_breaker_is_nearly_spent_more_is_taken_than_in_any_other_emergency():
    due = np.array([True, True])
    far_over_w = np.array([5000.0, 5000.0])

    penalty_w = penalised(np.zeros(2), due, far_over_w, np.full(2, 10_000.0), np.array([True, False]))

    assert penalty_w.tolist() == [pytest.approx(3500.0), pytest.approx(MOST_SHARE * 10_000.0)]


@st.composite
def curve(draw):
    """Points that hold more for a shorter time."""
    count = draw(st.integers(1, 5))
    multiples = sorted(draw(st.lists(st.floats(1.01, 20.0), min_size=count, max_size=count, unique=True)))
    times = sorted(draw(st.lists(st.floats(0.05, 7200.0), min_size=count, max_size=count, unique=True)))[::-1]
    return tuple(CurvePoint(multiple=m, time_s=t) for m, t in zip(multiples, times, strict=True))


@given(curves=st.lists(curve(), min_size=1, max_size=4), multiple=st.floats(0.0, 25.0))
def test_any_curves_at_once_say_what_each_says_alone(curves, multiple):
    table = TripCurves(fleet(*curves).domain_records)

    found = table.allowed_s(np.full(len(curves), multiple))

    assert found == pytest.approx([allowed_s(one, multiple) for one in curves])


@given(points=curve(), loads_w=st.lists(st.floats(0.0, 20_000.0), min_size=2, max_size=30))
def test_under_any_load_heat_stays_within_a_trip_and_falls_only_within_capacity(points, loads_w):
    heat = Heat(fleet(points))
    before = float(heat.spent[0])
    for second, load_w in enumerate(loads_w):
        heat.pass_to(float(second), load_w * ONE, 1000.0 * ONE)
        now = float(heat.spent[0])
        assert 0.0 <= now <= 1.0
        assert now >= before or load_w <= 1000.0
        left_s = float(heat.allowance(load_w * ONE, 800.0 * ONE).seconds[0])
        assert left_s <= float(heat.time_to_trip_s[0])  # we always stop before the device does
        before = now
