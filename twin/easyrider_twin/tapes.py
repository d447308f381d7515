"""A program unrolled in time: what each board would draw uncapped, and what of it is work."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from easyrider_twin.outcome import FloatArray

BoolArray = npt.NDArray[np.bool_]
EARLY_S = 2e-6
"""A row may be read as the next one by so little before its edge (per second of its spacing, where that is even)."""


@dataclass(frozen=True, kw_only=True)
class Tape:
    """Rows of natural draw on the axis of program seconds; row k lasts from edges_s[k] to edges_s[k+1].

    `draw_w` (rows, gpus); `work`, `present`, `busy_pct` (rows,). Played from `begin_s`; past the end it
    goes on at `loop_from_s`, or is over where that is None. Work counts seconds of rows that are work:
    set-up, checkpoints, stalls, pauses and idle stretches are none.
    """

    edges_s: FloatArray
    draw_w: npt.NDArray[np.float32]
    work: BoolArray
    present: BoolArray
    busy_pct: npt.NDArray[np.uint8]
    begin_s: float = 0.0
    loop_from_s: float | None = 0.0
    source: str = "synthetic"
    recorded_mean: bool = False

    @cached_property
    def _done_s(self) -> FloatArray:
        """Work before each edge."""
        return np.concatenate(([0.0], np.cumsum(np.diff(self.edges_s) * self.work)))

    @cached_property
    def _step_s(self) -> float | None:
        """Spacing of the rows where it is even."""
        steps = np.diff(self.edges_s)
        return float(steps[0]) if len(steps) and np.allclose(steps, steps[0], rtol=1e-6) else None

    def place_s(self, played_s: float) -> float | None:
        """Where on the tape one is after `played_s` program seconds; None once it is over."""
        at_s, end_s = self.begin_s + played_s, float(self.edges_s[-1])
        if at_s < end_s:
            return at_s
        if self.loop_from_s is None:
            return None
        return self.loop_from_s + (at_s - end_s) % (end_s - self.loop_from_s)

    def row(self, played_s: float) -> int | None:
        """Row in force after `played_s` program seconds; None once the tape is over."""
        at_s = self.place_s(played_s)
        if at_s is None:
            return None
        if self._step_s is not None:
            return min(int((at_s - float(self.edges_s[0])) / self._step_s + 1e-6), len(self.work) - 1)
        return int(np.searchsorted(self.edges_s, at_s + 1e-9, side="right")) - 1

    def same_until_s(self, played_s: float) -> float:
        """Played seconds before which `row` surely answers as it does now; infinite once the tape is over."""
        at_s, row = self.place_s(played_s), self.row(played_s)
        if at_s is None or row is None:
            return math.inf
        step_s, first_s, end_s = self._step_s, float(self.edges_s[0]), float(self.edges_s[-1])
        next_s = float(self.edges_s[row + 1]) if step_s is None else first_s + (row + 1) * step_s
        return played_s + min(next_s, end_s) - at_s - EARLY_S * (1.0 + (step_s or 0.0))

    def work_s(self, played_s: float) -> float:
        """Work-seconds done in the first `played_s` program seconds."""
        end_s, total_s = float(self.edges_s[-1]), float(self._done_s[-1])
        before_s = self._before(self.begin_s)
        at_s = self.begin_s + played_s
        if at_s < end_s:
            return self._before(at_s) - before_s
        if self.loop_from_s is None:
            return total_s - before_s
        rounds, rest_s = divmod(at_s - end_s, end_s - self.loop_from_s)
        head_s = self._before(self.loop_from_s)
        return (
            total_s
            - before_s
            + rounds * (total_s - head_s)
            + self._before(self.loop_from_s + rest_s)
            - head_s
        )

    def _before(self, at_s: float) -> float:
        return float(np.interp(at_s, self.edges_s, self._done_s))
