"""Jobs of one type that run one after another, and what is stored between them."""

import numpy as np

from easyrider import fingerprints
from easyrider.fingerprints import Fingerprint
from easyrider.job_types import JobType
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.core.outlook import Rows

MAX_W, IDLE_W = 700.0, 75.0
TYPE = JobType(name="llm", gpu_count=8)


class Runs:
    """One job of one type after another, in one row, and a store of its own."""

    def __init__(self) -> None:
        self.store: dict[str, Fingerprint] = {}
        self.forgotten: list[str] = []
        self.number = 0

    def run(self, power_w: np.ndarray, *, limit_w: float = MAX_W, keep: bool = True) -> "Runs":
        """The whole of a run, (seconds x 10,)."""
        self.number += 1
        name = f"job-{self.number}"
        self.shelf, self.bank = Shelf(), Bank(np.array([MAX_W]), IDLE_W)
        self.shelf.runs.grow(1)
        self.shelf.memory.take(TYPE, self.store.values())
        self.shelf.track(name, 0, TYPE, fresh=True)
        limits_w = np.array([limit_w])
        ranges = Rows(floor_w=np.array([IDLE_W]), limit_w=limits_w, max_w=np.array([MAX_W]))
        self.matches, self.priors, self.periods_s = [], [], []
        for second in range(len(power_w) // 10):
            self.bank.observe(power_w[None, 10 * second : 10 * second + 10], limit_w=limits_w)
            self.shelf.see(self.bank.outlook, self.bank.detector, ranges)
            while self.shelf.think(self.bank.outlook, self.bank.detector, ranges):
                pass
            said = self.bank.tick()
            self.matches.append(float(self.shelf.match(1)[0]))
            self.priors.append(self.shelf.prior(name, MAX_W))
            self.periods_s.append(float(said.period_s[0]))
        self.shelf.end(name, self.bank.outlook, self.bank.detector, ranges)
        while keep and (due := self.shelf.memory.due(1.8e9 + len(self.store) + self.number)):
            for one in due:
                assert fingerprints.decode(one.id, fingerprints.encode(one)) == one
                self.store[one.id] = one
                self.shelf.memory.kept(one)
        for one in self.shelf.memory.forgotten():
            del self.store[one.id]
            self.forgotten.append(one.id)
            self.shelf.memory.gone(one)
        return self


def work(
    seconds: int, *, period_s: float = 3.0, high_w: float = 600.0, low_w: float = 250.0, setup_s: int = 10
) -> np.ndarray:
    """Idle, then a square wave that is low for a fifth of its period."""
    at = np.arange(10 * seconds) * 0.1
    beat_w = np.where(at % period_s < 0.8 * period_s, high_w, low_w)
    noise_w = np.random.default_rng(7).normal(0.0, 4.0, len(beat_w) + 10 * setup_s)
    return np.concatenate((np.full(10 * setup_s, 90.0), beat_w)) + noise_w
