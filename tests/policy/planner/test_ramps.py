"""Limits open along ramps: soft starts, one job after the other, and no step when a limit comes back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import MIN_W, PDU_A, PDU_B, SLOPE, UPS, World, load, site

from easyrider_policy.core.ramps import RELEASE_PER_S, eased_w, opened, refilled_w, usable_w
from easyrider_policy.core.weights import loads

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)
RAMP = 400.0
NONE = np.full(3, np.inf)


def starting(*jobs, ramps=None, seconds=20):
    """Idle boards at their minimum; then these jobs start. Draws of the UPS and both PDUs a second, and the world."""
    world = World(site(ramps=ramps), [], limit_w=np.full(32, MIN_W))
    world.run(5)
    world.loads = [load(started_s=world.now_s, **job) for job in jobs]
    world.jobs_changed()
    limits = []
    for _ in range(seconds):
        world.second()
        limits.append(world.fleet.wall_w(world.limit_w))
    return np.array(limits), world


def test_a_job_that_starts_opens_along_the_ramp_of_its_domain_until_it_has_what_it_takes():
    allowed_w, world = starting({"name": "a", "gpus": A, "peak_w": 640.0}, ramps={"pdu-a": RAMP}, seconds=9)
    slow = world.reason("a")
    world.run(20)

    steps = np.diff(allowed_w[:, PDU_A])
    assert 0.9 * RAMP < steps[:8].mean() <= steps.max() <= RAMP + 1e-6
    assert slow == "ramp:pdu-a"
    assert world.limit("a") >= 640.0


def test_without_a_ramp_a_job_has_at_once_what_it_may_take():
    allowed_w, world = starting({"name": "a", "gpus": A, "peak_w": 640.0}, seconds=2)

    assert world.limit("a") >= 640.0
    assert allowed_w[0, PDU_A] - world.fleet.wall_w(np.full(32, MIN_W))[PDU_A] > 8 * SLOPE * 300.0


def test_of_two_that_start_together_the_one_that_weighs_more_goes_first_and_then_the_other():
    jobs = (
        {"name": "research", "gpus": A, "peak_w": 640.0, "weight": 1.0},
        {"name": "production", "gpus": B, "peak_w": 640.0, "weight": 4.0},
    )
    _, world = starting(*jobs, ramps={"pdu-a": 2 * RAMP}, seconds=5)
    early = world.limit("production"), world.limit("research")
    world.run(30)

    assert early[0] > 500.0
    assert early[1] == MIN_W
    assert min(world.limit("production"), world.limit("research")) > 600.0


def test_a_ramp_of_the_ups_holds_over_both_of_its_pdus():
    jobs = tuple(
        {"name": name, "gpus": rows, "peak_w": 640.0} for name, rows in zip("abcd", (A, B, C, D), strict=True)
    )
    allowed_w, _ = starting(*jobs, ramps={"ups": RAMP, "pdu-a": 5 * RAMP})

    assert np.diff(allowed_w[:, UPS]).max() <= RAMP + 1e-6
    assert allowed_w[-1, UPS] - allowed_w[0, UPS] > 0.9 * RAMP * 19


def test_watts_that_one_job_gives_to_another_are_no_ramp():
    world = World(site(), [load("a", A, 640.0), load("b", B, 640.0)])
    placed = world.placed
    weigh = loads(placed, np.ones(32))
    before_w, next_w, natural_w = np.array([600.0, 300.0]), np.array([300.0, 600.0]), np.full(2, 640.0)

    given_w = opened(placed, weigh, before_w, next_w, natural_w, np.zeros(3))

    assert given_w.limit_w.tolist() == [300.0, 600.0]


def test_a_lowering_is_never_slowed():
    world = World(site(), [load("a", A, 640.0), load("b", C, 640.0)])
    weigh = loads(world.placed, np.ones(32))

    found = opened(
        world.placed, weigh, np.array([600.0, 300.0]), np.array([200.0, 400.0]), np.full(2, 640.0), np.zeros(3)
    )  # fmt: skip

    assert found.limit_w.tolist() == [200.0, 300.0]
    assert found.slowed_by.tolist() == [-1, PDU_B]


def test_a_ramp_that_was_not_used_is_not_saved_up():
    spare_w = refilled_w(np.zeros(1), np.array([RAMP]), 3600.0, 1.0)

    assert spare_w.tolist() == [RAMP]
    assert usable_w(0.9 * spare_w, np.array([RAMP]), 1.0).tolist() == [0.0]
    assert refilled_w(NONE, NONE, 0.0, 1.0).tolist() == [np.inf] * 3


@given(
    rises=st.lists(st.floats(0.0, 500.0), min_size=4, max_size=4),
    falls=st.lists(st.floats(0.0, 200.0), min_size=4, max_size=4),
    spare=st.lists(st.floats(0.0, 3000.0), min_size=3, max_size=3),
    weights=st.lists(st.floats(0.1, 8.0), min_size=4, max_size=4),
)
def test_no_mixture_of_moves_opens_more_than_any_ramp_allows(rises, falls, spare, weights):
    rows = zip("abcd", (A, B, C, D), weights, strict=True)
    placed = World(site(), [load(name, boards, 640.0, weight=weight) for name, boards, weight in rows]).placed
    weigh = loads(placed, np.ones(32))
    before_w, natural_w, spare_w = np.full(4, 400.0), np.full(4, 640.0), np.array(spare)
    next_w = before_w + np.array(rises) - np.array(falls)

    found = opened(placed, weigh, before_w, next_w, natural_w, spare_w)

    grown = np.minimum(found.limit_w, natural_w) - before_w
    grown_w = np.array([grown.sum(), grown[:2].sum(), grown[2:].sum()]) * 8 * SLOPE
    assert (grown_w <= spare_w + 1e-6).all()
    assert (found.limit_w <= next_w + 1e-9).all()
    assert (found.limit_w >= np.minimum(before_w, next_w) - 1e-9).all()
    assert found.taken_w == pytest.approx(np.maximum(grown_w, 0.0))


def test_a_target_falls_at_once_and_comes_back_in_ten_seconds():
    full_w = np.array([1000.0])

    assert eased_w(np.array([np.inf]), full_w, NONE[:1], 0.0).tolist() == [1000.0]
    assert eased_w(full_w, 0.5 * full_w, NONE[:1], 0.0).tolist() == [500.0]
    assert eased_w(0.5 * full_w, full_w, NONE[:1], 1.0).tolist() == [600.0]
    assert eased_w(0.5 * full_w, full_w, np.array([10.0]), 1.0).tolist() == [510.0]


def test_after_a_supply_came_back_jobs_are_released_in_turns_and_the_site_sees_no_step():
    jobs = [
        load(n, r, 640.0, weight=w)
        for n, r, w in zip("abcd", (A, B, C, D), (8.0, 4.0, 2.0, 1.0), strict=True)
    ]
    world = World(site(), jobs)
    world.run(60)
    world.share[:] = 0.85
    world.run(20)
    before_w = world.fleet.wall_w(world.limit_w)[UPS]
    limits = {name: world.limit(name) for name in "abcd"}
    world.share[:] = 1.0

    allowed_w = [before_w]
    for _ in range(12):
        world.second()
        allowed_w.append(world.fleet.wall_w(np.minimum(world.limit_w, 640.0))[UPS])
        if len(allowed_w) == 2:
            early = {name: world.limit(name) - limits[name] for name in "abcd"}

    assert np.diff(allowed_w).max() <= 1.1 * RELEASE_PER_S * world.fleet.aim_w[UPS]
    assert allowed_w[-1] > before_w + 0.1 * world.fleet.aim_w[UPS]
    assert early["a"] > 50.0
    assert early["d"] == 0.0, "it comes last"
