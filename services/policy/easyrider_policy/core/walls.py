"""What each domain draws at the wall now, ten times a second, from board means and what meters taught.

wall = slope x board watts + offset. The slope is declared; the offset (machines, fixed load, neighbours,
gain errors of the boards' sensors) is learned from meters, slowly, and only where it is quiet before and after
a reading, since a meter lags. It steers `target_w` alone. Without a meter the declared upper values stand.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.lateness import Lateness
from easyrider_policy.core.reckoning import Reckoning

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SECONDS: Final = 64
"""Seconds of wall watts kept: the longest `target_window_s` that is averaged."""
_STEPS: Final = 10
_QUIET_S: Final = 5
_CLEAR_READINGS: Final = 3
_NEWEST: Final = 2
"""What a reading shows of a second too early or too late, the next one shows the other way round."""
_NEWS: Final = 2.0
"""Of how far readings wander: what is more than that above the offset has come, and is no noise."""
_AFTER: Final = 1
"""Readings that are waited for before one is learned from: whatever seconds it covers, all around it was quiet."""
_OUTLYING: Final = 3.0
_OUTLYING_SHARE: Final = 0.01
"""A reading further off than so many swings, or this share of what is declared, widens no more than one there."""
_QUIET_SHARE: Final = 0.03
_PER_S: Final = 0.1
_TRUSTED_AFTER: Final = 5
_DENSE_CELLS: Final = 50_000
_LEAST_SHARE: Final = 0.5
SAME_W: Final = 1.0


class Walls:
    """Columns over domains (D,): `board_part_w` of the newest column, rings of seconds, learned `offset_w`."""

    def __init__(self, fleet: Fleet) -> None:
        domains = len(fleet.domains)
        self.fleet = fleet
        zero = np.zeros(len(fleet.gpus))
        self.declared_w = fleet.fixed_w + fleet.wall_w(zero)  # what stands there when boards draw nothing
        self.offset_w = np.full(domains, np.nan)  # learned
        self.swing_w = np.zeros(domains)  # mean distance of single readings from it
        self.lessons = np.zeros(domains)
        self.doubted = np.zeros(domains, dtype=np.bool_)
        self.board_part_w = np.zeros(domains)
        self.newest = np.zeros((_STEPS, domains))  # board part of the last ten columns
        self._at = 0
        self.ring = np.zeros((SECONDS, domains))
        self.filled = 0
        self.reckoning = Reckoning(domains)
        self.lateness = Lateness(domains)
        self._beside = np.full((_CLEAR_READINGS, domains), np.nan)  # of the newest clear readings
        self.reckoned_w = np.full(domains, np.nan)  # board part that the newest plan expects
        windows_s = [min(SECONDS, max(1, round(d.target_window_s))) for d in fleet.domain_records]
        self._windows = [(span, np.array([w == span for w in windows_s])) for span in sorted(set(windows_s))]
        self._waiting: list[Floats] = []  # newest readings of meters, oldest first
        self._sum, self._count = np.zeros(domains), 0
        dense = len(fleet.gpus) * domains <= _DENSE_CELLS
        self._matrix = _matrix(fleet) if dense else None

    def carried(self, fleet: Fleet) -> "Walls":
        """What meters taught of domains that are still there, for another fleet."""
        new = Walls(fleet)
        for name, row in fleet.domain_index.items():
            before = self.fleet.domain_index.get(name)
            # What stood there is no lesson once other machines hang below: a feed that carries its sister's too.
            if before is not None and abs(new.declared_w[row] - self.declared_w[before]) < SAME_W:
                new.offset_w[row], new.swing_w[row] = self.offset_w[before], self.swing_w[before]
                new.lessons[row] = self.lessons[before]
        return new

    def add(self, board_w: Floats) -> None:
        """Take board means (k, G), every cell known (the last good one, else the limit)."""
        if self._matrix is not None:
            part = board_w @ self._matrix
        else:
            part = self._climbed(board_w)
        self.board_part_w = part[-1]
        self.lateness.add(part)
        if len(part) == _STEPS and self._at == 0:
            self.newest[:] = part
        else:
            rows = (self._at + np.arange(len(part))) % _STEPS
            self.newest[rows] = part
            self._at = int(rows[-1] + 1) % _STEPS
        self._sum += part.sum(axis=0) / len(part) * len(board_w)
        self._count += len(board_w)
        if self._count >= _STEPS:
            second_w = self._sum / self._count
            self.ring[self.filled % SECONDS] = second_w
            self.reckoning.add_second(second_w, self.reckoned_w)
            self.filled += 1
            self._sum, self._count = np.zeros_like(self._sum), 0

    def _climbed(self, board_w: Floats) -> Floats:
        fleet = self.fleet
        heard = np.flatnonzero(np.diff(fleet.first_gpu))
        node_w = np.zeros((len(board_w), len(fleet.nodes)))
        node_w[:, heard] = np.add.reduceat(board_w, fleet.first_gpu[heard], axis=1)
        node_w *= fleet.overhead_slope
        return np.array([fleet.weights.normal(row) for row in node_w])

    @property
    def peak_part_w(self) -> Floats:
        """Highest 100 ms board part of the last second (D,)."""
        return np.asarray(self.newest.max(axis=0), dtype=np.float64)

    def meters(self, meter_w: Floats, period_s: float) -> None:
        """Learn from fresh meter readings (D,), NaN where there is none, `period_s` after the last time."""
        clear = self._clear(meter_w, period_s)
        self._waiting.append(meter_w)
        if len(self._waiting) <= _AFTER:
            return
        meter_w = self._waiting.pop(0)
        if self.filled < _QUIET_S:
            return
        recent = self.recent(_QUIET_S)
        mean = recent.sum(axis=0) / len(recent)
        quiet = recent.max(axis=0) - recent.min(axis=0) <= _QUIET_SHARE * np.maximum(mean, 1.0)
        seen = meter_w - mean
        good = np.isfinite(seen) & quiet & ~clear
        first = good & np.isnan(self.offset_w)
        self.offset_w[first] = seen[first]
        share = min(1.0, _PER_S * period_s)
        with np.errstate(invalid="ignore"):
            error = np.where(good, seen - self.offset_w, 0.0)
        edge_w = np.maximum(_OUTLYING * self.swing_w, _OUTLYING_SHARE * self.declared_w)
        self.offset_w += share * error
        self.swing_w += np.where(good, share * (np.minimum(np.abs(error), edge_w) - self.swing_w), 0.0)
        self.lessons += good

    def _clear(self, meter_w: Floats, period_s: float) -> Bools:
        """Learn from readings that are clear by themselves; the domains (D,) of such."""
        beside = self.lateness.hear(meter_w)
        if beside is None:
            return np.zeros(len(meter_w), dtype=np.bool_)
        self._beside = np.roll(self._beside, -1, axis=0)
        self._beside[-1] = np.where(beside.clear, beside.watts, np.nan)
        seen_w = self._beside.mean(axis=0)
        clear: Bools = np.isfinite(seen_w)
        first = clear & np.isnan(self.offset_w)
        self.offset_w[first] = seen_w[first]
        with np.errstate(invalid="ignore"):
            error_w = np.where(clear, seen_w - self.offset_w, 0.0)
            newest_w = np.where(clear, self._beside[-_NEWEST:].mean(axis=0) - self.offset_w, 0.0)
        # What came beside our boards counts at once; that it is gone is believed slowly.
        share = min(1.0, _PER_S * period_s)
        came_w = newest_w - _NEWS * beside.wanders_w
        self.offset_w += np.where(came_w > 0, np.maximum(came_w, share * error_w), share * error_w)
        off_w = np.minimum(np.abs(error_w), beside.wanders_w)
        self.swing_w += np.where(clear, share * (off_w - self.swing_w), 0.0)
        self.lessons += clear
        return clear

    def doubt(self, silent: Iterable[int]) -> None:
        """Domains whose meter is silent now: what it taught counts again once it speaks."""
        self.doubted[:] = False
        self.doubted[list(silent)] = True

    def standing_w(self, unmanaged_w: Floats) -> Floats:
        """Watts (D,) that stand on each domain besides board watts: learned where trusted, else declared."""
        declared = self.declared_w + unmanaged_w
        trusted = (self.lessons >= _TRUSTED_AFTER) & np.isfinite(self.offset_w) & ~self.doubted
        # A meter that reads far too low must not open the gate: half of what is declared stays.
        learned = np.maximum(self.offset_w + 2 * self.swing_w, _LEAST_SHARE * self.declared_w)
        return np.where(trusted, learned, declared)

    def recent(self, seconds: int) -> Floats:
        """The newest whole seconds of board part (<= seconds, D)."""
        have = min(seconds, self.filled, SECONDS)
        begin = (self.filled - have) % SECONDS
        if begin + have <= SECONDS:
            return self.ring[begin : begin + have]
        return np.concatenate([self.ring[begin:], self.ring[: begin + have - SECONDS]])

    def target_means_w(self) -> Floats:
        """Mean board part (D,) over each domain's own target window, in whole seconds."""
        if len(self._windows) == 1:
            return self.window_w(self._windows[0][0])
        result = np.zeros(len(self.board_part_w))
        for span, mine in self._windows:
            result[mine] = self.window_w(span)[mine]
        return result

    def window_w(self, seconds: int) -> Floats:
        """Mean board part (D,) over the newest whole seconds; zero before the first."""
        recent = self.recent(seconds)
        if not len(recent):
            return np.zeros(len(self.board_part_w))
        return np.asarray(recent.sum(axis=0) / len(recent), dtype=np.float64)


def _matrix(fleet: Fleet) -> Floats:
    links = fleet.weights.of_nodes
    per_node = np.zeros((len(fleet.nodes), len(fleet.domains)))
    np.add.at(per_node, (links.below, links.above), links.normal)
    matrix: Floats = per_node[fleet.gpu_node] * fleet.overhead_slope[fleet.gpu_node][:, None]
    return matrix
