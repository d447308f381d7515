"""The demonstration rack follows one formula, and losing a module uncontrolled brings it down."""

import gzip
import math
import time
from pathlib import Path

import pytest

from easyrider_twin.programs import Recorded, Synthetic
from easyrider_twin.rack import demo_world, static_cap_w
from easyrider_twin.simulate import busiest_minute, simulate
from easyrider_twin.world import Domain, Job, Node, World, check

SECONDS = 150.0


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_the_rack_is_sized_by_its_formula_and_trips_without_control(seed: int) -> None:
    world = demo_world(seed, SECONDS)
    (failure,) = world.failures
    ups = world.domains[0]

    begin_s, mean_w = busiest_minute(
        simulate(world, SECONDS, trips=False, failures=False), "ups", earliest_s=45.0, latest_s=75.0
    )
    uncontrolled = simulate(world, SECONDS)

    check(world)
    assert mean_w == pytest.approx(1.3 * 0.8 * ups.rating_w)
    assert failure.at_s == pytest.approx(begin_s)
    assert 45.0 <= failure.at_s <= 75.0
    first = uncontrolled.trips[0]
    assert failure.at_s <= first.t_s
    assert 1.3 * (first.t_s - failure.at_s) <= failure.for_s + 0.2
    assert 0.20 * SECONDS <= failure.for_s <= 0.45 * SECONDS
    assert uncontrolled.work_lost_pct > 20


@pytest.mark.parametrize("seed", [1, 2])
def test_the_static_cap_fills_the_target_that_is_left_and_keeps_the_rack_up(seed: int) -> None:
    world = demo_world(seed, SECONDS)
    cap_w = static_cap_w(world)

    outcome = simulate(world, SECONDS, caps_w=cap_w)

    wall_w = 250.0 + 4 * (1600 + 1.23 * 8 * cap_w)
    assert wall_w == pytest.approx(world.domains[0].target_w * 0.8)
    assert outcome.trips == ()
    assert 1 < outcome.work_lost_pct < 50


def test_two_nodes_replay_whole_recorded_nodes_and_two_share_one_synthetic_job() -> None:
    world = demo_world(1, SECONDS)

    recorded = [job for job in world.jobs if isinstance(job.program, Recorded)]
    (synthetic,) = [job for job in world.jobs if isinstance(job.program, Synthetic)]
    assert [list(job.gpus) for job in recorded] == [["node-1"], ["node-2"]]
    assert all("8x700w" in job.program.trace for job in recorded)
    assert sum(len(boards) for boards in synthetic.gpus.values()) == 16
    assert synthetic.program.checkpoint_every_s is not None
    assert any("synthetic" in note for note in world.notes)


def test_seeds_differ_and_repeat() -> None:
    assert demo_world(1, SECONDS) == demo_world(1, SECONDS)
    assert demo_world(1, SECONDS).jobs != demo_world(2, SECONDS).jobs


def test_a_folder_of_smaller_and_short_recordings_serves_and_says_what_was_done(tmp_path: Path) -> None:
    rows = "".join(f"{k * 0.1:.1f},0,{250 + 100 * math.sin(k / 10):.1f}\n" for k in range(300))
    (tmp_path / "one__1x400w.csv.gz").write_bytes(gzip.compress(f"t_s,gpu,power_w\n{rows}".encode()))

    world = demo_world(1, SECONDS, tmp_path)

    assert simulate(world, SECONDS).trips
    assert sum("1 boards repeated, scaled from 400 W to 700 W" in note for note in world.notes) == 2


def test_a_run_too_short_for_a_minute_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        demo_world(1, 90.0)


def test_64_gpus_run_at_least_ten_times_as_fast_as_time() -> None:
    program = Synthetic(period_s=1.1, checkpoint_every_s=60.0)
    room = {"rating_w": 1e5, "hard_limit_w": 1e5, "target_w": 1e5}
    ups = Domain(id="ups", kind="ups", **room)
    world = World(
        name="fast",
        nodes=tuple(Node(id=f"n{k}", domain=f"pdu{k % 2}") for k in range(8)),
        domains=(ups, *(Domain(id=f"pdu{k}", kind="pdu", parent="ups", **room) for k in range(2))),
        jobs=tuple(
            Job(id=f"j{k}", type_key="t", gpus={f"n{k}": tuple(range(8))}, program=program) for k in range(8)
        ),
    )
    began = time.process_time()

    simulate(world, 60, caps_w=450.0)

    assert 60 / (time.process_time() - began) >= 10


def test_a_failure_that_may_not_last_long_enough_says_so() -> None:
    world = demo_world(8, 120.0)

    (failure,) = world.failures
    assert failure.for_s == pytest.approx(0.45 * 120.0)
    assert any("1.28 times what the UPS carries it, not 1.3" in note for note in world.notes)


@pytest.mark.parametrize(("seed", "odd"), [(1, False), (2, False), (38, True)])
def test_a_rack_that_goes_down_without_any_failure_says_so(seed: int, odd: bool) -> None:
    world = demo_world(seed, SECONDS)

    assert bool(simulate(world, SECONDS, failures=False).trips) == odd
    assert any("even with all its modules" in note for note in world.notes) == odd
