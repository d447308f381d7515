"""What binds a job or a domain, what it costs and what would free it: every number is held against a new sharing."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import PDU_A, UPS, World, load, site

from easyrider_policy.core import explain
from easyrider_policy.core.allocate import allocate
from easyrider_policy.core.ways import ways_of

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def four(peak_w=640.0, **kw):
    return [load(name, rows, peak_w, **kw) for name, rows in zip("abcd", (A, B, C, D), strict=True)]


def row_of(world, name):
    return [job.id for job in world.placed.jobs].index(name)


def job_of(world, name):
    row = row_of(world, name)
    decision = world.decision
    return explain.job(decision, decision.memory.solution, row, [decision.reasons[row]])


def domain_of(world, row, reasons=()):
    return explain.domain(world.decision, world.decision.memory.solution, row, reasons)


def shared(world, target_rise_w=None, hard_rise_w=None):
    """Watts of a sharing with so much more room (D,)."""
    problem = world.decision.memory.solution.problem
    nothing = np.zeros(problem.layout.domain_count)
    return allocate(
        replace(
            problem,
            target_w=problem.target_w + (nothing if target_rise_w is None else target_rise_w),
            hard_w=problem.hard_w + (nothing if hard_rise_w is None else hard_rise_w),
        )
    ).watts


def rises(world, explained):
    """The rises (D,) that ways name, by target and by hard limit."""
    found = {act: np.zeros(len(world.fleet.domains)) for act in ("raise_target", "raise_hard_limit")}
    for way in explained.frees:
        if way.act in found:
            found[way.act][world.fleet.domain_index[way.place]] = way.by_w
    return found["raise_target"], found["raise_hard_limit"]


TIGHT = {
    "one target": lambda: World(site(), four()),
    "unlike weights": lambda: World(
        site(), [load("a", A, 640.0, weight=4.0), *four()[1:]]
    ),
    "nested targets": lambda: World(site(ups_w=35_000, pdu_w=17_000), four()),
    "a hard limit": lambda: World(site(hard_is_target=("pdu-a",), pdu_w=17_500), four(), limit_w=np.full(32, 200.0)),
    "a spanning job": lambda: World(
        site(pdu_w=17_500), [load("a", range(4, 20), 640.0), load("b", range(0, 4), 640.0), load("c", D, 640.0)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("made", TIGHT.values(), ids=TIGHT)
def test_with_the_watts_that_would_free_a_job_it_takes_all_it_can_use_and_with_fewer_it_does_not(made):
    world = made()
    world.run(60)
    problem = world.decision.memory.solution.problem
    bound = [job.id for job in world.placed.jobs if job_of(world, job.id).binds]
    assert bound

    for name in bound:
        row, (target_w, hard_w) = row_of(world, name), rises(world, job_of(world, name))

        assert shared(world, target_w + 20.0, hard_w + 20.0)[row] >= 0.995 * problem.top_w[row], name
        assert shared(world, 0.6 * target_w, 0.6 * hard_w)[row] < 0.999 * problem.top_w[row], name


def test_one_more_watt_is_worth_what_the_price_says():
    world = World(site(), four())
    world.run(60)
    solution = world.decision.memory.solution
    more_w = np.zeros(3)
    more_w[UPS] = 100.0

    binds = domain_of(world, UPS).binds
    gained = solution.problem.value(shared(world, more_w)) - solution.problem.value(shared(world))

    assert (binds.domain, binds.limit) == ("ups", "target")
    assert gained / 100.0 == pytest.approx(binds.price, rel=0.1)


def test_one_more_watt_on_its_boards_gives_a_job_the_speed_that_is_told():
    world = World(site(), four())
    world.run(60)
    problem, watts = world.decision.memory.solution.problem, world.decision.memory.solution.allocation.watts
    one = np.zeros(4)
    one[0] = 1.0

    gained = (problem.value(watts + one) - problem.value(watts)) / problem.boards[0]

    assert job_of(world, "a").cost.speed_per_board_w == pytest.approx(gained, rel=0.05)


def test_the_cost_of_a_job_is_its_slowdown_and_the_watts_between_its_limit_and_its_draw():
    world = World(site(), four())
    decision = world.run(60)

    cost = job_of(world, "a").cost

    assert cost.slowdown == pytest.approx(decision.slowdown[0])
    assert cost.slowdown > 0.01
    assert cost.lost_boards == pytest.approx(8 * cost.slowdown)
    assert cost.taken_board_w == pytest.approx(8 * (decision.demand_w[0] - decision.job_limit_w[0]))
    assert cost.taken_wall_w == pytest.approx(1.23 * cost.taken_board_w, rel=0.04)


def test_a_domain_tells_whom_it_binds_at_what_cost_and_frees_all_of_them_by_what_it_says():
    world = World(site(), four())
    decision = world.run(60)
    problem = decision.memory.solution.problem

    told = domain_of(world, UPS)
    target_w, hard_w = rises(world, told)

    assert {job.job for job in told.jobs} == set("abcd")
    assert told.bound_jobs == 4
    assert told.lost_boards == pytest.approx(8 * decision.slowdown.sum())
    assert told.taken_wall_w > 0
    freed_w = shared(world, target_w + 20.0, hard_w + 20.0)
    assert (freed_w >= 0.995 * problem.top_w).all()
    assert domain_of(world, PDU_A).binds is None


def test_with_room_for_all_nothing_binds_costs_or_needs_to_be_freed():
    world = World(site(ups_w=80_000, pdu_w=40_000), four(600.0))
    world.run(30)

    for explained in (job_of(world, "a"), domain_of(world, UPS)):
        assert not explained.binds
        assert explained.frees == ()
    assert job_of(world, "a").cost.taken_wall_w == 0.0
    assert job_of(world, "a").cost.speed_per_board_w == 0.0


def test_a_domain_that_cannot_be_kept_tells_the_watts_that_must_go():
    world = World(site(pdu_w=8_000), four())
    decision = world.run(60)

    told = domain_of(world, PDU_A)

    (shed,) = [way for way in told.frees if way.act == "shed_load"]
    assert shed.by_w == told.missing_w == pytest.approx(decision.missing_w[PDU_A])
    assert shed.by_w > 0


def test_a_stalled_job_is_freed_by_waking_and_by_no_watts():
    loads = four()
    world = World(site(), loads)
    world.run(30)
    loads[0].paused = True
    world.run(20)
    assert world.reason("a") == "stalled"

    told = job_of(world, "a")

    assert told.binds == ()
    assert [way.act for way in told.frees] == ["wait"]


@pytest.mark.parametrize(
    ("reason", "act", "place"),
    [
        ("hold:hall-2", "clear_hold", "hall-2"),
        ("guardian_hold:n1", "clear_node_hold", "n1"),
        ("load_target:night", "end_load_target", "night"),
        ("silent:n1", "restore_node", "n1"),
        ("not_ours", "change_mode", ""),
        ("held", "look_at_board", ""),
        ("meter:pdu", "restore_meter", "pdu"),
        ("room:pdu", "wait", "pdu"),
    ],
)
def test_what_is_no_matter_of_price_names_where_to_turn_to(reason, act, place):
    (way,) = ways_of(reason)

    assert (way.act, way.place) == (act, place)


@pytest.mark.parametrize("reason", ["natural", "target:ups", "hard:pdu", ""])
def test_what_a_price_explains_or_nothing_binds_has_no_other_way(reason):
    assert ways_of(reason) == ()
