"""Which raises wait, and for what."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.raises import Admitted
from easyrider_policy.core.steps import Asked, Step

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A raise, or the rest of one, that may not leave yet. `gpu`: row of the job's first such board.

    `why`: "take_over", "hold:<id>", "guardian_hold:<node>", "silent:<node>", "leaving:<node>", "unacked:<domain>"
    (lowers there are not verified yet), "room:<domain>", or what blocks the domain ("open:...", "meter:...",
    "unfenced:...", "undeclared").
    """

    gpu: int
    watts: float  # per board, the most of the job's boards
    why: str


class Waits(Sequence[Waiting]):
    """Raises that wait, one entry a job or idle board: columns, since there may be thousands at every look.

    Why each waits is told only when it is asked for.
    """

    def __init__(self, gpu: Ints, watts: Floats, why: Callable[[int], str]) -> None:
        self.gpu, self.watts, self._why = gpu, watts, why

    def __len__(self) -> int:
        return len(self.gpu)

    @overload
    def __getitem__(self, at: int) -> Waiting: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Waiting, ...]: ...

    def __getitem__(self, at: int | slice) -> Waiting | tuple[Waiting, ...]:
        if isinstance(at, slice):
            return tuple(self[place] for place in range(*at.indices(len(self))))
        place = range(len(self))[at]
        return Waiting(int(self.gpu[place]), float(self.watts[place]), self._why(place))

    def __iter__(self) -> Iterator[Waiting]:
        return (self[place] for place in range(len(self)))


def _nothing(_place: int) -> str:
    return ""


NOBODY = Waits(np.zeros(0, dtype=np.int64), np.zeros(0), _nothing)


def waiting(
    fleet: Fleet, step: Step, sums: Sums, admitted: Admitted, asked: Asked, quiet: Bools, holding: bool
) -> Waits:
    """One entry a job or idle board. `quiet` (N,): without a fresh nonce. `holding`: after a take-over."""
    short = step.rises & (admitted.share < 1.0)
    rows = np.flatnonzero(short)
    if not len(rows):
        return NOBODY
    binding, group = admitted.binding[rows], step.group[rows]
    left_w = np.nan_to_num(step.target.limit_w[rows] - asked.limit_w[rows])
    # Of a job's boards the one that cannot rise says why, else one that a domain binds.
    rank = np.where(step.bound[rows], 0, np.where(binding >= 0, 1, 2))
    order = np.lexsort((rows, rank, group))
    begin = np.flatnonzero(np.diff(group[order], prepend=-1))
    most_w = np.maximum.reduceat(left_w[order], begin)
    first = np.minimum.reduceat(rows[order], begin)
    chosen = rows[order][begin]
    unverified: list[Floats] = []

    def unverified_w() -> Floats:
        if not unverified:
            short_w = np.maximum(0.0, step.counted_w - np.nan_to_num(asked.limit_w) * step.overshoot)
            unverified.append(fleet.slope_w(short_w))
        return unverified[0]

    def why(place: int) -> str:
        row = int(chosen[place])
        machine, domain = int(fleet.gpu_node[row]), int(admitted.binding[row])
        if holding:
            return "take_over"
        if step.holds is not None and step.holds.boards[row]:
            return step.holds.why(row)
        if not step.free[machine]:
            return f"{'silent' if quiet[machine] else 'leaving'}:{fleet.nodes[machine]}"
        if domain < 0:
            return "least_step"
        if domain in sums.blocked:
            return sums.blocked[domain]
        return f"{'unacked' if unverified_w()[domain] > 1.0 else 'room'}:{fleet.domains[domain]}"

    return Waits(first, most_w, why)
