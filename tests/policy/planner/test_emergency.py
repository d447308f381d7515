"""When measured power exceeds a limit, and what a meter teaches."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import PDU_A, UPS, World, load, site

from easyrider_policy.core.emergency import MOST_SHARE, alarmed, decayed, penalised
from easyrider_policy.core.history import emergencies
from easyrider_policy.core.records import Situation
from easyrider_policy.core.walls import Walls

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)
ONE = np.array([1.0])


def four(peak_w=640.0):
    return [load(name, rows, peak_w) for name, rows in zip("abcd", (A, B, C, D), strict=True)]


def situation(world):
    zero = np.zeros(3)
    return Situation(
        now_s=world.now_s, limit_w=world.limit_w, steered=np.ones(32, dtype=bool), counted_w=world.limit_w,
        hard_w=world.fleet.hard_w, target_w=world.fleet.aim_w, unmanaged_hard_w=zero, unmanaged_target_w=zero,
    )  # fmt: skip


def alarm(window, second, peak, target=1000.0, hard=1250.0):
    return bool(alarmed(window * ONE, second * ONE, peak * ONE, target * ONE, hard * ONE)[0])


def test_what_fills_a_target_that_is_the_hard_limit_is_no_emergency_and_what_exceeds_it_is():
    assert not bool(alarmed(990.0 * ONE, 990.0 * ONE, 995.0 * ONE, 1000.0 * ONE, 1000.0 * ONE)[0])
    assert bool(alarmed(990.0 * ONE, 990.0 * ONE, 1001.0 * ONE, 1000.0 * ONE, 1000.0 * ONE)[0])


def test_a_mean_over_the_target_by_half_a_per_cent_is_an_emergency():
    assert alarm(1006, 1010, 1010)
    assert not alarm(1004, 1010, 1010)


def test_a_mean_that_is_already_being_brought_down_is_none():
    assert not alarm(1010, 990, 990)


def test_a_hundred_milliseconds_near_the_hard_limit_are_an_emergency():
    assert alarm(500, 500, 1235)
    assert not alarm(500, 500, 1225)


def test_a_penalty_is_most_of_the_excess_bounded_and_decays():
    due = np.array([True])

    small = penalised(0 * ONE, due, 10 * ONE, 1000 * ONE)
    large = penalised(0 * ONE, due, 500 * ONE, 1000 * ONE)

    assert small[0] == pytest.approx(7.0)
    assert large[0] == pytest.approx(MOST_SHARE * 1000.0)
    assert decayed(large, 60.0, 1000 * ONE)[0] == pytest.approx(large[0] / np.e)
    assert decayed(large, 600.0, 1000 * ONE)[0] == 0.0


def test_what_eight_per_cent_do_not_remove_is_taken_in_further_steps_up_to_half_of_the_target():
    due, penalty_w, steps = np.array([True]), 0 * ONE, []
    for _ in range(8):
        penalty_w = penalised(decayed(penalty_w, 2.0, 1000 * ONE), due, 900 * ONE, 1000 * ONE)
        steps.append(float(penalty_w[0]))

    assert steps[0] == pytest.approx(80.0)
    assert np.diff(steps[:6]) == pytest.approx([80.0] * 5)
    assert steps[-1] == pytest.approx(500.0)


def test_a_domain_without_a_trip_curve_comes_back_although_every_card_draws_a_quarter_above_its_limit():
    world = World(site(), four())
    world.run(60)
    world.overshoot[:] = 1.25

    share = np.array([world.second().observed_w[UPS] / world.fleet.aim_w[UPS] for _ in range(90)])
    means = np.convolve(share, np.full(10, 0.1), mode="valid")

    assert share[1] > 1.09
    assert means[15:].max() <= 1.015, "8 % are no end where more is drawn than that"
    assert share[15:].mean() <= 1.005


def test_an_excess_that_the_plan_already_answers_is_not_punished_twice():
    world = World(site(), four())
    world.run(60)
    world.share[UPS] = 0.8

    world.run(10)

    assert world.memory.penalty_w[UPS] == 0.0


def test_an_excess_that_no_plan_answers_is_punished_until_it_is_gone():
    world = World(site(), four())
    world.run(60)
    world.walls.declared_w = world.walls.declared_w + 900.0
    unanswered = emergencies(
        world.fleet, world.walls, replace(situation(world), target_w=world.fleet.aim_w - 900.0),
        replace(world.memory, acted_ago_s=np.full(3, 60.0), target_w=None), np.full(32, -1e9),
    )  # fmt: skip

    world.run(20)

    assert unanswered.alarm[UPS]
    assert unanswered.penalty_w[UPS] > 500.0
    assert world.decision.observed_w[UPS] <= 1.005 * world.fleet.aim_w[UPS]


def test_a_meter_teaches_the_offset_and_the_target_is_then_used_up():
    frugal = World(site(), four(), meters=True)
    frugal.walls.declared_w = frugal.walls.declared_w + 2000.0  # declared far above what machines draw

    frugal.run(300)

    assert frugal.wall_w[UPS] == pytest.approx(frugal.fleet.aim_w[UPS], rel=0.02)


def test_a_meter_that_reads_far_too_low_cannot_open_the_gate():
    fleet = site()
    walls = Walls(fleet)
    for _ in range(60):
        walls.add(np.full((10, 32), 500.0))
        walls.meters(np.zeros(3), 1.0)

    standing = walls.standing_w(np.zeros(3))

    assert (standing >= 0.5 * walls.declared_w - 1e-9).all()


def test_nothing_is_learned_from_a_second_in_which_power_moves_since_a_meter_lags():
    walls = Walls(site())
    for second in range(30):
        watts = 300.0 + 200.0 * (second % 2)
        walls.add(np.full((10, 32), watts))
        walls.meters(np.full(3, 20_000.0), 1.0)

    assert (walls.lessons == 0).all()


def test_a_reading_that_runs_ahead_of_the_boards_or_behind_them_widens_nothing():
    fleet = site()
    walls = Walls(fleet)
    part_w = [float(fleet.wall_w(np.full(32, watts))[UPS]) for watts in (500.0, 300.0)]
    for second in range(120):
        lower, ahead = (at // 20 % 2 for at in (second, second + 1))
        walls.add(np.full((10, 32), 300.0 if lower else 500.0))
        walls.meters(np.full(3, part_w[ahead]), 1.0)

    assert walls.lessons[UPS] >= 30
    assert walls.standing_w(np.zeros(3))[UPS] == pytest.approx(walls.declared_w[UPS], rel=0.01)


def test_no_penalty_piles_up_where_nothing_more_can_be_cut():
    world = World(site(), four())
    world.run(40)
    world.share[UPS] = 0.4

    world.run(30)

    assert (world.decision.missing_w[UPS]) > 0
    assert world.memory.penalty_w[UPS] == 0.0


def test_without_a_meter_the_declared_upper_values_stand():
    walls = Walls(site())
    for _ in range(30):
        walls.add(np.full((10, 32), 500.0))
        walls.meters(np.full(3, np.nan), 1.0)

    assert walls.standing_w(np.zeros(3)) == pytest.approx(walls.declared_w)


def test_large_and_small_sites_add_up_alike():
    fleet = site()
    dense, sparse = Walls(fleet), Walls(fleet)
    sparse._matrix = None
    rows = np.random.default_rng(1).uniform(75, 700, (10, 32))

    dense.add(rows)
    sparse.add(rows)

    assert sparse.board_part_w == pytest.approx(dense.board_part_w)
    assert sparse.peak_part_w == pytest.approx(dense.peak_part_w)


def test_a_board_held_lower_by_something_else_slows_its_job_and_its_watts_go_to_others():
    world = World(site(), four())
    world.run(80)
    before = world.limit("b")
    real_add = world.observation.add

    def hot(now_s, mean_w, limit_w, capped=None):
        """Board 0 obeys 300 W of its own; the job waits for it."""
        held = limit_w.copy()
        held[0] = min(held[0], 300.0)
        seen = mean_w.copy()
        seen[:, 0:8] = np.minimum(seen[:, 0:8], 300.0)
        return real_add(now_s, seen, held, capped)

    world.observation.add = hot
    world.run(60)

    assert world.reason("a") == "held"
    assert world.limit("a") < 345.0
    assert world.limit("b") > before + 20.0


def test_domains_with_one_limit_bind_by_their_hard_limit_and_say_so():
    world = World(site(pdu_w=16_000, hard_is_target=("pdu-a",), target_share=0.9), four(), confidence=0.1)

    world.run(60)

    assert world.reason("a") in ("hard:pdu-a", "target:pdu-a")
    assert world.could_w()[PDU_A] <= world.fleet.hard_w[PDU_A] + 1e-6
