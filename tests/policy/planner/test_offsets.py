"""Start offsets of jobs that share a domain: against optima known by hand, by brute force, and from what was seen."""

import itertools

import numpy as np
import pytest
from small_world import World, load, site
from test_ahead import told

from easyrider_policy.core.ahead import foresee
from easyrider_policy.core.offsets import BINS, Wave, group, groups, spread
from easyrider_policy.core.rhythms import fold
from easyrider_policy.core.staggering import seen, staggered

A, B = range(0, 8), range(8, 16)


def square(job, period_s=6.0, high_w=500.0, low_w=100.0, duty=0.5, **kw):
    bins = round(period_s / 0.1)
    watts = np.where(np.arange(bins) < round(duty * bins), high_w, low_w)
    return Wave(job=job, period_s=period_s, watts=watts, **kw)


def test_two_equal_square_waves_half_a_period_apart_avoid_exactly_one_amplitude():
    found = group([square("a"), square("b")])

    assert [job.offset_s for job in found.jobs] == [0.0, pytest.approx(3.0)]
    assert (found.peak_w, found.peak_with_offsets_w, found.worst_w) == (1000.0, 600.0, 1000.0)
    assert found.avoided_w == 400.0
    assert found.holds_s is None


def test_waves_that_are_apart_already_are_left_where_they_are():
    one = square("a")
    other = Wave(job="b", period_s=6.0, watts=np.roll(one.watts, 30))

    found = group([one, other])

    assert (found.avoided_w, [job.offset_s for job in found.jobs]) == (0.0, [0.0, 0.0])
    assert "nothing to gain" in found.says


def test_an_offset_that_stands_is_kept_and_others_go_around_it():
    found = group([square("a", fixed_s=2.0), square("b")])

    assert found.jobs[0].offset_s == pytest.approx(2.0)
    assert found.jobs[1].offset_s == pytest.approx(5.0)
    assert found.peak_with_offsets_w == 600.0


@pytest.mark.parametrize("seed", range(6))
def test_three_jobs_reach_what_brute_force_over_all_offsets_finds(seed):
    rng = np.random.default_rng(seed)
    rows = [np.repeat(rng.uniform(100.0, 900.0, 6), 4) for _ in range(3)]
    tables = [np.stack([np.roll(row, at) for at in range(24)]) for row in rows]
    brute = min(
        (tables[0][0] + tables[1][i] + tables[2][j]).max() for i, j in itertools.product(range(24), repeat=2)
    )

    chosen = spread(tables, [None] * 3)

    assert sum(table[at] for table, at in zip(tables, chosen, strict=True)).max() == pytest.approx(brute)


def test_many_jobs_come_near_their_mean_and_twice_the_same():
    waves = [square(f"j{i:02}", duty=0.25, high_w=800.0, low_w=0.0) for i in range(16)]

    found = group(waves)

    assert found == group(waves)
    assert (found.peak_w, found.peak_with_offsets_w) == (16 * 800.0, 4 * 800.0)


def test_periods_that_differ_by_more_than_a_few_per_cent_are_not_set_against_each_other():
    found, alone = groups([square("a", 6.0), square("b", 7.0)], window_s=10.0)

    assert (found, alone) == ((), ("a", "b"))


def test_periods_that_nearly_agree_hold_for_as_long_as_they_take_to_drift_a_tenth_apart():
    (found,), alone = groups([square("a", 6.0), square("b", 6.1)], window_s=10.0)

    assert alone == ()
    assert found.avoided_w == pytest.approx(400.0)
    assert found.holds_s == pytest.approx(0.1 / (1 / 6.0 - 1 / 6.1))


def test_periods_long_against_the_window_are_set_against_each_other_though_they_differ():
    slow = [square("a", 40.0, duty=0.4), square("b", 44.0, duty=0.4)]

    (found,), _ = groups(slow, window_s=10.0)
    none, _ = groups(slow, window_s=30.0)

    assert found.avoided_w == pytest.approx(400.0)
    assert found.holds_s == pytest.approx(44.0)
    assert none == ()


