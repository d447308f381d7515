"""Limits of all runs: what was sent and is under way, what is enforced, how often it moved and turned."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from easyrider.errors import EasyRiderError
from easyrider_bench.cases import WARM_UP_S, Case
from easyrider_bench.controllers.contract import Floats
from easyrider_bench.sums import TICK_S

MOVED_W = 0.5
TURN_RATIO = 0.01
"""Of the rating: a change of direction by less is none."""


class NoLimits(EasyRiderError):
    """A controller answered something that is no vector of limits; the run cannot go on."""

    def __init__(self, controller: str, scenario: str, t_s: float) -> None:
        self.controller, self.scenario, self.t_s = controller, scenario, t_s
        super().__init__(
            f"{controller} in {scenario} answered no finite limit for every board at {t_s:.1f} s; "
            "no figure of this run counts, correct the controller and run the bench again"
        )

    def __reduce__(self) -> tuple[type["NoLimits"], tuple[str, str, float]]:
        """As it comes out of a worker process."""
        return NoLimits, (self.controller, self.scenario, self.t_s)


@dataclass(order=True)
class _Command:
    """The part of one node."""

    due_s: float
    number: int
    run: int = field(compare=False)
    node: int = field(compare=False)
    limit_w: Floats = field(compare=False)


class Limits:
    """`enforced_w` (runs, boards)."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        self.enforced_w: Floats = np.array([case.site.max_w for case in cases])
        self._boards = [
            [(case.site.node_of == n).nonzero()[0] for n in range(len(case.site.node_ids))] for case in cases
        ]
        self._rngs = [np.random.default_rng([case.key.seed, 15]) for case in cases]
        self._under_way: list[_Command] = []
        self._number = 0
        self._applied = np.zeros((len(cases), len(cases[0].site.node_ids)), dtype=np.int64)
        self.changes = np.zeros(self.enforced_w.shape, dtype=np.int64)
        self.turns = np.zeros(self.enforced_w.shape, dtype=np.int64)
        self._turn_w = TURN_RATIO * self.enforced_w
        self._extreme_w, self._side = self.enforced_w.copy(), np.zeros(self.enforced_w.shape)

    def send(self, run: int, t_s: float, limit_w: Floats) -> None:
        """Each node with something new gets its part after its own delay, on the ticks of the referee."""
        site = self._cases[run].site
        limit_w = np.clip(limit_w, site.min_w, site.max_w)
        low, high = (round(s / TICK_S) for s in site.command_delay_s)
        delays = self._rngs[run].integers(low, high + 1, size=len(site.node_ids)) * TICK_S
        for node, boards in enumerate(self._boards[run]):
            self._number += 1
            command = _Command(t_s + float(delays[node]), self._number, run, node, limit_w[boards])
            heapq.heappush(self._under_way, command)

    def apply(self, t_s: float) -> list[tuple[int, float]]:
        """Enforce what is due by `t_s`, one at a time; (run, moment) of the next change, in order, until none."""
        changed: list[tuple[int, float]] = []
        while self._under_way and self._under_way[0].due_s <= t_s + 1e-9 and not changed:
            at_s = self._under_way[0].due_s
            while self._under_way and self._under_way[0].due_s <= at_s + 1e-9:
                command = heapq.heappop(self._under_way)
                if command.number > self._applied[command.run, command.node]:  # else an older one came late
                    self._applied[command.run, command.node] = command.number
                    if self._enforce(command):
                        changed.append((command.run, at_s))
        return list(dict.fromkeys(changed))

    def _enforce(self, command: _Command) -> bool:
        at = (command.run, self._boards[command.run][command.node])
        before_w = self.enforced_w[at]
        if np.array_equal(before_w, command.limit_w):
            return False
        self.enforced_w[at] = command.limit_w
        if command.due_s >= WARM_UP_S:
            self.changes[at] += np.abs(command.limit_w - before_w) > MOVED_W
        self._turn(at, command.limit_w, counted=command.due_s >= WARM_UP_S)
        return True

    def _turn(self, at: tuple[int, np.ndarray], limit_w: Floats, *, counted: bool) -> None:
        """Follow the swing of each limit; it turns when it comes back from its extreme by enough."""
        side, extreme_w = self._side[at], self._extreme_w[at]
        back_w = limit_w - extreme_w
        turned = (np.abs(back_w) >= self._turn_w[at]) & (np.sign(back_w) != side)
        self.turns[at] += turned & (side != 0) & counted
        self._side[at] = np.where(turned, np.sign(back_w), side)
        onward = turned | (np.sign(back_w) == side)
        self._extreme_w[at] = np.where(onward, limit_w, extreme_w)
