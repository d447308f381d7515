"""The hall lives many runs at once by the physics of the twin: the same numbers as the twin's single run."""

import numpy as np
import pytest

from easyrider_bench.breakers import times_to_trip_s
from easyrider_bench.cases import STEP_S, WARM_UP_S, Case, HallJob, Key
from easyrider_bench.controllers.contract import Entry, PriorityClass, Site, SiteDomain
from easyrider_bench.hall import Hall
from easyrider_twin.domains import time_to_trip_s
from easyrider_twin.gpus import STEP_S as TWIN_STEP_S
from easyrider_twin.plant import Plant
from easyrider_twin.programs import Synthetic
from easyrider_twin.world import PDU_CURVE, UPS_CURVE, Domain, Job, Node, World

SECONDS = 60.0


def world(rating_w: float) -> World:
    """Two nodes, a job over one and a half of them and a smaller one."""
    programs = [
        Synthetic(seed=k, period_s=3.0 + k, setup_s=5.0, checkpoint_every_s=20.0, checkpoint_s=4.0)
        for k in (1, 2)
    ]
    return World(
        name="two-nodes",
        seed=5,
        nodes=(Node(id="a", domain="ups"), Node(id="b", domain="ups")),
        domains=(
            Domain(
                id="ups",
                kind="ups",
                rating_w=rating_w,
                hard_limit_w=rating_w,
                target_w=0.8 * rating_w,
                curve=UPS_CURVE,
                fixed_w=250.0,
            ),
        ),
        jobs=(
            Job(
                id="big", type_key="big", gpus={"a": tuple(range(8)), "b": (0, 1, 2, 3)}, program=programs[0]
            ),
            Job(id="small", type_key="small", gpus={"b": (4, 5, 6)}, program=programs[1]),
        ),
    )


def case(twin: World, plant: Plant) -> Case:
    """The same hall, its jobs on the twin's own tapes."""
    domain, boards = twin.domains[0], plant.layout.gpus
    site = Site(
        name=twin.name,
        domains=(
            SiteDomain(
                id="ups",
                kind="ups",
                parent=None,
                rating_w=domain.rating_w,
                hard_limit_w=domain.hard_limit_w,
                target_w=domain.target_w,
                fixed_w=domain.fixed_w,
                curve=domain.curve,
            ),
        ),
        node_ids=("a", "b"),
        node_of=plant.layout.node_of,
        domain_of=np.zeros(2, dtype=np.intp),
        carries=np.ones((1, 2)),
        contains=np.ones((1, 1)),
        feeds=None,
        min_w=plant.layout.min_limit_w,
        max_w=plant.layout.max_limit_w,
        idle_w=75.0,
        overhead_w=np.full(2, 1600.0),
        overhead_slope=np.full(2, 1.23),
        overshoot_max=1.03,
        priorities={"normal": PriorityClass(weight=1.0)},
        command_delay_s=(0.04, 0.12),
        dead_time_s=0.05,
        settle_s=0.2,
        meter_period_s=1.0,
        meter_delay_s=0.3,
        event_delay_s=0.2,
        dead_man_s=10.0,
    )
    jobs = [
        HallJob(
            id=job.spec.id,
            type_key=job.spec.type_key,
            priority_class="normal",
            boards=job.boards,
            begin_s=WARM_UP_S,
            end_s=WARM_UP_S + SECONDS,
            tape=job.tape,
        )
        for job in plant.jobs.running
    ]
    assert boards == 16
    return Case(
        key=Key(scenario="two-nodes", oversub_pct=0, seed=5, seconds=SECONDS),
        target_share=0.8,
        site=site,
        jobs=tuple(jobs),
    )


def both(rating_w: float, cap_w: float | None) -> tuple[Plant, list[float], Hall, np.ndarray]:
    """(plant, its 50 ms means of wall power, hall, the same of the hall) after one minute under one cap."""
    twin = world(rating_w)
    plant = Plant(twin)
    hall = Hall([case(twin, plant)] * 2, Entry(name="none", make=None))
    hall.boards.overshoot[:] = plant.boards.overshoot
    limit_w = np.full(16, 700.0 if cap_w is None else cap_w)
    plant.boards.settle(limit_w)
    hall.limits.enforced_w[:] = limit_w
    plant.jobs.start()
    walls = []
    for _ in range(round(SECONDS / TWIN_STEP_S)):
        plant.step(limit_w)
        walls.append(float(plant.domains.wall_w[0]))
    records = hall.run()
    assert np.array_equal(records[0].wall_w, records[1].wall_w)  # runs on one axis do not disturb each other
    pairs = np.array(walls).reshape(-1, round(STEP_S / TWIN_STEP_S)).mean(axis=1).tolist()
    return plant, pairs, hall, records[0].wall_w[:, 0].astype(np.float64)


@pytest.mark.parametrize("cap_w", [None, 450.0, 300.0])
def test_the_hall_draws_and_works_as_the_twin_does(cap_w: float | None) -> None:
    plant, twins_w, hall, ours_w = both(1e6, cap_w)

    apart_w = np.abs(ours_w - np.array(twins_w))
    assert ours_w.mean() == pytest.approx(np.mean(twins_w), rel=2e-3)
    assert np.quantile(apart_w, 0.95) < 0.01 * np.mean(twins_w)  # but for the step in which a draw jumps
    played = [job.played_s for job in plant.jobs.running]
    assert hall.timelines.played_s[:2] == pytest.approx(played, rel=2e-3)


def test_an_overloaded_ups_opens_when_the_twins_does_and_its_jobs_end() -> None:
    plant, _, hall, ours_w = both(8_500.0, None)

    assert [opened.run for opened in hall.supply.opened] == [0, 1]
    assert hall.supply.opened[0].at_s - WARM_UP_S == pytest.approx(plant.trips[0].t_s, abs=0.2)
    assert ours_w[-1] == 0.0
    assert hall.timelines.killed.all()


@pytest.mark.parametrize("curve", [UPS_CURVE, PDU_CURVE])
def test_times_to_trip_of_many_devices_are_those_of_one(curve: tuple[tuple[float, float], ...]) -> None:
    multiples = np.linspace(curve[0][0], 3.0, 40)

    many_s = times_to_trip_s(np.array(curve), multiples)

    assert many_s == pytest.approx([time_to_trip_s(curve, m) for m in multiples.tolist()])
