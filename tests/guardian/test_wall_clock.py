"""The wall clock is stepped: no command is judged otherwise for it, and the dead-man keeps its time."""

import importlib.util
import time
from pathlib import Path

import pytest

from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.core.nonces import Minter

SPEC = importlib.util.spec_from_file_location("bench", Path(__file__).parent / "bench.py")
bench_module = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench_module)
SECOND, HOUR = 10**9, 3600 * 10**9


@pytest.fixture(params=[-6 * HOUR, HOUR], ids=["6 h back", "1 h on"])
def step(request, monkeypatch):
    """Steps the wall clock of this process when called."""
    real_ns, real_clock_ns = time.time_ns, time.clock_gettime_ns

    def clock_ns(clock):
        return real_clock_ns(clock) + (request.param if clock == time.CLOCK_REALTIME else 0)

    def stepped():
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + request.param)
        monkeypatch.setattr(time, "time", lambda: (real_ns() + request.param) / SECOND)
        monkeypatch.setattr(time, "clock_gettime_ns", clock_ns)
        monkeypatch.setattr(time, "clock_gettime", lambda clock: clock_ns(clock) / SECOND)

    return stepped


@pytest.fixture
def bench(tmp_path):
    made = bench_module.Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    made.say(500, 500)
    yield made
    made.open()


def test_a_lease_minted_before_the_step_is_taken_after_it_and_a_late_one_is_not(bench, step):
    nonce, late = bench.mint(), Minter("b", "site", "n1").mint(boot_ns() - 6 * SECOND)

    step()

    assert bench.say(400, 400, nonce=late).refused == "stale_nonce"
    assert bench.say(400, 400, nonce=nonce).accepted
    assert [board.requested_w for board in bench.boards] == [400, 400]


def test_the_dead_man_comes_in_its_time_after_the_step(bench, step):
    granted_ns = bench.node.standing.grant_ns

    step()
    bench.rounds.go(granted_ns + 9_900_000_000)
    before = bench.node.standing.stage
    assert bench.rounds.next_ns() <= granted_ns + 10 * SECOND
    bench.rounds.go(boot_ns())
    running = bench.node.standing.stage
    bench.rounds.go(granted_ns + 10 * SECOND)

    assert (before, running, bench.node.standing.stage) == (0, 0, 1)
