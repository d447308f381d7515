"""A node on boards in memory, commanded in this process."""

import importlib.util
import threading
import time
from pathlib import Path

from easyrider import wire
from easyrider.messages import ExitGrant, GpuLimit, Hold, SetLimits
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
    """A board whose writes wait at a gate once it is shut.

    `read_waits` lists what the next reads wait for, None for one that does not wait; `deaf`: a write succeeds
    and changes nothing.
    """

    def __init__(self, uuid):
        super().__init__(uuid)
        self.gate = threading.Event()
        self.gate.set()
        self.read_waits = []
        self.deaf = False

    def read(self):
        wait = self.read_waits.pop(0) if self.read_waits else None
        if wait is not None:
            wait()
        return super().read()

    def write(self, limit_w):
        self.gate.wait(10)
        if self.deaf:
            self.writes.append(limit_w)
        else:
            super().write(limit_w)


class Bench:
    """Two gated boards and their guardian, without its process."""

    def __init__(self, folder, **terms):
        driver = fake_boards.FakeDriver(0)
        driver.boards = self.boards = [GatedBoard("GPU-0"), GatedBoard("GPU-1")]
        state = StateFolder(folder)
        terms = Terms(**{"tree": "site", "region": "local", "node": "n1", "fallback_w": 300, **terms})
        crew = Crew(driver, WriteLog(state.path), lambda: None)
        standing = resume(None, None, terms, "b", boot_ns())
        self.node = Node(terms, Minter("b", "site", "n1"), crew, Keeper(state), standing, None)
        self.rounds, self.seq = Rounds(self.node), 0
        self.looked = lambda: None

    def go_until(self, true, within_s=5):
        end_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < end_s
            self.rounds.go(boot_ns())
            time.sleep(0.01)

    def say(self, *limits_w, **fields):
        limits = tuple(GpuLimit(uuid=f"GPU-{i}", limit_w=w, fallback_w=250) for i, w in enumerate(limits_w))
        return self._say(SetLimits, limits=limits, **fields)

    def hold(self, **fields):
        return self._say(Hold, **fields)

    def grant_exit(self, **fields):
        return self._say(ExitGrant, **fields)

    def mint(self):
        """A nonce of this moment."""
        return self.node.minter.mint(boot_ns())

    def open(self):
        """Let everything go that waits."""
        for board in self.boards:
            board.gate.set()

    def _say(self, kind, **fields):
        self.seq += 1
        own = {"tree": "site", "region": "local", "node": "n1", "epoch": 1, "seq": self.seq, "ttl_s": 5.0}
        command = wire.encode(kind(**{**own, "nonce": self.mint(), **fields}))
        return obey(self.node, command, self.looked)
