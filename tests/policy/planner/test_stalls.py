"""Watts of a waiting job are lent, and given back at once."""

import numpy as np
import pytest
from small_world import MIN_W, World, load, site

from easyrider_policy.core.stalls import Belief, Stalls

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def four():
    return [load(name, rows, 640.0) for name, rows in zip("abcd", (A, B, C, D), strict=True)]


def stalled_world():
    world = World(site(), four())
    world.run(60)
    world.loads[0].paused = True
    world.run(30)
    return world


def test_a_stalled_job_lends_its_watts_to_the_others():
    world = World(site(), four())
    world.run(60)
    before = world.limit("b")
    world.loads[0].paused = True

    world.run(40)

    assert world.reason("a") == "stalled"
    assert world.limit("a") == pytest.approx(MIN_W)
    assert world.limit("b") > before + 50.0


def test_a_job_that_wakes_is_told_at_once_and_raised_without_waiting():
    world = stalled_world()
    world.loads[0].paused = False

    world.second()
    woken, limit_w = list(world.woken), world.limit("a")

    assert woken == [0]
    assert world.reason("a") != "stalled"
    assert limit_w > 400.0


def test_the_target_holds_through_lending_and_waking():
    world = World(site(), four())
    world.run(60)
    over = []

    for second in range(240):
        world.loads[0].paused = second % 60 < 20
        world.loads[1].paused = second % 90 < 15
        world.second()
        over.append(world.wall_w - world.fleet.aim_w)

    means = [sum(over[i : i + 10]) / 10 for i in range(0, len(over) - 10)]
    assert max(float(mean.max()) for mean in means) <= 0.003 * world.fleet.aim_w[0]


def test_a_job_that_sets_itself_up_is_lent_from_and_starts_without_delay():
    world = World(site(), four()[:3], limit_w=None)
    world.run(40)
    late = load("late", D, 640.0, started_s=world.now_s, paused=True)
    world.loads.append(late)
    world.jobs_changed()
    world.run(10)
    setting_up = world.reason("late")
    late.paused = False

    world.run(2)

    assert setting_up == "stalled"
    assert world.limit("late") > 400.0


def test_a_job_that_sets_itself_up_takes_no_watts_of_others():
    world = World(site(), four()[:3], limit_w=None)
    world.run(40)
    before = [world.limit(name) for name in "abc"]
    world.loads.append(load("late", D, 640.0, started_s=world.now_s, paused=True))

    world.jobs_changed()
    world.run(3)

    assert world.reason("late") == "stalled"
    assert [world.limit(name) for name in "abc"] == before


def low_for(rows: list[list[float]], seconds: float) -> Stalls:
    """One job of 600 W at full load that draws 100 W; `rows`: how its samples fall into columns, over and over."""
    stalls = Stalls(np.zeros(1, dtype=np.bool_))
    belief = Belief(np.array([600.0]), np.array([500.0]))
    for step in range(round(seconds / (0.1 * len(rows)))):
        for place, row in enumerate(rows):
            sample_w = np.array(row)[:, None]
            now_s = 0.1 * (step * len(rows) + place)
            stalls.add(now_s, sample_w, sample_w[-1], np.array([480.0]), belief, 0.1)
    return stalls


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[100.0]], id="one in each column"),
        pytest.param([[np.nan], [100.0, 100.0]], id="none, then two at once"),
        pytest.param([[np.nan, 100.0]], id="one, beside a node that had two"),
    ],
)
def test_a_job_stalls_however_its_samples_fall_into_columns(rows: list[list[float]]) -> None:
    assert low_for(rows, 4.5).stalled.all()
    assert not low_for(rows, 3.5).stalled.any()


def test_a_gap_ends_a_stalls_counting() -> None:
    rows = [[100.0]] * 30 + [[np.nan]] * 6

    assert not low_for(rows, 20.0).stalled.any()


def pausing(world, waits_s, computes_s=40, times=4):
    """Stalls of `waits_s` each; how often the first job's watts were lent, by stall."""
    lent = []
    for _ in range(times):
        world.loads[0].paused = True
        stalled = []
        for _ in range(waits_s):
            world.second()
            stalled.append(world.reason("a") == "stalled")
        lent.append(any(stalled))
        world.loads[0].paused = False
        world.run(computes_s)
    return lent


def test_watts_that_are_back_within_seconds_are_lent_once_and_not_again():
    world = World(site(), four())
    world.run(60)

    lent = pausing(world, waits_s=7)

    assert lent == [True, False, False, False]


def test_long_stalls_lend_their_watts_every_time():
    world = World(site(), four())
    world.run(60)

    assert pausing(world, waits_s=20) == [True] * 4


def test_a_stall_that_lasts_far_longer_than_those_before_it_is_lent_from_all_the_same():
    world = World(site(), four())
    world.run(60)
    pausing(world, waits_s=7, times=2)

    world.loads[0].paused = True
    world.run(14)

    assert world.reason("a") == "stalled"


def test_a_set_up_teaches_nothing_of_the_stalls_to_come():
    stalls = Stalls(np.array([True]))
    low_w, high_w, belief = (
        np.full((1, 1), 100.0),
        np.full((1, 1), 500.0),
        Belief(np.array([600.0]), np.array([600.0])),
    )

    for step in range(80):
        stalls.add(step / 10, low_w, low_w[0], np.array([580.0]), belief, 0.1)
    stalls.add(8.0, high_w, high_w[0], np.array([580.0]), belief, 0.1)

    assert np.isnan(stalls.usual_s[0])
    assert stalls.after_s[0] == 4.0
