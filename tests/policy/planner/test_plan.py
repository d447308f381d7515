"""What a plan does in the small world, one behaviour a test."""

import numpy as np
import pytest
from small_world import MAX_W, MIN_W, PDU_A, UPS, World, load, site

from easyrider.tree import Pacing

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def four(peak_w=640.0, **kw):
    return [load(name, rows, peak_w, **kw) for name, rows in zip("abcd", (A, B, C, D), strict=True)]


def test_with_room_for_all_every_job_runs_free_and_says_so():
    world = World(site(ups_w=80_000, pdu_w=40_000), four(600.0))

    decision = world.run(30)

    assert set(decision.reasons) == {"natural"}
    assert (decision.job_limit_w > 600.0).all()
    assert decision.slowdown == pytest.approx(0.0, abs=1e-6)


def test_a_full_target_is_kept_and_the_binding_domain_is_named():
    world = World(site(), four())

    decision = world.run(60)

    assert (world.wall_w <= world.fleet.aim_w * 1.001).all()
    assert set(decision.reasons) == {"target:ups"}
    assert decision.price[UPS] > 0


def test_watts_that_a_target_allows_are_used():
    world = World(site(), four(), meters=True)

    world.run(120)

    assert world.wall_w[UPS] >= 0.97 * world.fleet.aim_w[UPS]


def test_where_hard_and_target_are_one_the_sum_of_limits_stays_within_it_at_every_second():
    world = World(site(hard_is_target=("pdu-a",)), four(), limit_w=np.full(32, MIN_W))

    for _ in range(90):
        world.second()
        assert world.could_w()[PDU_A] <= world.fleet.hard_w[PDU_A] + 1e-6


def test_a_job_of_higher_priority_loses_less():
    loads = [load("cheap", A, 640.0, weight=1.0), load("dear", B, 640.0, weight=4.0)]
    world = World(site(pdu_w=16_500), loads)

    world.run(60)

    assert world.limit("dear") > world.limit("cheap") + 50.0


def test_nobody_falls_below_max_slowdown_while_others_have_watts_to_give():
    loads = [load("cheap", A, 640.0, weight=1.0, max_slowdown=0.1), load("dear", B, 640.0, weight=16.0)]
    world = World(site(pdu_w=16_200), loads)

    decision = world.run(60)

    assert world.reason("cheap") == "floor"
    assert decision.slowdown[0] == pytest.approx(0.1, abs=0.01)


def test_when_floors_do_not_fit_the_lowest_priority_yields_first():
    loads = [load("cheap", A, 640.0, weight=1.0), load("dear", B, 640.0, weight=4.0)]
    world = World(site(pdu_w=13_400), loads)

    decision = world.run(60)

    assert decision.missing_w.max() == 0.0
    assert decision.slowdown[0] > 0.25
    assert decision.slowdown[1] <= 0.21


def test_a_domain_that_cannot_be_met_at_minimum_limits_is_infeasible_by_the_missing_watts():
    fleet = site(pdu_w=8_000)
    loads = [load("a", A), load("b", B), load("c", C)]
    world = World(fleet, loads)

    decision = world.run(10)

    at_least_w = 2 * 1600.0 + 16 * MIN_W * 1.23
    assert decision.missing_w[PDU_A] == pytest.approx(at_least_w - fleet.aim_w[PDU_A], abs=1.0)
    assert world.limit("a") == world.limit("b") == MIN_W
    assert world.reason("a") == world.reason("b") == "infeasible:pdu-a"
    assert not world.reason("c").startswith("infeasible:pdu-a")


def test_idle_boards_are_held_at_the_device_minimum_before_anything_starts():
    world = World(site(), [load("a", A)])

    decision = world.run(3)

    assert (decision.wanted_w[8:] == MIN_W).all()


def test_boards_that_are_observed_or_shadowed_get_no_limit_but_their_plan_is_shown():
    world = World(site(), four(mode="shadow"))

    decision = world.run(20)

    assert np.isnan(decision.wanted_w).all()
    assert set(decision.reasons) == {"not_ours"}
    assert (decision.job_limit_w < 640.0).all()


def test_watts_of_jobs_outside_our_hands_are_kept_free_for_them():
    loads = [load("foreign", A, 640.0, mode="observe"), load("ours", B, 640.0)]
    world = World(site(pdu_w=15_000), loads)

    world.run(30)

    assert (world.wall_w <= world.fleet.aim_w * 1.001).all()
    assert world.limit("ours") < 500.0


