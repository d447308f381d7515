"""Jobs whose boards stand below several coordinators: the smallest share that any of them plans is echoed to all.

Such a job runs at its slowest board, so what one coordinator must take from it the others need not give it. Each
tells of its jobs the share of their natural draw that its own limits allow (`wishes`: as if nothing were echoed, or
no echo could ever rise again); the parent returns the smallest, which is an upper bound from then on. An echo falls
at once and rises by one step a cooldown, as limits do, or the others' limits would follow every flicker of one; what
has just begun may rise at will. A share is that of a board's natural draw, since boards of one job may be unlike.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from easyrider.tree import Pacing
from easyrider_policy.core.allocate import at_cost
from easyrider_policy.core.fleet import Floats
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.tally import tally

Shares = Mapping[int, float]
WHOLE = 0.999
"""A share above it binds nobody."""
FLICKER = 0.01
"""An echo does not rise by less: what a job is worth at a price and what it is given differ by so much."""
MOST = 4_096
"""Jobs that one message tells of: 48 KiB of the 64 that it may have."""
SHOWN_S = 2.5
"""Two control periods and a little."""
CARE, MOST_PATIENCE = 0.25, 32
"""Of what is wished for, at most a step; prices rise with what is taken."""
_EQUAL = 1e-3


def key_of(job: str) -> int:
    """What a job is told by: the first 8 bytes of SHA-256 over its id, little-endian."""
    return int.from_bytes(hashlib.sha256(job.encode()).digest()[:8], "little")


def keys_of(layout: Layout) -> tuple[int, ...]:
    """Keys of every job, in the order of the layout."""
    return tuple(key_of(job.id) for job in layout.jobs)


class JobKeys:
    """Keys of a layout's jobs, made once for each layout."""

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._keys: tuple[int, ...] = ()

    def of(self, layout: Layout) -> tuple[int, ...]:
        """In the order of its jobs."""
        if self._layout is not layout:
            self._layout, self._keys = layout, keys_of(layout)
        return self._keys


def packed(shares: Shares) -> tuple[bytes, bytes]:
    """Keys and shares as two columns of a message, u8 and f4; of very many the smallest shares alone."""
    rows = sorted(shares.items(), key=lambda row: row[1])[:MOST]
    keys = np.array([key for key, _ in rows], dtype="<u8")
    return keys.tobytes(), np.array([share for _, share in rows], dtype="<f4").tobytes()


def unpacked(keys: bytes, shares: bytes) -> dict[int, float]:
    """The same read again; columns that do not belong together, and shares that are none, say nothing."""
    if len(keys) % 8 or len(keys) // 8 != len(shares) / 4 or len(keys) > 8 * MOST:
        return {}
    values = np.frombuffer(shares, dtype="<f4").astype(np.float64)
    fit = (values >= 0.0) & (values <= 1.0)
    return {
        key: share
        for key, share, good in zip(
            np.frombuffer(keys, dtype="<u8").tolist(), values.tolist(), fit.tolist(), strict=True
        )
        if good
    }


def wishes(solution: Solution, echo: Floats | None) -> Floats:
    """(J,) shares of natural draw that the scope's own limits allow each job; NaN for jobs that are not ours.

    `echo` (J,): the bounds under which the solution was made. Where one binds, the share is what the job would take
    at the prices of the solution without it.
    """
    problem, question = solution.problem, solution.question
    planned_w, peak_w = solution.allocation.watts, np.maximum(problem.peak_w, 1e-9)
    wish_w = planned_w
    if echo is not None and (echo < WHOLE).any():
        layout = problem.layout
        own, hard = solution.allocation.own_price, solution.allocation.hard_binds
        # A price is one of the limit that binds: where that is the hard one, of what counts against it.
        weight = np.where(hard[layout.pair_domain], problem.loads.worst, problem.drawn)
        cost = tally(layout.pair_job, own[layout.pair_domain] * weight, layout.job_count)
        top_w = np.maximum(np.minimum(problem.peak_w, layout.max_w), problem.top_w)
        free_w = np.maximum(planned_w, np.where(cost > 0, _at_cost(solution, cost, top_w), top_w))
        bound_w = echo * peak_w
        bound = (echo < WHOLE) & (planned_w >= bound_w * (1 - _EQUAL))
        # What something else holds lower than the echo does is no wish for more.
        bound &= problem.top_w >= bound_w * (1 - _EQUAL)
        wish_w = np.where(bound, free_w, planned_w)
    share = np.where(question.stalled, 1.0, np.clip(wish_w / peak_w, 0.0, 1.0))
    return np.where(problem.boards > 0, share, np.nan)


