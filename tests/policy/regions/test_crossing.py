"""Jobs that cross coordinators: the smallest share is echoed, falls at once, rises in steps, and is no trap."""

import sys
from pathlib import Path

import numpy as np
import pytest

from easyrider import wire
from easyrider.messages import Demand
from easyrider.tree import Pacing
from easyrider_policy.core import crossing
from easyrider_policy.core.crossing import FLICKER, MOST, Crossing, key_of, packed, unpacked

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

from test_lending import demand

import hierarchy
from hierarchy_site import Plan

PACING = Pacing()
ONE, TWO = key_of("one"), key_of("two")


def heard(**shares: dict[int, float]) -> Crossing:
    found = Crossing()
    for region, told in shares.items():
        found.heard(region, told)
    return found


def echoed(found: Crossing, now_s: float, **own: float) -> float:
    """The echo of the first job."""
    found.plan(now_s, {ONE: own["own"]} if own else {}, found.told, PACING)
    return found.echo().get(ONE, 1.0)


def test_the_smallest_share_is_echoed_to_everybody_and_jobs_of_one_alone_are_not() -> None:
    found = heard(a={ONE: 0.9, TWO: 0.5}, b={ONE: 0.7})

    assert echoed(found, 0.0) == 0.7
    assert found.for_region("a", {}) == found.for_region("b", {}) == {ONE: 0.7}


def test_a_job_of_our_own_that_stands_below_too_crosses_here() -> None:
    assert echoed(heard(a={ONE: 0.9}), 0.0, own=0.6) == 0.6


def test_what_comes_from_above_is_passed_on_where_it_is_less() -> None:
    found = heard(a={ONE: 0.9, TWO: 0.8}, b={ONE: 0.7})
    echoed(found, 0.0)

    assert found.for_region("a", {ONE: 0.8, TWO: 0.4}) == {ONE: 0.7, TWO: 0.4}
    assert found.for_region("b", {ONE: 0.6, TWO: 0.4}) == {ONE: 0.6}


def test_upwards_the_smallest_wish_of_all_is_told_of_every_job() -> None:
    found = heard(a={ONE: 0.9, TWO: 0.5}, b={ONE: 0.7})

    assert found.upward({ONE: 0.8, 7: 1.0}) == {ONE: 0.7, TWO: 0.5, 7: 1.0}


def test_an_echo_falls_at_once_and_rises_by_a_part_of_the_wish_once_a_cooldown() -> None:
    found = heard(a={ONE: 0.9}, b={ONE: 0.7})
    echoed(found, 0.0)
    found.heard("b", {ONE: 0.6})
    fell = echoed(found, 1.0)

    found.heard("b", {ONE: 0.9})
    waits = [echoed(found, float(second)) for second in range(2, 11)]
    rose = echoed(found, 1.0 + PACING.cooldown_s)

    assert fell == 0.6
    assert waits == [0.6] * 9
    assert 0.6 + FLICKER < rose <= 0.6 + PACING.step_share
    assert echoed(found, 1.0 + 2 * PACING.cooldown_s) > rose


def test_a_rise_is_not_taken_back_before_its_watts_can_have_come() -> None:
    found = heard(a={ONE: 0.9}, b={ONE: 0.6})
    echoed(found, 0.0)
    found.heard("b", {ONE: 0.9})
    rose = echoed(found, 10.0)

    found.heard("b", {ONE: 0.6})
    assert echoed(found, 11.0) == echoed(found, 12.0) == rose
    assert echoed(found, 13.0) == 0.6


def test_rises_in_vain_come_ever_more_seldom() -> None:
    found, rises = heard(a={ONE: 0.9}, b={ONE: 0.6}), []
    for second in range(400):
        before = found.echo().get(ONE, 1.0)
        # It says that it could, whenever it is held, and cannot when it comes to it.
        found.heard("b", {ONE: 0.6 if before > 0.6 else 0.9})
        if echoed(found, float(second)) > before:
            rises.append(second)

    assert np.all(np.diff(rises) >= PACING.cooldown_s)
    assert np.all(np.diff(np.diff(rises)) >= 0)
    assert len(rises) <= 6


def test_a_job_whose_watts_come_back_gets_them_all_in_the_end() -> None:
    found = heard(a={ONE: 1.0}, b={ONE: 0.4})
    echoed(found, 0.0)
    found.heard("b", {ONE: 1.0})

    for second in range(1, 300):
        last = echoed(found, float(second))

    assert last > 0.97


def test_a_region_that_is_silent_for_a_lease_limits_nobody() -> None:
    found = heard(a={ONE: 0.9}, b={ONE: 0.6})
    echoed(found, 0.0)

    found.plan(20.0, {}, ["a"], PACING)

    assert found.echo() == {}


def test_columns_say_what_was_packed_and_what_does_not_fit_together_says_nothing() -> None:
    keys, shares = packed({ONE: 0.5, TWO: 1.0})

    assert unpacked(keys, shares) == {ONE: 0.5, TWO: 1.0}
    assert unpacked(keys[:-1], shares) == unpacked(keys, shares[:-4]) == unpacked(b"", b"") == {}
    assert unpacked(keys, np.array([np.nan, 0.5], dtype="<f4").tobytes()) == {TWO: 0.5}
    assert unpacked(keys, np.array([-0.1, 1.1], dtype="<f4").tobytes()) == {}


def test_of_very_many_jobs_those_with_the_smallest_shares_are_told() -> None:
    told = unpacked(*packed({key: key / 1e6 for key in range(MOST + 50)}))

    assert len(told) == MOST
    assert MOST + 1 not in told


def test_a_demand_of_as_many_jobs_as_can_be_told_fits_a_message() -> None:
    keys, shares = packed(dict.fromkeys(range(10 * MOST), 0.5))
    full = demand("a", 1, job_keys=keys, job_shares=shares, curve_w=(1.5,) * 64, curve_value=(1.5,) * 64)

    assert wire.decode(wire.encode(full), (Demand,)) == full


def test_three_ticks_come_within_one_per_cent_of_the_flat_optimum_with_two_fifths_crossing() -> None:
    rows = hierarchy.run(Plan(gpus=2_048, leaves=9, jobs=250, crossing_pct=33.0), seed=3)

    assert rows[2]["tick"] == 3
    assert 30.0 <= rows[2]["crossing_pct"] <= 45.0
    assert rows[2]["gap_pct"] <= 1.0
    assert max(row["over_w"] for row in rows) <= 1.0


def test_without_the_echo_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crossing, "for_region", lambda self, region, above: {})
    rows = hierarchy.run(Plan(gpus=2_048, leaves=9, jobs=250, crossing_pct=33.0), seed=3)

    assert rows[2]["gap_pct"] > 1.0


def test_a_wish_is_told_free_of_the_echo_that_holds_it() -> None:
    site = hierarchy.sites.make(Plan(gpus=1_024, leaves=4, jobs=60, crossing_pct=0.0), seed=1)
    leaf = hierarchy.Hierarchy(site).leaves[0]
    free = crossing.wishes(leaf.solution, None)

    job = int(np.argmax(free))
    leaf.above = {leaf.keys[job]: 0.7 * free[job]}
    leaf.solve()
    held = leaf.solution.allocation.watts / leaf.solution.problem.peak_w

    assert held[job] == pytest.approx(0.7 * free[job], rel=1e-3)
    assert crossing.wishes(leaf.solution, leaf.echo)[job] == pytest.approx(free[job], abs=0.02)
