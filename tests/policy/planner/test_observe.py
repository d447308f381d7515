"""What the planner learns by itself from 100 ms means."""

import numpy as np
import pytest
from small_world import MAX_W, World, load, site

from easyrider_policy.core.layout import layout
from easyrider_policy.core.observe import Observation

A, B = range(0, 8), range(8, 16)
FREE = np.full(32, MAX_W)


def watch(loads, seconds, limit_w=FREE, **kw):
    """An observation of a world whose limits stay as they are."""
    world = World(site(), loads, limit_w=np.array(limit_w, dtype=float), **kw)
    for _ in range(seconds):
        world.now_s += 1.0
        seen = world.columns() * world.gain
        world.woken = world.observation.add(world.now_s, seen, world.limit_w)
    return world


def peak(world, job=0):
    return float(world.observation.peaks.peak_w[job])


def test_a_start_event_resets_everything_known_of_the_boards_former_job():
    world = watch([load("old", A, 450.0, busy=0.5)], 70)
    new = layout(world.fleet, [load("new", A, 640.0, started_s=70.0).job])

    fresh = world.observation.carried(new)

    assert fresh.peaks.peak_w[0] == MAX_W
    assert fresh.busy.share[0] == 1.0
    assert fresh.duty.duty[0] == 1.0
    assert np.isnan(fresh.draw_w[0])


def test_a_job_that_goes_on_keeps_its_history_when_another_one_starts():
    world = watch([load("a", A, 560.0)], 40)
    more = layout(world.fleet, [load("b", B).job, world.loads[0].job])

    kept = world.observation.carried(more)

    assert kept.peaks.peak_w[1] == pytest.approx(560.0, rel=0.01)
    assert kept.peaks.peak_w[0] == MAX_W


def test_the_share_of_time_at_full_draw_is_seen():
    world = watch([load("a", A, 600.0, busy=0.7, period_s=4.0)], 65)

    assert world.observation.busy.share[0] == pytest.approx(0.7, abs=0.04)


def go_on(world, seconds):
    """More of the same world, limits as they are."""
    for _ in range(seconds):
        world.now_s += 1.0
        world.observation.add(world.now_s, world.columns(), world.limit_w)


def test_a_job_that_wakes_is_as_busy_as_it_was_before():
    world = watch([load("a", A, 600.0)], 40)
    world.loads[0].paused = True
    go_on(world, 50)
    world.loads[0].paused = False

    go_on(world, 20)

    assert world.observation.busy.share[0] > 0.95


def test_lighter_work_for_longer_than_a_wait_is_no_waiting():
    world = watch([load("a", A, 690.0)], 10)
    world.loads[0].peak_w = 420.0

    go_on(world, 20)

    assert world.observation.busy.share[0] > 0.95


def test_a_stalled_job_wakes_by_the_one_board_that_is_pinned():
    world = watch([load("a", A, 600.0)], 20)
    world.loads[0].paused = True
    world.limit_w[:] = 200.0
    go_on(world, 6)
    stalled = bool(world.observation.stalls.stalled[0])
    rows = world.columns()
    rows[:, 3] = 200.0

    world.observation.add(world.now_s + 1.0, rows, world.limit_w)

    assert stalled
    assert not world.observation.stalls.stalled[0]


def test_the_mean_over_ten_seconds_is_what_a_duty_cycle_makes_of_the_peak():
    world = watch([load("a", A, 600.0, busy=0.5, period_s=2.0, low_w=300.0)], 80)

    assert world.observation.duty.duty[0] == pytest.approx(0.75, abs=0.03)


def test_a_job_that_waits_for_its_disk_is_stalled_after_four_seconds_and_not_before():
    world = watch([load("a", A, 600.0)], 20)
    world.loads[0].paused = True
    told = []

    for _ in range(6):
        world.now_s += 1.0
        world.observation.add(world.now_s, world.columns(), world.limit_w)
        told.append(bool(world.observation.stalls.stalled[0]))

    assert told == [False, False, False, True, True, True]


def test_a_communication_phase_is_no_stall():
    world = watch([load("a", A, 640.0, busy=0.5, period_s=6.0, low_w=180.0)], 120)

    assert not world.observation.stalls.stalled[0]


def test_a_job_held_far_below_its_peak_is_not_taken_for_stalled():
    world = watch([load("a", A, 640.0, known_peak_w=640.0)], 60, limit_w=np.full(32, 220.0))

    assert not world.observation.stalls.stalled[0]


