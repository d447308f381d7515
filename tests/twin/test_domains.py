"""Wall watts, inverse-time trips and supply modules."""

import math

import numpy as np
import pytest

from easyrider_twin.domains import Domains, time_to_trip_s
from easyrider_twin.layout import layout
from easyrider_twin.programs import Synthetic
from easyrider_twin.simulate import busiest_minute, simulate
from easyrider_twin.world import (
    PDU_CURVE,
    UPS_CURVE,
    BadWorld,
    Domain,
    Job,
    ModuleFailure,
    Node,
    World,
    check,
    dump,
    read,
)

GOES_ON = Synthetic(communication_share=0.0, setup_s=0.0, checkpoint_every_s=None, plateau_ratio=0.9)


def tree(
    rating_w: float = 20_000.0, failures: tuple[ModuleFailure, ...] = (), jobs: tuple[Job, ...] = ()
) -> World:
    """A UPS over two PDUs, one node each, 100 W fixed at the first PDU."""
    ups = Domain(
        id="ups",
        kind="ups",
        rating_w=rating_w,
        hard_limit_w=rating_w,
        target_w=0.8 * rating_w,
        curve=UPS_CURVE,
        modules=5,
    )
    pdus = tuple(
        Domain(id=f"pdu{k}", kind="pdu", parent="ups", rating_w=1e5, hard_limit_w=1e5, target_w=1e5, curve=PDU_CURVE,
               fixed_w=100.0 if k == 0 else 0.0)
        for k in range(2)
    )  # fmt: skip
    nodes = tuple(Node(id=f"n{k}", domain=f"pdu{k}") for k in range(2))
    return World(name="tree", nodes=nodes, domains=(ups, *pdus), failures=failures, jobs=jobs)


def jobs() -> tuple[Job, ...]:
    return tuple(
        Job(id=f"j{k}", type_key="t", gpus={f"n{k}": tuple(range(8))}, program=GOES_ON) for k in range(2)
    )


@pytest.mark.parametrize(("multiple", "seconds"), [(1.10, 600), (1.25, 60), (1.5, 10), (1.3, 41.9)])
def test_the_curve_is_linear_in_log_time(multiple: float, seconds: float) -> None:
    assert time_to_trip_s(UPS_CURVE, multiple) == pytest.approx(seconds, rel=0.01)


def test_below_its_first_point_a_device_holds_for_ever() -> None:
    assert time_to_trip_s(UPS_CURVE, 1.09) == math.inf
    assert time_to_trip_s((), 3.0) == math.inf


def test_past_the_last_point_it_opens_faster_still() -> None:
    assert time_to_trip_s(UPS_CURVE, 2.0) < 1.0


def test_wall_power_is_overhead_plus_slope_times_boards_plus_what_is_fixed() -> None:
    world = tree()
    domains = Domains(world, layout(world))

    domains.load(np.full(16, 500.0), 0.025, 0.0)

    node_w = 1600 + 1.23 * 8 * 500
    assert domains.by_id(domains.wall_w) == pytest.approx(
        {"ups": 2 * node_w + 100, "pdu0": node_w + 100, "pdu1": node_w}
    )


def test_a_constant_overload_trips_when_the_curve_says() -> None:
    world = tree()
    domains = Domains(world, layout(world))
    watts = (1.3 * 20_000 - 100 - 2 * 1600) / (1.23 * 16)
    steps = 0
    while not domains.load(np.full(16, watts), 0.025, 0.0):
        steps += 1

    assert steps * 0.025 == pytest.approx(41.9, rel=0.01)


def test_heat_leaves_when_the_overload_ends() -> None:
    world = tree()
    domains = Domains(world, layout(world))
    for _ in range(1200):
        domains.load(np.full(16, 1160.0), 0.025, 0.0)
    hot = domains.devices["ups"].heat
    for _ in range(4800):
        domains.load(np.full(16, 100.0), 0.025, 0.0)

    assert hot > 0.5
    assert domains.devices["ups"].heat == pytest.approx(hot / math.e, rel=0.01)


