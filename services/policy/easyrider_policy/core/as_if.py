"""What limits that nobody wrote would have done: whom they would have slowed, for what need, which peaks they kept.

The limits of one plan are held against what is drawn until the next. A cap counts as needed if a domain above the job
came near its target within half a minute, before or after: a plan that acts ahead of a peak is no false alarm.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.emergency import OVER_TARGET, near_hard_w
from easyrider_policy.core.layout import Layout

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

BITES: Final = 0.99
"""A limit below this share of what a job draws would have slowed it."""
NEAR: Final = 0.95
"""A domain at this share of its target, or of where its hard limit is near, gave reason for caps."""
WITHIN_S: Final = 30.0
CALM_S: Final = 10.0
"""Below its target for so long, and the next excess of a domain is another peak."""
SECONDS: Final = 64


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Moment:
    """What is seen while the limits of the plan before stand. (J,) watts per board, (D,) wall watts."""

    now_s: float
    elapsed_s: float  # a second or more
    layout: Layout
    draw_w: Floats  # (J,) NaN unknown
    demand_w: Floats  # (J,)
    limit_w: Floats  # (J,) of the plan before
    mean_w: Floats  # (D,) over each target's window
    peak_w: Floats  # (D,) of the last second
    target_w: Floats
    hard_w: Floats
    idle_over_w: Floats  # (G,) what boards in no job draw above the minimum that they would be held at
    group: Ints  # (J,) whose score each job is part of, -1: its limit is written, and nothing is as if


@dataclass(slots=True, kw_only=True)
class Findings:
    """What came of it since the last time: by group seconds of jobs, peaks that began, and those that were missed."""

    capped_s: dict[int, float]
    false_s: dict[int, float]
    peaks: list["Peak"]
    missed: list["Peak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """An excess of one domain. `lead_s` None: no cap was binding when it began."""

    domain: int
    groups: frozenset[int]  # of the jobs below it when it began
    lead_s: float | None


@dataclass(slots=True)
class _Pending:
    at_s: float
    layout: Layout
    capped: Ints  # rows of jobs
    group: Ints  # of these jobs
    elapsed_s: float


class AsIf:
    """Remembers half a minute of one site."""

    def __init__(self, domains: int, windows_s: Floats) -> None:
        self._windows = np.clip(np.round(windows_s), 1, SECONDS).astype(np.int64)
        self._cut_w = np.zeros((SECONDS, domains))
        self._row = self._seconds = 0
        self._near_s = np.full(domains, -np.inf)
        self._bound_s = np.full(domains, np.inf)  # since when a cap binds below, inf: none does
        self._over_s = np.full(domains, -np.inf)  # when it was over last
        self._open: dict[int, tuple[Peak, bool]] = {}  # peaks that go on, and whether they were missed
        self._pending: deque[_Pending] = deque()

    def add(self, moment: Moment) -> Findings:
        """One plan's limits against what was drawn since."""
        layout, found = moment.layout, Findings(capped_s={}, false_s={}, peaks=[], missed=[])
        draw_w = np.nan_to_num(moment.draw_w)
        bites = (moment.group >= 0) & (moment.limit_w < BITES * draw_w)
        near = (moment.mean_w >= NEAR * moment.target_w) | (
            moment.peak_w >= NEAR * near_hard_w(moment.target_w, moment.hard_w)
        )
        self._near_s[near] = moment.now_s
        rows = np.flatnonzero(bites)
        if len(rows):
            self._pending.append(_Pending(moment.now_s, layout, rows, moment.group[rows], moment.elapsed_s))
        self._settle(moment.now_s, found)
        self._peaks(moment, np.where(bites, draw_w - moment.limit_w, 0.0), found)
        return found

    def passed(self) -> None:
        """A second in which jobs came or went: what the limits before took is taken to go on."""
        self._push(self._cut_w[self._row - 1].copy(), 1.0)

    def _settle(self, now_s: float, found: Findings) -> None:
        """Caps whose half minute is over."""
        while self._pending and now_s - self._pending[0].at_s >= WITHIN_S:
            one = self._pending.popleft()
            layout = one.layout
            needed = np.zeros(layout.job_count, dtype=np.bool_)
            domains = self._near_s >= one.at_s - WITHIN_S
            needed[layout.pair_job[domains[layout.pair_domain]]] = True
            _count(found.capped_s, one.group, one.elapsed_s)
            _count(found.false_s, one.group[~needed[one.capped]], one.elapsed_s)

    def _peaks(self, moment: Moment, cut_board_w: Floats, found: Findings) -> None:
        layout, now_s = moment.layout, moment.now_s
        self._push(_on_domains(layout, cut_board_w, moment.idle_over_w), moment.elapsed_s)
        binds = moment.limit_w < BITES * moment.demand_w
        bound = np.zeros(layout.domain_count, dtype=np.bool_)
        bound[layout.pair_domain[binds[layout.pair_job]]] = True
        self._bound_s = np.where(bound, np.minimum(self._bound_s, now_s), np.inf)
        # The mean must not hold seconds in which nothing was planned yet.
        over = (moment.mean_w > OVER_TARGET * moment.target_w) & (self._seconds >= self._windows)
        kept = moment.mean_w - self._cut_means_w() <= OVER_TARGET * moment.target_w
        self._over_s[over] = now_s
        for row in [row for row in self._open if now_s - self._over_s[row] >= CALM_S]:
            del self._open[row]
        rows = np.flatnonzero(over).tolist()
        below = {} if self._open.keys() >= set(rows) else _groups_below(layout, moment.group, over)
        for row in rows:
            if row not in self._open:
                if not (groups := frozenset(below.get(row, ()))):
                    continue  # nobody's yet: a job whose draw is seen may not have been told of
                self._open[row] = (Peak(domain=row, groups=groups, lead_s=self._lead_s(row, now_s)), False)
                found.peaks.append(self._open[row][0])
            peak, missed = self._open[row]
            if not (missed or kept[row]):
                self._open[row] = (peak, True)
                found.missed.append(peak)

    def _push(self, cut_w: Floats, elapsed_s: float) -> None:
        """A row for each second."""
        for _ in range(max(1, round(elapsed_s))):
            self._cut_w[self._row] = cut_w
            self._row, self._seconds = (self._row + 1) % SECONDS, self._seconds + 1

    def _lead_s(self, row: int, now_s: float) -> float | None:
        since_s = float(self._bound_s[row])
        return now_s - since_s if np.isfinite(since_s) else None

    def _cut_means_w(self) -> Floats:
        """(D,) what caps would have taken, as a mean over each target's window."""
        mean_w = np.zeros(self._cut_w.shape[1])
        for span in np.unique(self._windows).tolist():
            rows = (self._row - 1 - np.arange(span)) % SECONDS
            mine = self._windows == span
            mean_w[mine] = self._cut_w[rows][:, mine].mean(axis=0)
        return mean_w


