"""What a limit does to a draw, a job and a clock."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import easyrider_twin
from easyrider_twin import speed
from easyrider_twin.gpus import STEP_S
from easyrider_twin.plant import Plant
from easyrider_twin.programs import Synthetic
from easyrider_twin.simulate import Snapshot, simulate
from easyrider_twin.world import Domain, Job, Node, World

FLAT = Synthetic(
    communication_share=0.0, setup_s=0.0, checkpoint_every_s=None, plateau_ratio=0.9, length_s=600.0
)


def site(*jobs: Job, nodes: int = 2, rating_w: float = 1e6, **domain: object) -> World:
    """Nodes of eight boards under one domain, large unless told otherwise."""
    limits = {"rating_w": rating_w, "hard_limit_w": rating_w, "target_w": rating_w} | domain
    return World(
        name="site",
        seed=5,
        nodes=tuple(Node(id=f"n{k}", domain="rack") for k in range(nodes)),
        domains=(Domain(id="rack", kind="ups", **limits),),
        jobs=jobs,
    )


def flat_job(program: Synthetic = FLAT, nodes: int = 1) -> Job:
    return Job(
        id="flat", type_key="flat", gpus={f"n{k}": tuple(range(8)) for k in range(nodes)}, program=program
    )


def settled(world: World, limit_w: np.ndarray | float, seconds: float = 5.0) -> Plant:
    plant = Plant(world)
    plant.jobs.start()
    for _ in range(round(seconds / STEP_S)):
        plant.step(np.full(plant.layout.gpus, limit_w) if isinstance(limit_w, float) else limit_w)
    return plant


def test_the_speed_curve_is_the_one_measured() -> None:
    table = Path(easyrider_twin.__file__).parent / "data/speed"
    rows: dict[int, dict[tuple[str, str], tuple[float, float]]] = defaultdict(dict)
    with next(table.glob("*.csv")).open() as file:
        for row in csv.DictReader(file):
            if row["model"] == "gpt3-175b":
                time_s, energy_j = float(row["time_s"]), float(row["energy_j"])
                rows[int(row["sm_clock_mhz"])][row["stage"], row["instruction"]] = (time_s, energy_j / time_s)
    top = rows[1410]

    for clock, stages in rows.items():
        power = float(np.mean([power_w / top[stage][1] for stage, (_, power_w) in stages.items()]))
        measured = float(np.mean([top[stage][0] / time_s for stage, (time_s, _) in stages.items()]))
        if clock >= 855:
            assert speed.compute_bound(np.array([power]))[0] == pytest.approx(measured, abs=0.015), clock


def test_speed_never_falls_with_power() -> None:
    power = np.linspace(0.0, 1.0, 500)

    for curve in (speed.compute_bound, speed.memory_bound, speed.clock_ratio):
        assert (np.diff(curve(power)) >= 0).all()
        assert curve(power)[-1] == pytest.approx(1.0)


def test_a_cap_above_the_natural_draw_costs_nothing() -> None:
    outcome = simulate(site(flat_job()), 20, caps_w=690.0)

    assert outcome.work_lost_pct == pytest.approx(0.0, abs=1e-9)


def test_a_binding_cap_costs_what_the_curve_says() -> None:
    plant = settled(site(flat_job()), 450.0)

    ratio = float((plant.power_w[:8] / plant.jobs.natural_w[:8]).min())
    assert plant.jobs.running[0].speed == pytest.approx(
        float(speed.compute_bound(np.array([ratio]))[0]), rel=0.02
    )
    assert plant.bound[:8].all()


def test_boards_overshoot_a_binding_cap_by_at_most_three_per_cent() -> None:
    plant = settled(site(flat_job(nodes=2)), 400.0)

    share = plant.boards.capped(plant.jobs.natural_w)[0] / 400.0
    assert (share >= 1.0).all()
    assert (share <= 1.03 + 1e-9).all()
    assert share.max() - share.min() > 0.005


def test_a_cap_acts_after_its_dead_time_and_settles_in_a_fifth_of_a_second() -> None:
    plant = settled(site(flat_job()), 700.0)
    before_w = plant.power_w[:8].sum()
    low = np.full(plant.layout.gpus, 400.0)

    plant.step(low)
    plant.step(low)
    assert plant.power_w[:8].sum() == pytest.approx(before_w)
    for _ in range(8):
        plant.step(low)
    assert plant.boards.limit_w[0] == pytest.approx(400.0, abs=0.06 * 300)


def test_a_job_runs_at_its_slowest_board_and_the_others_wait_at_less_power() -> None:
    limit_w = np.full(16, 700.0)
    limit_w[3] = 350.0

    plant = settled(site(flat_job(nodes=2)), limit_w)

    natural = plant.jobs.natural_w
    assert plant.jobs.running[0].speed < 0.8
    assert plant.power_w[0] < 0.9 * natural[0]
    assert plant.power_w[15] < 0.9 * natural[15]


def test_a_capped_job_takes_longer_it_does_not_skip() -> None:
    finite = Synthetic(
        communication_share=0.0, setup_s=0.0, checkpoint_every_s=None, stop_after_s=10.0, length_s=20.0
    )
    world = site(flat_job(finite))

    free, capped = simulate(world, 12), simulate(world, 12, caps_w=400.0)
    long = simulate(world, 60, caps_w=400.0)

    assert free.jobs[0].work_s == pytest.approx(free.jobs[0].uncapped_work_s)
    assert capped.jobs[0].work_s < free.jobs[0].work_s
    assert long.jobs[0].work_s == pytest.approx(free.jobs[0].work_s)


def test_set_up_and_checkpoints_are_no_work() -> None:
    stalling = Synthetic(setup_s=5.0, checkpoint_every_s=10.0, checkpoint_s=5.0, period_s=1.0, length_s=100.0)

    outcome = simulate(site(flat_job(stalling)), 30)

    assert 15 < outcome.jobs[0].uncapped_work_s < 21
    assert outcome.jobs[0].work_s == pytest.approx(outcome.jobs[0].uncapped_work_s)


def test_a_preempted_job_leaves_its_boards_and_comes_back_as_a_new_run() -> None:
    program = Synthetic(
        setup_s=1.0, checkpoint_every_s=None, period_s=0.5, preemptions=((5.0, 3.0),), length_s=60.0
    )
    plant = Plant(site(flat_job(program)))
    plant.jobs.start()
    seen = []
    for _ in range(round(12 / STEP_S)):
        plant.step(plant.layout.default_limit_w)
        job = plant.jobs.running[0]
        seen.append(job.id if job.present else None)

    assert [k for n, k in enumerate(seen) if n == 0 or seen[n - 1] != k] == ["flat", None, "flat-run2"]


def test_a_paused_job_stays_on_its_boards_at_context_power() -> None:
    program = Synthetic(
        setup_s=0.0, checkpoint_every_s=None, period_s=0.5, pauses=((2.0, 5.0),), length_s=60.0
    )

    plant = settled(site(flat_job(program)), 700.0, seconds=4.0)

    assert plant.jobs.running[0].present
    assert plant.power_w[:8] == pytest.approx(np.full(8, 130.0), rel=0.06)


def test_the_same_seed_gives_the_same_run() -> None:
    world = site(flat_job(Synthetic(data_stalls_per_min=10.0, period_s=1.3)))

    first, second = simulate(world, 20), simulate(world, 20)

    assert (first.wall_w["rack"] == second.wall_w["rack"]).all()


def test_a_controller_in_virtual_time_is_asked_and_obeyed() -> None:
    asked: list[float] = []

    def controller(seen: Snapshot) -> np.ndarray:
        asked.append(seen.t_s)
        return np.full(len(seen.limit_w), 300.0)

    outcome = simulate(site(flat_job()), 5, caps_w=controller, control_s=1.0)

    assert asked == pytest.approx([0, 1, 2, 3, 4])
    assert outcome.wall_w["rack"][-1] < 2 * 1600 + 1.23 * (8 * 310 + 8 * 76)
