"""Foreign code in the loop: whatever it raises, returns or remembers, limits are kept and the product decides."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from small_world import MIN_W, World, load, site

from easyrider.tree import Domain, Rules
from easyrider_policy.chosen import Live, Trial
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import UnusableDecision, decided

NAMES = "abcd"


class Own(Exception):
    """A class that only the plug-in knows."""


class OwnBase(BaseException):
    """The same, aside of every Exception."""


class Unsayable(Exception):
    """Not even its text can be had."""

    def __str__(self) -> str:
        raise ValueError("no text")


FAULTS = [Own("mine"), OwnBase("mine"), Unsayable(), KeyError("k"), OSError("disk"), StopIteration(), MemoryError(),
          SystemExit(3), GeneratorExit(), asyncio.CancelledError(), RecursionError(), ImportError("m")]  # fmt: skip


class Does:
    """Decides 333 W for everybody, and then what `how` makes of that decision."""

    def __init__(self, how=lambda decision: decision, limit_w=333.0):
        self.how, self.limit_w, self.seen = how, limit_w, []

    def plan(self, observation, walls, situation, memory, pacing):
        self.seen.append(memory)
        limit_w = np.full(observation.layout.job_count, self.limit_w)
        return self.how(decided(observation, walls, situation, memory, limit_w, "foreign"))


def raising(fault):
    def how(_decision):
        raise fault

    return how


class Odd:
    """Looks like an array, and is none."""

    def __len__(self):
        raise Own("no length")

    def __array__(self, *_args, **_kwargs):
        raise Own("no array")


def rules(*allowed):
    ups = Domain(id="ups", kind="ups", rating_w=1e5)
    return Rules(id="s", version=3, domains=(ups,), classes={}, nodes=(), policies=allowed)


def world(policy, monkeypatch, *allowed, told=None):
    said = [] if told is None else told
    monkeypatch.setattr("small_world.plan", Live(Trial("x", policy), lambda: rules(*allowed), said.append))
    return World(site(), [load(name, range(8 * i, 8 * i + 8), 640.0) for i, name in enumerate(NAMES)])


def products_own(monkeypatch, seconds, shadow_s=0):
    """What the product decides in the same world, after `shadow_s` in which nothing was steered."""
    with monkeypatch.context() as patched:
        patched.setattr("small_world.plan", plan)
        own = World(site(), [load(name, range(8 * i, 8 * i + 8), 640.0) for i, name in enumerate(NAMES)])
        own.silent[:] = True
        own.run(shadow_s)
        own.silent[:] = False
        return own.run(seconds)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_whatever_it_raises_the_products_plan_decides_and_the_reason_is_told(fault, monkeypatch):
    told = []
    steered = world(Does(raising(fault)), monkeypatch, "x", told=told)

    decision = steered.run(3)

    assert (decision.job_limit_w == products_own(monkeypatch, 3).job_limit_w).all()
    assert len(told) == 1
    assert type(fault).__name__ in told[0]
    assert "product's own plan decides" in told[0]


def test_a_person_who_interrupts_is_not_held_up_by_it(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        world(Does(raising(KeyboardInterrupt())), monkeypatch, "x").run(1)


def test_in_a_bench_its_own_exception_ends_the_run_by_name(monkeypatch):
    monkeypatch.setattr("small_world.plan", Trial("x", Does(raising(Own("mine")))))

    with pytest.raises(UnusableDecision, match="Own: mine"):
        World(site(), [load("a", range(8), 640.0)]).run(1)


RETURNS = {
    "a number": lambda _d: 7,
    "nothing": lambda _d: None,
    "wanted_w is None": lambda d: replace(d, wanted_w=None),
    "wanted_w is text": lambda d: replace(d, wanted_w=["300"] * 32),
    "wanted_w is an array of text": lambda d: replace(d, wanted_w=np.array(["300"] * 32)),
    "wanted_w is an array of objects": lambda d: replace(d, wanted_w=np.array([300.0] * 32, dtype=object)),
    "wanted_w is infinite": lambda d: replace(d, wanted_w=np.full(32, np.inf)),
    "wanted_w has a second axis": lambda d: replace(d, wanted_w=np.full((32, 1), 300.0)),
    "wanted_w is odd": lambda d: replace(d, wanted_w=Odd()),
    "job_limit_w is a list of text": lambda d: replace(d, job_limit_w=["a", "b", "c", "d"]),
    "job_limit_w is complex": lambda d: replace(d, job_limit_w=np.full(4, 300j)),
    "job_limit_w is unknown": lambda d: replace(d, job_limit_w=np.full(4, np.nan)),
    "slowdown is unknown": lambda d: replace(d, slowdown=np.full(4, np.nan)),
    "missing_w is infinite": lambda d: replace(d, missing_w=np.full(3, np.inf)),
    "alarm is a float": lambda d: replace(d, alarm=np.zeros(3)),
    "reasons are numbers": lambda d: replace(d, reasons=(1, 2, 3, 4)),
    "reasons are longer than a name": lambda d: replace(d, reasons=("x" * 300,) * 4),
    "reactive is text": lambda d: replace(d, reactive="yes"),
    "gap is text": lambda d: replace(d, gap="none"),
    "memory is None": lambda d: replace(d, memory=None),
    "penalties are unknown": lambda d: replace(d, memory=replace(d.memory, penalty_w=np.full(3, np.nan))),
    "penalties are of another site": lambda d: replace(d, memory=replace(d.memory, penalty_w=np.zeros(9))),
    "its clock is text": lambda d: replace(d, memory=replace(d.memory, last_s="now")),
    "its solution is none": lambda d: replace(d, memory=replace(d.memory, solution="mine")),
}


@pytest.mark.parametrize("how", RETURNS.values(), ids=RETURNS)
@pytest.mark.parametrize("steered", [True, False], ids=["steered", "in shadow"])
def test_whatever_it_returns_nothing_of_it_is_used(how, steered, monkeypatch):
    told = []
    tried = world(Does(how), monkeypatch, "x", told=told)
    tried.silent[:] = not steered

    decision = tried.run(3)

    assert "foreign" not in decision.reasons
    assert len(told) == 1
    tried.silent[:] = False
    assert np.isfinite(tried.run(2).wanted_w).all()


def test_what_it_returned_is_not_its_to_change_later(monkeypatch):
    kept = []
    steered = world(Does(lambda decision: kept.append(decision) or decision), monkeypatch, "x")
    decision = steered.run(2)

    kept[-1].wanted_w[:] = 9000.0
    kept[-1].job_limit_w[:] = 9000.0

    assert (decision.wanted_w == 333.0).all()
    assert (decision.job_limit_w == 333.0).all()


def test_it_cannot_change_the_situation_that_the_product_goes_by_next(monkeypatch):
    class Writes:
        def plan(self, _observation, _walls, situation, _memory, _pacing):
            situation.hard_w[:] = 1e9

    told = []
    steered = world(Writes(), monkeypatch, "x", told=told)

    decision = steered.run(3)

    assert (decision.job_limit_w == products_own(monkeypatch, 3).job_limit_w).all()
    assert "read-only" in told[0]


@pytest.mark.parametrize("penalty_w", [-20_000.0, 20_000.0])
def test_what_a_refused_policy_remembers_never_reaches_the_products_plan(penalty_w, monkeypatch):
    """It decides while nothing is steered; from the first steered board on the product's plan is as without it."""

    def penalised(decision):
        return replace(
            decision,
            reckoned_w=np.full(3, 1e9),
            memory=replace(decision.memory, penalty_w=np.full(3, penalty_w), lowered_s=np.full(32, 1e9)),
        )

    tried = world(Does(penalised), monkeypatch)
    tried.silent[:] = True
    shadow = tried.run(30)
    tried.silent[:] = False
    tried.run(200)

    assert set(shadow.reasons) == {"foreign"}
    assert (shadow.memory.penalty_w == 0.0).all()
    assert np.isnan(shadow.reckoned_w).all()
    assert tried.wall_w[0] <= 1.005 * tried.fleet.aim_w[0]
    own = products_own(monkeypatch, 200, shadow_s=30)
    assert tried.decision.job_limit_w == pytest.approx(own.job_limit_w, rel=0.01)


