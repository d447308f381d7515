"""One who wakes has its watts back from its own domains at once, and nothing else moves until the next whole plan."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import PDU_A, World, load, site

from easyrider.tree import Pacing
from easyrider_policy.core import giving_way
from easyrider_policy.core.giving_way import given_way
from easyrider_policy.core.holds import Held
from easyrider_policy.core.layout import layout
from easyrider_policy.core.pacing import TOLERANCE_W, counts
from easyrider_policy.core.records import Decision, Situation

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)
WIDE = {"ups_w": 60_000.0, "pdu_w": 18_000.0}
"""Of the UPS: nobody needs to give way across PDUs, which are tight."""


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """In a hall of four jobs two are half of all."""
    monkeypatch.setattr(giving_way, "MOST_SHARE", 1.0)


def situation(world: World, **changed) -> Situation:
    zero = np.zeros(len(world.fleet.domains))
    now = Situation(
        now_s=world.now_s,
        limit_w=world.limit_w,
        steered=~world.silent,
        counted_w=world.limit_w,
        hard_w=world.fleet.hard_w,
        target_w=world.fleet.aim_w,
        unmanaged_hard_w=zero,
        unmanaged_target_w=zero,
        confidence=1.0,
    )
    return replace(now, **changed)


def waiting(of_site, **job) -> World:
    """The first of four jobs waits, and its watts are lent out."""
    loads = [load(name, rows, 640.0, **job) for name, rows in zip("abcd", (A, B, C, D), strict=True)]
    world = World(of_site, loads)
    world.run(60)
    world.loads[0].paused = True
    world.run(40)
    assert world.reason("a") == "stalled"
    return world


def wakes(world: World) -> np.ndarray:
    """It draws again; what was seen of that is in the observation, and no plan is made."""
    world.loads[0].paused = False
    world.now_s += 1.0
    seen_w = world.columns()
    woken = world.observation.add(world.now_s, seen_w, world.limit_w)
    world.walls.add(world.observation.believed_w(seen_w))
    assert list(woken) == [0]
    return woken


def answer(world: World, woken, **changed) -> Decision | None:
    return given_way(world.observation, situation(world, **changed), world.decision, woken, world.pacing)


def test_who_wakes_gets_of_its_domain_what_a_whole_plan_would_give_and_nobody_else_is_asked():
    world = waiting(site(**WIDE))
    before = world.decision

    few = answer(world, wakes(world))
    whole = world.plan()

    assert few.job_limit_w[:2] == pytest.approx(whole.job_limit_w[:2], rel=2e-3)
    assert few.job_limit_w[0] > before.job_limit_w[0] + 100.0
    assert few.job_limit_w[1] < before.job_limit_w[1] - 50.0
    assert few.job_limit_w[2:] == pytest.approx(before.job_limit_w[2:])
    assert few.reasons[:2] == whole.reasons[:2]
    assert few.reasons[2:] == before.reasons[2:]
    assert few.slowdown[:2] == pytest.approx(whole.slowdown[:2], abs=2e-3)
    assert not few.stalled[0]
    assert few.wanted_w[list(A)] == pytest.approx(few.job_limit_w[0])


def test_where_a_domain_further_up_is_the_one_that_is_full_all_below_it_give_way():
    world = waiting(site(pdu_w=60_000.0))
    before = world.decision

    few = answer(world, wakes(world))

    assert (few.job_limit_w[1:] < before.job_limit_w[1:] - 20.0).all()
    assert few.reasons[1:] == ("target:ups",) * 3


def test_where_there_is_room_nobody_gives_way():
    world = waiting(site(ups_w=90_000.0, pdu_w=60_000.0))
    before = world.decision

    few = answer(world, wakes(world))

    assert few.job_limit_w[1:] == pytest.approx(before.job_limit_w[1:])
    assert few.job_limit_w[0] >= 640.0


def test_what_the_domain_is_reckoned_to_draw_follows():
    world = waiting(site(**WIDE))

    few = answer(world, wakes(world))
    whole = world.plan()

    assert few.reckoned_w == pytest.approx(whole.reckoned_w, rel=5e-3)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_wakes_no_domain_is_filled_further_than_it_was_or_than_its_limits_allow(seed):
    rng = np.random.default_rng(seed)
    hall = site(ups_w=rng.uniform(26_000, 60_000), pdu_w=rng.uniform(16_000, 40_000))
    cuts = np.sort(rng.choice(np.arange(1, 32), size=5, replace=False))
    rows = np.split(rng.permutation(32) if seed % 2 else np.arange(32), cuts)
    loads = [
        load(f"j{i}", of.tolist(), rng.uniform(400, 690), weight=float(rng.choice([1, 2, 4])))
        for i, of in enumerate(rows)
    ]
    world = World(hall, loads)
    world.run(30)
    asleep = rng.choice(len(loads), size=2, replace=False)
    for row in asleep:
        world.loads[row].paused = True
    world.run(20)
    for row in asleep:
        world.loads[row].paused = False
    world.now_s += 1.0
    woken = world.observation.add(world.now_s, world.columns(), world.limit_w)
    before = world.decision

    few = answer(world, woken)

    assert few is not None
    room = before.memory.solution.question.room
    problem = world.plan().memory.solution.problem  # as everything counts when it is looked at whole
    was_w, is_w = (counts(problem, problem.peak_w, each.job_limit_w) for each in (before, few))
    assert (is_w <= np.maximum(room.target_w + TOLERANCE_W, was_w + 1e-6)).all()
    held_w = problem.held_w(few.job_limit_w)
    assert (held_w <= np.maximum(room.hard_w, problem.held_w(before.job_limit_w)) + 1e-6).all()
    raised = np.flatnonzero(few.job_limit_w > before.job_limit_w + 1.0)
    met = {d for d, j in zip(problem.layout.pair_domain, problem.layout.pair_job, strict=True) if j in woken}
    beside = {j for d, j in zip(problem.layout.pair_domain, problem.layout.pair_job, strict=True) if d in met}
    assert set(raised.tolist()) <= beside


def test_who_wakes_while_another_s_raise_has_not_been_asked_yet_does_not_spend_its_watts_again():
    world = waiting(site(**WIDE))
    few = answer(world, wakes(world))
    world.decision = few  # its raise waits for room: of its boards nothing is asked yet
    world.limit_w[list(B)] = few.job_limit_w[1]

    again = answer(world, np.array([0]))

    assert again.job_limit_w == pytest.approx(few.job_limit_w, rel=2e-3)


@pytest.mark.parametrize(
    "why",
    ["a ramp", "a hold", "another layout", "too many"],
)
def test_where_more_than_the_woken_matters_only_a_whole_plan_can_tell(why, monkeypatch):
    world = waiting(site(ramps={"ups": 500.0}) if why == "a ramp" else site(**WIDE))
    woken, changed = wakes(world), {}
    if why == "a hold":
        rows = np.arange(32) < 1
        changed = {"holds": Held(rows, np.where(rows, 0, -1), ("hold:x",))}
    elif why == "another layout":
        world.observation = world.observation.carried(layout(world.fleet, world.placed.jobs))
    elif why == "too many":
        monkeypatch.setattr(giving_way, "MOST_SHARE", 0.3)

    assert answer(world, woken, **changed) is None


def test_a_job_that_something_else_holds_is_raised_by_nobody():
    world = waiting(site(**WIDE))
    woken = wakes(world)
    world.observation.limiters.other[list(A)] = True
    before = world.decision

    few = answer(world, woken)

    assert few.job_limit_w[0] == pytest.approx(before.job_limit_w[0])
    assert world.fleet.domains[PDU_A] == "pdu-a"
    assert world.pacing == Pacing()


def test_of_who_sleeps_again_or_is_not_ours_to_steer_nothing_was_lent_and_nothing_moves():
    world = waiting(site(**WIDE))
    wakes(world)
    world.observation.stalls.stalled[0] = True

    assert answer(world, np.array([0])) is world.decision
