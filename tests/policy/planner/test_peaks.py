"""What a job would draw if nothing limited it, and what must not be taken for that."""

import numpy as np
import pytest
from small_world import MAX_W, load
from test_observe import A, go_on, peak, watch

from easyrider_policy.core.peaks import Peaks, _highest


def test_before_twelve_seconds_a_job_counts_the_device_maximum():
    world = watch([load("a", A, 560.0)], 11)

    assert peak(world) == MAX_W
    assert not world.observation.peaks.known[0]


def test_after_twelve_free_seconds_its_own_peak_is_known():
    world = watch([load("a", A, 560.0)], 13)

    assert peak(world) == pytest.approx(560.0, rel=0.01)


def test_a_peak_told_by_the_fingerprint_counts_from_the_first_second():
    world = watch([load("a", A, 560.0, known_peak_w=570.0)], 1)

    assert peak(world) == pytest.approx(570.0)


def test_a_job_that_has_only_set_itself_up_keeps_the_device_maximum():
    world = watch([load("a", A, 640.0, paused=True)], 30)

    assert peak(world) == MAX_W


def test_a_capped_job_is_not_ratcheted_down_however_long_it_is_capped():
    world = watch([load("a", A, 640.0)], 20)
    known = peak(world)

    for cap_w in (560.0, 500.0, 450.0):
        world.limit_w[:] = cap_w
        for _ in range(70):
            world.now_s += 1.0
            world.observation.add(world.now_s, world.columns(), world.limit_w)

    assert peak(world) == known


def test_a_sensor_that_reads_low_does_not_ratchet_a_job_that_says_it_is_power_capped():
    world = watch([load("a", A, 640.0)], 20)
    known = peak(world)
    world.limit_w[:] = 450.0
    capped = np.ones(32, dtype=bool)

    for _ in range(90):
        world.now_s += 1.0
        world.observation.add(world.now_s, 0.95 * world.columns(), world.limit_w, capped)

    assert peak(world) == known


def test_a_lighter_phase_seen_free_lowers_the_peak_after_a_minute():
    world = watch([load("a", A, 640.0)], 30)
    world.loads[0].peak_w = 420.0

    for _ in range(70):
        world.now_s += 1.0
        world.observation.add(world.now_s, world.columns(), world.limit_w)

    assert peak(world) == pytest.approx(420.0, rel=0.01)


def test_a_heavier_phase_is_followed_within_a_second():
    world = watch([load("a", A, 450.0)], 70)
    world.loads[0].peak_w = 600.0

    world.now_s += 1.0
    world.observation.add(world.now_s, world.columns(), world.limit_w)

    assert peak(world) == pytest.approx(600.0, rel=0.01)


def test_a_ramp_after_a_raise_is_not_taken_for_a_free_peak():
    world = watch([load("a", A, 690.0)], 15, limit_w=np.full(32, 250.0))
    ramp_w = world.columns()
    ramp_w[:, list(A)] = np.linspace(260.0, 430.0, 10)[:, None]

    world.limit_w[:] = 457.0
    world.observation.add(world.now_s + 1.0, ramp_w, world.limit_w)

    assert peak(world) == MAX_W


def test_a_job_on_its_way_up_after_a_sleep_is_not_taken_for_one_at_its_peak():
    world = watch([load("a", A, 690.0, paused=True)], 40, limit_w=np.full(32, 450.0))
    rows = world.columns()
    rows[:, list(A)] = np.linspace(160.0, 425.0, 10)[:, None]

    world.observation.add(world.now_s + 1.0, rows, world.limit_w)

    assert peak(world) == MAX_W


def test_a_lighter_phase_is_not_believed_of_a_job_because_what_hid_it_grew_old():
    world = watch([load("a", A, 690.0)], 5, limit_w=np.full(32, 570.0))
    world.loads[0].peak_w = 420.0
    go_on(world, 8)
    world.loads[0].peak_w = 690.0
    world.limit_w[:] = 300.0

    go_on(world, 52)

    assert peak(world) == MAX_W


def test_a_job_hidden_for_a_minute_counts_as_the_highest_ever_seen_of_it():
    world = watch([load("a", A, 680.0)], 20)
    world.loads[0].peak_w = 420.0
    go_on(world, 70)
    lighter = peak(world)
    world.loads[0].peak_w = 680.0
    world.limit_w[:] = 300.0

    go_on(world, 70)

    assert lighter == pytest.approx(420.0, rel=0.01)
    assert peak(world) == pytest.approx(680.0, rel=0.01)


def test_what_closed_blocks_hold_is_ranked_once_and_comes_to_what_ranking_a_whole_minute_does() -> None:
    random, jobs = np.random.default_rng(7), 40
    told_w = np.where(random.random(jobs) < 0.3, 500.0, np.nan)
    once, afresh = Peaks(np.full(jobs, 700.0), told_w), Peaks(np.full(jobs, 700.0), told_w)
    for turn in range(1500):
        sample_w = random.uniform(100.0, 700.0, (1 if turn % 5 else 7, jobs)) * (0.6 if turn > 700 else 1.0)
        sample_w[random.random(sample_w.shape) < 0.02] = np.nan
        limit_w = random.uniform(300.0, 700.0, jobs)
        hidden = sample_w > limit_w
        for peaks in (once, afresh):
            peaks.add(sample_w, hidden, hidden, limit_w)
        afresh._others = None

        minute_w = np.sort(once.free_top_w.reshape(-1, jobs), axis=0)[-3:]
        closed_w, counts, hiding_w = once._closed()
        here = once.free_top_w[once.block]
        assert np.array_equal(np.sort(np.concatenate([closed_w, here]), axis=0)[-3:], minute_w)
        assert np.array_equal(counts + once.counts[once.block], once.counts.sum(axis=0))
        assert np.array_equal(np.maximum(hiding_w, once.hiding_w[once.block]), once.hiding_w.max(axis=0))
        assert np.array_equal(once.peak_w, afresh.peak_w)
        assert np.array_equal(once.known, afresh.known)


def test_the_highest_of_few_and_of_many_samples_are_those_that_sorting_finds() -> None:
    random = np.random.default_rng(3)
    for rows in (3, 4, 6, 12, 13, 36):
        samples_w = random.integers(0, 5, (rows, 200)).astype(np.float64)
        assert np.array_equal(_highest(samples_w), np.sort(samples_w, axis=0)[-3:])