def _on_domains(layout: Layout, per_board_w: Floats, idle_w: Floats) -> Floats:
    """(D,) wall watts of board watts, by job (J,) and of idle boards (G,)."""
    fleet, board_w = layout.fleet, idle_w
    if layout.job_count:
        board_w = np.where(layout.job_of >= 0, per_board_w[layout.job_of], idle_w)
    node_w = np.bincount(fleet.gpu_node, weights=board_w, minlength=len(fleet.nodes))
    return fleet.weights.normal(fleet.overhead_slope * node_w)


def _groups_below(layout: Layout, group: Ints, domains: Bools) -> dict[int, set[int]]:
    """Groups with a job below each of these domains (D,)."""
    of_pair = group[layout.pair_job]
    mine = domains[layout.pair_domain] & (of_pair >= 0)
    span = int(group.max(initial=0)) + 1
    found: dict[int, set[int]] = {}
    for key in np.unique(layout.pair_domain[mine] * span + of_pair[mine]).tolist():
        found.setdefault(key // span, set()).add(key % span)
    return found


def _count(sums: dict[int, float], groups: Ints, seconds: float) -> None:
    for group, count in zip(*np.unique(groups, return_counts=True), strict=True):
        sums[int(group)] = sums.get(int(group), 0.0) + float(count) * seconds