def told(solution: Solution | None, echo: Floats | None, keys: JobKeys) -> dict[int, float]:
    """Wishes by key, of a solution that was made under these bounds."""
    if solution is None:
        return {}
    shares = wishes(solution, echo).tolist()
    found = zip(keys.of(solution.problem.layout), shares, strict=True)
    return {key: share for key, share in found if share == share}


def ceiling_w(echo: Floats | None, natural_w: Floats) -> Floats | None:
    """(J,) watts per board that shares (J,) allow, infinite where none binds; None where none does anywhere."""
    if echo is None or not (echo < WHOLE).any():
        return None
    return np.where(echo < WHOLE, echo * natural_w, np.inf)


def bounds(keys: Iterable[int], *echoes: Shares) -> Floats | None:
    """(J,) the smallest echo of each key, 1 where there is none; None where nothing is echoed."""
    if not any(echoes):
        return None
    return np.array([min(echo.get(key, 1.0) for echo in echoes) for key in keys], dtype=np.float64)


@dataclass(slots=True)
class _Echo:
    """What is echoed of one job now. `patience`: cooldowns until the next rise; one in vain doubles it."""

    share: float
    moved_s: float
    rose_s: float = -np.inf
    patience: int = 1
    tried: bool = False  # its last move was a rise

    def rise(self, by: float, now_s: float) -> None:
        """A step up. One that held until now was not in vain."""
        self.patience = 1 if self.tried else self.patience
        self.share += by
        self.moved_s, self.rose_s, self.tried = now_s, now_s, True

    def fall(self, wish: float, now_s: float) -> None:
        """Down to what somebody can give."""
        if wish < self.share - FLICKER:
            self.patience = min(2 * self.patience, MOST_PATIENCE) if self.tried else self.patience
            self.moved_s, self.tried = now_s, False
        self.share = wish


class Crossing:
    """What coordinators right below wish for their jobs, and what is echoed to them. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.told: dict[str, Shares] = {}
        self._echoes: dict[int, _Echo] = {}

    def heard(self, region: str, wishes: Shares) -> None:
        """The newest word of one of them."""
        self.told[region] = wishes

    def plan(self, now_s: float, own: Shares, reached: Iterable[str], pacing: Pacing) -> None:
        """New echoes. `own`: wishes of this scope for its own jobs; `reached`: whose word still stands."""
        reached = set(reached)
        self.told = {name: shares for name, shares in self.told.items() if name in reached}
        smallest, seen = dict(own), dict.fromkeys(own, 1)
        for shares in self.told.values():
            for key, share in shares.items():
                smallest[key] = min(share, smallest.get(key, 1.0))
                seen[key] = seen.get(key, 0) + 1
        crossing = {key for key, count in seen.items() if count > 1}
        self._echoes = {key: echo for key, echo in self._echoes.items() if key in crossing}
        for key in crossing:
            self._move(key, smallest[key], now_s, pacing)

    def echo(self) -> Shares:
        """Upper bounds of jobs that cross here."""
        return {key: echo.share for key, echo in self._echoes.items() if echo.share < WHOLE}

    def for_region(self, region: str, above: Shares) -> dict[int, float]:
        """What one of them is told. `above`: what our own parent echoed."""
        found = {}
        for key in self.told.get(region, {}):
            echo = self._echoes.get(key)
            share = min(1.0 if echo is None else echo.share, above.get(key, 1.0))
            if share < WHOLE:
                found[key] = share
        return found

    def upward(self, own: Shares) -> dict[int, float]:
        """What our own parent is told: the smallest wish for each job here and below."""
        smallest = dict(own)
        for shares in self.told.values():
            for key, share in shares.items():
                smallest[key] = min(share, smallest.get(key, 1.0))
        return smallest

    def _move(self, key: int, wish: float, now_s: float, pacing: Pacing) -> None:
        echo = self._echoes.get(key)
        if echo is None:
            self._echoes[key] = _Echo(wish, now_s)
        elif wish < echo.share:
            # The watts for a rise come with the budget after the next demand: till then nobody can show its use.
            if now_s - echo.rose_s >= SHOWN_S:
                echo.fall(wish, now_s)
        elif wish > echo.share + FLICKER and now_s - echo.moved_s >= echo.patience * pacing.cooldown_s:
            echo.rise(min(pacing.step_share, CARE * (wish - echo.share)), now_s)


def _at_cost(solution: Solution, cost: Floats, top_w: Floats) -> Floats:
    problem = solution.problem
    return at_cost(replace(problem, top_w=top_w, floor_w=np.minimum(problem.floor_w, top_w)), cost)
