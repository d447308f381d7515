"""A write that hangs in the driver may come into effect at any later moment."""

import importlib.util
import threading
import time
from pathlib import Path

import pytest

from easyrider import wire
from easyrider.messages import GpuLimit, SetLimits
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.adapters.crew import Crew
from easyrider_guardian.adapters.files import StateFolder
from easyrider_guardian.adapters.keeper import Keeper
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.commands import obey
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Terms
from easyrider_guardian.core.resume import resume
from easyrider_guardian.node import Node
from easyrider_guardian.rounds import Rounds

SPEC = importlib.util.spec_from_file_location("fake_boards", Path(__file__).parent / "fake_boards.py")
fake_boards = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake_boards)


class GatedBoard(fake_boards.FakeBoard):
    """A board whose writes wait at a gate once it is shut."""

    def __init__(self, uuid):
        super().__init__(uuid)
        self.gate = threading.Event()
        self.gate.set()

    def write(self, limit_w):
        self.gate.wait(10)
        super().write(limit_w)


class Bench:
    """A node on gated boards, commanded directly."""

    def __init__(self, folder):
        driver = fake_boards.FakeDriver(0)
        driver.boards = self.boards = [GatedBoard("GPU-0"), GatedBoard("GPU-1")]
        state = StateFolder(folder)
        terms = Terms(tree="site", region="local", node="n1", fallback_w=300)
        crew = Crew(driver, WriteLog(state.path), lambda: None)
        standing = resume(None, None, terms, "b", boot_ns())
        self.node = Node(terms, Minter("b", "site", "n1"), crew, Keeper(state), standing, None)
        self.rounds, self.seq = Rounds(self.node), 0

    def go_until(self, true, within_s=5):
        end_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < end_s
            self.rounds.go(boot_ns())
            time.sleep(0.01)

    def say(self, *limits_w):
        self.seq += 1
        limits = tuple(GpuLimit(uuid=f"GPU-{i}", limit_w=w, fallback_w=250) for i, w in enumerate(limits_w))
        own = {"tree": "site", "region": "local", "node": "n1", "epoch": 1, "seq": self.seq, "ttl_s": 5.0}
        return obey(self.node, wire.encode(SetLimits(**own, nonce=self.node.nonce(boot_ns()), limits=limits)))


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "guardian")
    made.go_until(lambda: len(made.node.views) == 2)
    yield made
    for board in made.boards:
        board.gate.set()


def test_a_raise_that_hangs_is_acked_as_unknown_and_taken_back_when_it_lands(bench):
    assert [gpu.enforced_w for gpu in bench.say(300, 300).gpus] == [300, 300]
    bench.boards[0].gate.clear()

    ack = bench.say(500, 300)

    assert ack.gpus[0].refused == "no_answer"
    assert (ack.gpus[0].requested_w, ack.gpus[0].enforced_w) == (None, None)
    bench.boards[0].gate.set()
    bench.go_until(lambda: bench.boards[0].writes == [300, 500, 300])
    assert bench.boards[0].requested_w == 300


def test_a_lower_that_hangs_drops_the_raise_of_the_other_board(bench):
    bench.say(500, 300)
    bench.boards[0].gate.clear()

    ack = bench.say(300, 500)

    assert [gpu.refused for gpu in ack.gpus] == ["no_answer", "lower_unverified"]
    assert ack.gpus[0].enforced_w is None
    assert bench.boards[1].requested_w == 300


def test_an_older_write_that_hangs_does_not_come_after_a_newer_command(bench):
    bench.say(300, 300)
    bench.boards[0].gate.clear()
    bench.say(500, 300)
    bench.say(400, 300)

    bench.boards[0].gate.set()
    bench.go_until(lambda: bench.boards[0].writes == [300, 500, 300])
    bench.say(400, 300)

    assert bench.boards[0].writes == [300, 500, 300, 400]