def test_its_own_memory_comes_back_to_it_and_begins_anew_after_the_product_decided(monkeypatch):
    policy = Does(lambda d: replace(d, memory=replace(d.memory, doubt_s=d.memory.doubt_s + 100.0)))
    tried = world(policy, monkeypatch)
    tried.silent[:] = True
    tried.run(3)
    tried.silent[:] = False
    tried.run(1)
    tried.silent[:] = True
    tried.run(2)

    assert [memory.doubt_s // 100 for memory in policy.seen] == [0, 1, 2, 0, 1]


def test_limits_that_could_draw_more_than_a_hard_limit_are_refused_with_the_watts(monkeypatch):
    told = []
    tried = world(Does(limit_w=500.0), monkeypatch, "x", told=told)
    assert set(tried.run(2).reasons) == {"foreign"}

    tried.share[:] = 0.6  # the UPS carries 21,600 W from now on; 32 boards at 500 W and 3 % are 26,675 W
    decision = tried.run(3)

    assert "foreign" not in decision.reasons
    assert (tried.could_w() <= tried.fleet.hard_w * 0.6 + 1e-6).all()
    assert len(told) == 1
    assert "ups" in told[0]
    assert "21600 W" in told[0]


def test_boards_on_which_it_says_nothing_count_what_they_hold(monkeypatch):
    silent = Does(lambda d: replace(d, wanted_w=np.full(32, np.nan)))
    tried = world(silent, monkeypatch, "x")
    tried.limit_w[:] = 500.0
    assert set(tried.run(2).reasons) == {"foreign"}

    tried.share[:] = 0.6

    assert "foreign" not in tried.run(1).reasons


def test_where_not_even_minimum_limits_fit_it_may_ask_for_those_and_for_no_more(monkeypatch):
    for limit_w, taken in ((MIN_W, True), (MIN_W + 1.0, False)):
        tried = world(Does(limit_w=limit_w), monkeypatch, "x")
        tried.share[:] = 0.3

        assert ("foreign" in tried.run(1).reasons) is taken


def test_one_that_fails_and_recovers_by_turns_is_told_of_at_a_bounded_rate(monkeypatch):
    class Wavers:
        def __init__(self):
            self.turns = 0

        def plan(self, *known):
            self.turns += 1
            if self.turns % 2:
                raise Own(f"number {self.turns}")
            return Does().plan(*known)

    told = []
    world(Wavers(), monkeypatch, "x", told=told).run(50)

    assert len(told) == 1
