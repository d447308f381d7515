"""Which jobs below one domain could start their iterations later, so that their peaks do not add up.

Advice: a scheduler or an owner may follow it, and no limit depends on it. The peak is that of the sum of the jobs'
own waves, as if uncapped; what does not iterate is left aside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS: Final = 60
AGREE: Final = 0.03
"""Periods that differ by less may be set against each other."""
LONG_WINDOWS: Final = 3.0
"""A period of so many windows of the target is long: such jobs stay apart for a while, even if periods differ."""
DRIFT: Final = 0.1
"""Of a period: by then the offsets have to be given anew."""
LEAST_GAIN: Final = 0.01
PASSES: Final = 6
PAIRED: Final = 5
"""Up to so many jobs are moved two at a time as well."""
_SOLID: Final = 1e-9


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Wave:
    """One job's wall watts below a domain over its coming period (n,); `fixed_s`: an offset that stands already."""

    job: str
    period_s: float
    watts: Floats
    fixed_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """Delay one job by `offset_s`, once; a checkpoint at `checkpoint_s` from now falls on its own low, in a period
    in which no other of its group takes one."""

    job: str
    period_s: float
    offset_s: float
    checkpoint_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Jobs that can be set against each other. Wall watts of the sum of their waves below the domain."""

    jobs: tuple[Offset, ...]
    peak_w: float  # as they stand now
    peak_with_offsets_w: float
    avoided_w: float  # below 0: offsets of a domain that is pressed more cost so much here
    worst_w: float  # if all peaks met
    holds_s: float | None  # until the periods have drifted by a tenth; None: they are equal
    says: str


def groups(waves: Sequence[Wave], window_s: float) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """Jobs with like periods and what offsets would avoid; and those that nothing can be set against.

    `window_s`: over which the domain's target is kept as a mean.
    """
    found: list[list[Wave]] = []
    for wave in sorted(waves, key=lambda one: (one.period_s, one.job)):
        if found and _together(found[-1][0].period_s, wave.period_s, window_s):
            found[-1].append(wave)
        else:
            found.append([wave])
    alone = tuple(each[0].job for each in found if len(each) == 1)
    return tuple(group(each) for each in found if len(each) > 1), alone


def group(waves: Sequence[Wave]) -> Group:
    """The offsets of these jobs, the same for the same waves. The one that swings most stands."""
    longest_s, shortest_s = max(w.period_s for w in waves), min(w.period_s for w in waves)
    agree = longest_s <= (1 + AGREE) * shortest_s
    # Periods that agree are taken for one: else the waves would not close where the horizon ends.
    horizon_s = float(np.median([w.period_s for w in waves])) if agree else longest_s
    periods_s = [horizon_s if agree else w.period_s for w in waves]
    step_s = horizon_s / BINS
    shifted = [_shifted(w.watts, p, step_s) for w, p in zip(waves, periods_s, strict=True)]
    fixed = [
        None if w.fixed_s is None else round((w.fixed_s % p) / step_s) % len(table)
        for w, p, table in zip(waves, periods_s, shifted, strict=True)
    ]
    stands = [0 if place is None else place for place in fixed]
    best = spread(shifted, fixed)
    peak_w, least_w = _peak(shifted, [0] * len(shifted)), _peak(shifted, best)
    if _peak(shifted, stands) - least_w < LEAST_GAIN * peak_w:
        best, least_w = stands, _peak(shifted, stands)
    return Group(
        jobs=tuple(
            Offset(
                job=w.job,
                period_s=w.period_s,
                offset_s=at * step_s,
                checkpoint_s=turn * horizon_s + _low(table[at]) * step_s,
            )
            for turn, (w, table, at) in enumerate(zip(waves, shifted, best, strict=True))
        ),
        peak_w=peak_w,
        peak_with_offsets_w=least_w,
        avoided_w=peak_w - least_w,
        worst_w=float(sum(table.max() for table in shifted)),
        holds_s=_holds_s(shortest_s, longest_s),
        says=_says(peak_w - least_w),
    )


def _says(avoided_w: float) -> str:
    if avoided_w < 0:
        return "offsets of a domain that is pressed more bring peaks together here"
    return "" if avoided_w > 0 else "their peaks are as far apart as they can be: nothing to gain"


def spread(shifted: Sequence[Floats], fixed: Sequence[int | None]) -> list[int]:
    """Which row of each table (shifts, bins) to take, so that the highest bin of the sum is least.

    From where they stand and from one placed after the other, each is moved as long as that helps; then two at a
    time where they are few. Equal peaks: the flatter sum, then the shorter delay.
    """
    stands = [0 if place is None else place for place in fixed]
    free = [one for one, place in enumerate(fixed) if place is None]
    order = sorted(free, key=lambda one: (-float(np.ptp(shifted[one][0])), one))
    placed = list(stands)
    total = np.sum([shifted[o][stands[o]] for o in range(len(stands)) if o not in free], axis=0)
    for one in order:
        placed[one] = _best(total + shifted[one])
        total = total + shifted[one][placed[one]]
    tried = [_settle(shifted, start, order) for start in (stands, placed)]
    return min([stands, *tried], key=lambda rows: (*_worth(shifted, rows), sum(rows)))


def _settle(shifted: Sequence[Floats], start: Sequence[int], order: Sequence[int]) -> list[int]:
    rows = list(start)
    for _ in range(PASSES):
        before = list(rows)
        for one in order[1:] if len(order) == len(rows) else order:
            rest = _sum(shifted, rows) - shifted[one][rows[one]]
            _move(shifted, rows, {one: _best(rest + shifted[one])})
        if len(rows) <= PAIRED:
            for at, one in enumerate(order):
                for other in order[at + 1 :]:
                    rest = _sum(shifted, rows) - shifted[one][rows[one]] - shifted[other][rows[other]]
                    both = (rest + shifted[one])[:, None, :] + shifted[other][None, :, :]
                    first, second = divmod(_best(both.reshape(-1, both.shape[-1])), both.shape[1])
                    _move(shifted, rows, {one: first, other: second})
        if rows == before:
            break
    return rows


def _move(shifted: Sequence[Floats], rows: list[int], to: dict[int, int]) -> None:
    moved = [to.get(one, row) for one, row in enumerate(rows)]
    if _worth(shifted, moved) < _worth(shifted, rows):
        rows[:] = moved


def _best(sums: Floats) -> int:
    """Row of the lowest peak among sums (rows, bins); equal ones by flatness, then the first."""
    peaks = sums.max(axis=1)
    near = np.flatnonzero(peaks <= peaks.min() * (1 + _SOLID))
    squares = (sums[near] ** 2).sum(axis=1)
    return int(near[np.flatnonzero(squares <= squares.min() * (1 + _SOLID))[0]])


def _worth(shifted: Sequence[Floats], rows: Sequence[int]) -> tuple[float, float]:
    total = _sum(shifted, rows)
    return round(float(total.max()), 6), round(float((total**2).sum()), 3)


def _sum(shifted: Sequence[Floats], rows: Sequence[int]) -> Floats:
    return np.asarray(np.sum([table[row] for table, row in zip(shifted, rows, strict=True)], axis=0))


def _peak(shifted: Sequence[Floats], rows: Sequence[int]) -> float:
    return float(_sum(shifted, rows).max())


def _shifted(watts: Floats, period_s: float, step_s: float) -> Floats:
    """Watts (shifts, BINS) over the horizon, delayed by each multiple of a step within the period."""
    shifts = max(1, round(period_s / step_s))
    phase = ((np.arange(BINS)[None, :] - np.arange(shifts)[:, None] + 0.5) * step_s / period_s) % 1.0
    return np.asarray(watts[np.minimum((phase * len(watts)).astype(np.int64), len(watts) - 1)])


def _low(watts: Floats) -> int:
    """The first bin of a stretch of low draw: an iteration ends there."""
    low = watts <= watts.min() + 0.1 * np.ptp(watts)
    begins = np.flatnonzero(low & ~np.roll(low, 1))
    return int(begins[0]) if len(begins) else 0


def _together(first_s: float, other_s: float, window_s: float) -> bool:
    if other_s <= (1 + AGREE) * first_s:
        return True
    held_s = _holds_s(first_s, other_s)
    return first_s >= LONG_WINDOWS * window_s and held_s is not None and held_s >= window_s


def _holds_s(shortest_s: float, longest_s: float) -> float | None:
    apart = 1 / shortest_s - 1 / longest_s
    return DRIFT / apart if apart > _SOLID else None