def test_a_pilot_job_is_held_at_most_a_tenth_below_its_peak():
    loads = [load("pilot", A, 640.0, mode="pilot"), load("ours", B, 640.0, weight=8.0)]
    world = World(site(pdu_w=16_500), loads, limit_w=np.full(32, MAX_W))
    world.run(40)

    assert world.limit("pilot") >= 0.9 * 640.0 - 1.0
    assert world.limit("ours") < world.limit("pilot")


def test_a_silent_node_counts_what_it_may_draw_and_its_boards_are_left_alone():
    world = World(site(), four())
    world.run(30)
    free = world.limit("b")
    world.silent[0:8] = True
    world.limit_w[0:8] = MAX_W

    decision = world.run(20)

    assert np.isnan(decision.wanted_w[0:8]).all()
    assert world.limit("b") < free
    assert (world.wall_w <= world.fleet.aim_w * 1.001).all()


def test_a_lost_supply_module_lowers_every_limit_at_once():
    world = World(site(), four())
    world.run(60)
    world.share[UPS] = 0.8

    world.plan()
    world.second()

    assert world.wall_w[UPS] <= 0.8 * world.fleet.aim_w[UPS] * 1.001


def test_an_excess_that_nobody_planned_is_taken_away_within_seconds():
    world = World(site(), four(), meters=True)
    world.run(60)
    world.unmanaged_w[:] = [1500.0, 1500.0, 0.0]

    world.run(20)

    assert world.wall_w[UPS] <= 1.005 * world.fleet.aim_w[UPS]


def test_low_confidence_is_planned_with_a_larger_margin_and_flagged():
    trusting, doubting = World(site(), four()), World(site(), four(), confidence=0.1)

    seen, unseen = trusting.run(90), doubting.run(90)

    assert not seen.reactive
    assert unseen.reactive
    assert unseen.job_limit_w.sum() < seen.job_limit_w.sum()


def test_a_limit_never_leaves_the_range_of_its_board():
    world = World(site(pdu_w=12_000), four(690.0))

    for _ in range(30):
        wanted = world.second().wanted_w
        assert ((wanted >= MIN_W) & (wanted <= MAX_W)).all()


def test_a_steady_load_moves_no_limit_in_ten_thousand_ticks():
    world = World(site(), four(busy=0.8), noise_w=2.0, meters=True)
    world.run(400)
    world.moves = 0

    world.run(10_000)

    assert world.moves == 0


def test_boards_that_draw_more_than_their_limit_are_counted_so_and_the_target_holds():
    over = np.linspace(1.0, 1.03, 32)
    world = World(site(), four(), overshoot=over)

    world.run(200)

    assert (world.wall_w <= world.fleet.aim_w * 1.003).all()
    assert world.observation.overshoot.counted[31] > 1.02


def test_sensors_that_read_wrong_do_not_break_a_target_that_a_meter_watches():
    gain = np.random.default_rng(3).normal(1.0, 0.03, 32)
    world = World(site(), four(), gain=gain, meters=True)

    world.run(200)

    assert (world.wall_w <= world.fleet.aim_w * 1.003).all()


def test_no_job_and_no_board_is_a_plan_too():
    world = World(site(), [])

    decision = world.run(3)

    assert (decision.wanted_w == MIN_W).all()
    assert decision.reasons == ()


def test_the_same_beliefs_give_the_same_plan_and_are_left_as_they_were():
    world = World(site(), four())
    world.run(20)
    before = world.observation.peaks.peak_w.copy()
    memory, limit_w = world.memory, world.limit_w.copy()

    first = world.plan().wanted_w
    world.memory, world.limit_w = memory, limit_w
    second = world.plan().wanted_w

    assert (first == second).all()
    assert (world.observation.peaks.peak_w == before).all()


def test_a_step_of_redistribution_is_at_most_a_tenth_of_the_rating_and_waits_its_cooldown():
    loads = [load("a", A, 640.0), load("b", B, 640.0)]
    world = World(site(pdu_w=15_000), loads, pacing=Pacing())
    world.run(60)
    before = world.limit("a")
    world.loads[0].job = load("a", A, weight=8.0).job
    kept = world.observation
    world.jobs_changed()
    world.observation.peaks.peak_w[:] = kept.peaks.peak_w

    after = world.second()

    assert after.job_limit_w[0] - before <= 0.1 * MAX_W + 1e-6
