"""A plug-in policy on a site: alone where nothing is written, and never over boards that it was not allowed."""

from dataclasses import replace

import numpy as np
import pytest
from small_world import World, load, site

from easyrider.tree import Domain, Rules
from easyrider_policy.chosen import Live, Trial, refusal
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import UnusableDecision, decided
from easyrider_policy.core.vetting import checked

A, B = range(0, 8), range(8, 16)


class Flat:
    """333 W for everybody."""

    def plan(self, observation, walls, situation, memory, pacing):
        limit_w = np.full(observation.layout.job_count, 333.0)
        return decided(observation, walls, situation, memory, limit_w, "flat")


class Fails:
    def plan(self, *_known):
        raise ZeroDivisionError("mine")


def rules(*policies):
    return Rules(
        id="s", version=3, domains=(Domain(id="ups", kind="ups", rating_w=1e5),), classes={}, nodes=(),
        policies=policies,
    )  # fmt: skip


def by(planner, monkeypatch):
    """A world of two jobs that this planner decides."""
    monkeypatch.setattr("small_world.plan", planner)
    return World(site(), [load("a", A, 640.0), load("b", B, 640.0)])


def test_over_steered_boards_it_is_refused_in_one_line_and_the_products_plan_decides(monkeypatch):
    said = []
    world = by(Live(Trial("flat", Flat()), rules, said.append), monkeypatch)

    decision = world.run(3)

    assert "flat" not in decision.reasons
    assert (decision.job_limit_w != 333.0).all()
    assert said == [
        "policy flat is refused: rules version 3 put GPUs in pilot or enforce and do not allow it by name "
        "(policies); the product's own plan decides"
    ]


def test_a_single_steered_board_is_enough_to_refuse_it():
    assert refusal("flat", rules(), 1)
    assert refusal("flat", rules("other"), 1)
    assert not refusal("flat", rules(), 0)
    assert not refusal("flat", rules("other", "flat"), 32)


def test_where_nothing_is_steered_it_decides_and_nothing_is_to_be_written(monkeypatch):
    said = []
    world = by(Live(Trial("flat", Flat()), rules, said.append), monkeypatch)
    world.silent[:] = True

    decision = world.run(3)

    assert set(decision.reasons) == {"flat"}
    assert np.isnan(decision.wanted_w).all()
    assert said == []


def test_the_moment_a_board_is_steered_the_product_takes_over_and_back(monkeypatch):
    world = by(Live(Trial("flat", Flat()), rules, lambda _why: None), monkeypatch)
    told = []
    for steered in (False, True, False):
        world.silent[:] = not steered
        told.append("flat" in world.run(2).reasons)

    assert told == [True, False, True]


def test_allowed_by_name_it_decides_over_steered_boards(monkeypatch):
    world = by(Live(Trial("flat", Flat()), lambda: rules("flat"), lambda _why: None), monkeypatch)

    decision = world.run(2)

    assert set(decision.reasons) == {"flat"}
    assert decision.wanted_w[:16] == pytest.approx(333.0)
    assert decision.wanted_w[16:] == pytest.approx(200.0)


def test_one_that_fails_is_told_once_and_the_products_plan_decides(monkeypatch):
    said = []
    world = by(Live(Trial("bad", Fails()), lambda: rules("bad"), said.append), monkeypatch)

    world.run(4)

    assert len(said) == 1
    assert "ZeroDivisionError: mine" in said[0]
    assert not np.isnan(world.decision.wanted_w).any()


def test_what_it_says_of_boards_is_kept_to_their_range_and_to_those_that_are_steered():
    world = World(site(), [load("a", A, 640.0)])
    decision = world.run(2)
    mad = replace(decision, wanted_w=np.full(32, 9000.0))
    steered = np.arange(32) < 4
    situation = type("Told", (), {"steered": steered})()

    kept = checked("mad", mad, world.observation, situation)

    assert (kept.wanted_w[:4] == 700.0).all()
    assert np.isnan(kept.wanted_w[4:]).all()


@pytest.mark.parametrize(
    ("column", "value"),
    [("wanted_w", np.zeros(3)), ("reasons", ()), ("price", np.zeros(9)), ("job_limit_w", np.array([np.nan]))],
)
def test_columns_that_do_not_fit_are_refused_whole(column, value):
    world = World(site(), [load("a", A, 640.0)])
    decision = replace(world.run(2), **{column: value})

    with pytest.raises(UnusableDecision, match=column):
        checked("mine", decision, world.observation, None)


def test_the_products_own_plan_is_a_policy_too(monkeypatch):
    class Own:
        def plan(self, *known):
            return plan(*known)

    mine, own = by(Trial("own", Own()), monkeypatch), by(plan, monkeypatch)
    other = by(plan, monkeypatch)
    monkeypatch.setattr("small_world.plan", Trial("own", Own()))
    first = mine.run(20)
    monkeypatch.setattr("small_world.plan", plan)

    assert (first.job_limit_w == own.run(20).job_limit_w).all()
    assert other.run(20).reasons == first.reasons