def test_a_gap_in_the_samples_is_neither_low_draw_nor_zero():
    world = watch([load("a", A, 600.0)], 20)
    gap = np.full((10, 32), np.nan)

    for _ in range(10):
        world.now_s += 1.0
        world.observation.add(world.now_s, gap, world.limit_w)

    assert not world.observation.stalls.stalled[0]
    assert peak(world) == pytest.approx(600.0, rel=0.01)
    assert np.isnan(world.observation.draw_w[0])


def test_a_board_not_read_counts_its_limit_after_three_seconds():
    world = watch([load("a", A, 600.0)], 5)
    gap = np.full((10, 32), np.nan)

    believed = []
    for _ in range(5):
        world.now_s += 1.0
        world.observation.add(world.now_s, gap, world.limit_w)
        believed.append(float(world.observation.believed_w(gap)[-1, 0]))

    assert believed[0] == pytest.approx(600.0)
    assert believed[-1] == MAX_W


def test_overshoot_is_learned_while_a_limit_binds_and_held_within_three_per_cent():
    over = np.ones(32)
    over[0:8], over[8:16] = 1.02, 1.2
    world = watch([load("a", A, 690.0), load("b", B, 690.0)], 200, np.full(32, 400.0), overshoot=over)

    counted = world.observation.overshoot.counted

    assert counted[0] == pytest.approx(1.02, abs=0.004)
    assert (counted <= 1.03).all()


def test_overshoot_is_known_within_seconds_of_a_limit_that_binds():
    world = watch([load("a", A, 690.0)], 6, np.full(32, 400.0), overshoot=np.full(32, 1.02))

    assert world.observation.overshoot.counted[0] == pytest.approx(1.02, abs=0.004)


def test_a_sensor_that_reads_low_earns_its_board_nothing():
    world = watch([load("a", A, 690.0)], 200, np.full(32, 400.0), gain=np.full(32, 0.97))

    assert (world.observation.overshoot.counted == 1.0).all()


def test_a_sensor_that_may_be_wrong_by_more_than_any_overshoot_lowers_no_sum_of_what_could_be_drawn():
    world = watch([load("a", A, 690.0)], 60, np.full(32, 400.0), overshoot=np.full(32, 1.01))

    assert world.observation.overshoot.counted[0] == pytest.approx(1.01, abs=0.004)
    loads = world.plan().memory.loads
    assert loads.worst == pytest.approx(loads.normal * 1.03 / world.observation.overshoot.counted[0])


def test_an_unlimited_board_teaches_no_overshoot():
    world = watch([load("a", A, 700.0)], 100, gain=np.full(32, 1.02))

    assert (world.observation.overshoot.counted == 1.0).all()


def test_rows_may_come_one_by_one_or_ten_at_a_time():
    fleet, jobs = site(), [load("a", A, 600.0, busy=0.6)]
    placed = layout(fleet, [jobs[0].job])
    one, ten = Observation(placed), Observation(placed)
    world = World(fleet, jobs)

    for second in range(30):
        rows = world.columns()
        ten.add(second + 1.0, rows, FREE)
        for k in range(10):
            one.add(second + (k + 1) / 10, rows[k : k + 1], FREE)

    assert one.peaks.peak_w == pytest.approx(ten.peaks.peak_w)
    assert one.busy.share == pytest.approx(ten.busy.share)
    assert one.duty.duty == pytest.approx(ten.duty.duty)


def test_jobs_are_noticed_awake_by_the_boards_that_came_alone_as_by_looking_at_all_of_them():
    random = np.random.default_rng(5)
    world = watch([load(name, rows, 560.0) for name, rows in (("a", A), ("b", range(8, 16)))], 1)
    observation, layout = world.observation, world.observation.layout
    seen = set()
    for _ in range(300):
        stalled = random.random(layout.job_count) < 0.6
        observation.stalls.stalled = stalled.copy()
        newest_w = random.uniform(100.0, 700.0, len(layout.fleet.gpus))
        newest_w[random.random(len(newest_w)) < 0.8] = np.nan
        limit_w = random.uniform(300.0, 700.0, len(newest_w))
        limit_w[random.random(len(limit_w)) < 0.1] = np.nan
        near_w = observation.flags.near_w(observation._job_limit(limit_w))
        expected = np.flatnonzero(stalled & (observation._highest(newest_w) > near_w))

        woken = observation.notice(world.now_s, newest_w, limit_w)

        assert woken.tolist() == expected.tolist()
        seen.add(len(woken))
    assert seen == {0, 1, 2}