def test_checkpoints_fall_on_each_jobs_own_low_and_in_periods_of_their_own():
    waves = [square("a"), square("b"), square("c")]

    found = group(waves)

    assert [int(job.checkpoint_s // 6.0) for job in found.jobs] == [0, 1, 2]
    for wave, job in zip(waves, found.jobs, strict=True):
        phase = ((job.checkpoint_s - job.offset_s + 3.0 / BINS) / 6.0) % 1.0
        assert wave.watts[int(phase * len(wave.watts))] == 100.0


def test_a_period_is_folded_out_of_the_newest_samples_and_begins_now():
    at_s = np.arange(600) * 0.1 + 0.05  # middles of the samples of a minute that ends now
    seen = np.where((at_s - 60.0) % 4.0 < 1.0, 600.0, 200.0)

    watts = fold(seen, 4.0, 650.0)

    assert watts[:10].tolist() == [600.0] * 10
    assert watts[10:].tolist() == [200.0] * 30


def test_what_a_limit_hid_counts_the_peak_and_what_was_never_seen_is_not_taken_for_low():
    seen = np.full(600, 200.0)
    seen[np.arange(600) % 40 < 10] = np.inf
    seen[np.arange(600) % 40 > 37] = np.nan

    watts = fold(seen, 4.0, 650.0)

    assert watts[:10].tolist() == [650.0] * 10
    assert watts[38:].tolist() == [650.0] * 2
    assert fold(np.full(600, np.nan), 4.0, 650.0) is None


def test_jobs_seen_by_the_planner_have_waves_of_what_they_drew_once_a_period_is_told():
    world = World(site(), [load("a", A, 560.0, busy=0.5, period_s=3.0), load("b", B, 560.0)])
    world.run(30)
    rhythms, peak_w = world.observation.rhythms, float(world.observation.peak_w[0])
    assert rhythms.why_not(0, world.now_s) == "no forecast of it is fresh"

    foresee(world.observation, told("a", 560.0, period_s=3.0), world.now_s)

    watts = rhythms.template(0, peak_w)
    assert rhythms.why_not(0, world.now_s) == ""
    assert (watts.max(), watts.min()) == (pytest.approx(560.0, abs=1.0), pytest.approx(240.0, abs=1.0))
    assert (watts > 400.0).mean() == pytest.approx(0.5, abs=0.07)
    assert rhythms.why_not(0, world.now_s + 11.0) == "no forecast of it is fresh"


def test_what_is_known_of_a_rhythm_outlives_the_start_of_another_job():
    world = World(site(), [load("a", A, 560.0, busy=0.5, period_s=3.0)])
    world.run(30)
    foresee(world.observation, told("a", 560.0, period_s=3.0), world.now_s)
    before = world.observation.rhythms.template(0, 560.0)

    world.loads.insert(0, load("b", B, 560.0))
    world.jobs_changed()

    row = world.observation.job_rows["a"]
    assert world.observation.rhythms.template(row, 560.0).tolist() == before.tolist()


def test_a_job_has_one_offset_in_all_domains_and_the_one_pressed_most_is_served_first():
    world = World(
        site(), [load(name, rows, 560.0, busy=0.5, period_s=4.0) for name, rows in (("a", A), ("b", B))]
    )
    world.run(30)
    for name in "ab":
        foresee(world.observation, told(name, 560.0, period_s=4.0), world.now_s)
    target_w = np.array([10_000.0, 10_000.0, 10_000.0])

    found = staggered(
        seen(world.observation, np.array([9_000.0, 9_900.0, 1_000.0]), target_w, np.zeros(3), world.now_s)
    )

    assert [one.domain for one in found] == ["pdu-a", "ups"]  # and not the one that is far below its target
    for one in found:
        assert one.avoided_w == pytest.approx(8 * 1.23 * 320.0, rel=0.1)
    assert [group.jobs[1].offset_s for one in found for group in one.groups] == [
        pytest.approx(2.0, abs=0.2)
    ] * 2


def test_where_periods_drift_apart_it_is_said_and_no_watts_are_promised():
    world = World(
        site(), [load("a", A, 560.0, busy=0.5, period_s=4.0), load("b", B, 560.0, busy=0.5, period_s=3.0)]
    )
    world.run(30)
    for name, period_s in (("a", 4.0), ("b", 3.0)):
        foresee(world.observation, told(name, 560.0, period_s=period_s), world.now_s)

    (one,) = staggered(
        seen(world.observation, np.array([9e3, 0.0, 0.0]), np.full(3, 1e4), np.zeros(3), world.now_s)
    )

    assert (one.avoided_w, one.groups) == (0.0, ())
    assert one.says == "periods drift apart: nothing to gain"
    assert {row.job for row in one.left_out} == {"a", "b"}