def test_lost_modules_shrink_capacity_and_both_limits_and_come_back() -> None:
    outcome = simulate(tree(failures=(ModuleFailure(domain="ups", at_s=2.0, for_s=3.0),)), 8)

    assert outcome.hard_w["ups"][[5, 25, 45, 55]] == pytest.approx([20e3, 16e3, 16e3, 20e3])
    assert outcome.target_w["ups"][[5, 25, 55]] == pytest.approx([16e3, 12.8e3, 16e3])
    assert (outcome.hard_w["pdu0"] == 1e5).all()


def test_a_trip_darkens_all_below_and_ends_its_jobs() -> None:
    world = tree(12_000.0, jobs=jobs())  # 15.7 kW: 1.3 x
    outcome = simulate(world, 80)

    assert [trip.domain for trip in outcome.trips] == ["ups"]
    assert outcome.wall_w["ups"][-1] == outcome.wall_w["pdu0"][-1] == 0.0
    assert all(job.killed_at_s == pytest.approx(outcome.trips[0].t_s) for job in outcome.jobs)
    assert outcome.work_lost_pct == pytest.approx(100 * (1 - outcome.trips[0].t_s / 80), abs=0.1)


def test_a_supply_that_loses_all_its_modules_is_dark_at_once() -> None:
    outcome = simulate(
        tree(jobs=jobs(), failures=(ModuleFailure(domain="ups", at_s=2.0, for_s=5.0, modules=5),)), 4
    )

    assert [(trip.domain, round(trip.t_s, 1)) for trip in outcome.trips] == [("ups", 2.0)]
    assert outcome.wall_w["ups"][-1] == 0.0


def test_with_trips_off_the_same_world_stays_up() -> None:
    assert simulate(tree(12_000.0, jobs=jobs()), 80, trips=False).work_lost_pct == pytest.approx(
        0.0, abs=1e-9
    )


def test_the_busiest_minute_is_looked_for_where_it_begins() -> None:
    outcome = simulate(tree(1e6, jobs=jobs()), 100)

    begin_s, mean_w = busiest_minute(outcome, "ups", earliest_s=30, latest_s=40)

    assert 30 <= begin_s <= 40
    assert mean_w == pytest.approx(
        outcome.wall_w["ups"][round(begin_s * 10) : round(begin_s * 10) + 600].mean()
    )
    with pytest.raises(ValueError, match="no window"):
        busiest_minute(outcome, "ups", earliest_s=50, latest_s=60)


def test_a_world_survives_its_own_dump(tmp_path) -> None:
    world = tree(failures=(ModuleFailure(domain="ups", at_s=2.0, for_s=3.0),), jobs=jobs())
    (tmp_path / "world.yaml").write_text(dump(world))

    assert read(tmp_path / "world.yaml") == world


def test_an_unknown_key_is_refused_by_name(tmp_path) -> None:
    (tmp_path / "world.yaml").write_text(dump(tree()).replace('"rating_w"', '"ratng_w"', 1))

    with pytest.raises(BadWorld, match="ratng_w"):
        read(tmp_path / "world.yaml")


def test_every_broken_reference_is_named_at_once() -> None:
    world = World(
        name="bad",
        nodes=(Node(id="n", domain="nowhere"), Node(id="n", domain="a", model="x")),
        domains=(Domain(id="a", kind="pdu", parent="b", rating_w=1, hard_limit_w=1, target_w=1),),
        jobs=(Job(id="j", type_key="t", gpus={"n": (9,)}, program=GOES_ON),),
        failures=(ModuleFailure(domain="a", at_s=0, for_s=1),),
    )

    with pytest.raises(BadWorld) as refused:
        check(world)

    assert len(refused.value.faults) == 6
