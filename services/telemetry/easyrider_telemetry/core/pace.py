"""How an energy counter moves: learned from a short burst of reads, before any difference is believed."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

MIN_CHANGES = 4
_CONTINUOUS = 1.5
"""A counter that moves at nearly every read of the burst is as good as continuous."""
_SAME = 0.9
"""Share of reads that must agree before a driver's time stamps are believed."""


class CounterRead(NamedTuple):
    """One look at the counter: our monotonic clock, millijoules, and the driver's Unix stamp (0: none)."""

    mono_ns: int
    energy_mj: int
    stamp_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`stamped`: the driver's stamps move with the counter. `paced`: it steps every `period_s`.

    `continuous`: it moves faster than anybody reads. `period_error_s` is how far `period_s` may be off;
    `step_s`, on our monotonic clock, is when some step happened, known to `step_error_s`.
    """

    kind: Literal["stamped", "paced", "continuous"]
    period_s: float
    period_error_s: float = 0.0
    step_s: float = 0.0
    step_error_s: float = 0.0


def learn_pace(burst: Sequence[CounterRead]) -> Pace | None:
    """The pace of a counter; None where too few steps were seen to say.

    `burst` should be read a few times faster than the counter steps, and span at least five steps.
    Source: least squares of the step times over their number, stamps judged by whether they rest with the counter.
    """
    steps = [
        (before.mono_ns / 1e9, after.mono_ns / 1e9)
        for before, after in itertools.pairwise(burst)
        if after.energy_mj > before.energy_mj
    ]
    if len(steps) < MIN_CHANGES:
        return None
    read_gap_s = median(b.mono_ns - a.mono_ns for a, b in itertools.pairwise(burst)) / 1e9
    middles = [(low + high) / 2 for low, high in steps]
    rough_s = median(b - a for a, b in itertools.pairwise(middles))
    if rough_s <= _CONTINUOUS * read_gap_s:
        return Pace(kind="continuous", period_s=read_gap_s)
    numbers = [0]
    for before, after in itertools.pairwise(middles):
        numbers.append(numbers[-1] + max(1, round((after - before) / rough_s)))
    period_s, first_s = _line(numbers, middles)
    error_s = max(read_gap_s, max(high - low for low, high in steps)) / 2
    if _stamps_move_with_the_counter(burst):
        return Pace(kind="stamped", period_s=period_s)
    return Pace(
        kind="paced",
        period_s=period_s,
        period_error_s=2 * error_s / numbers[-1],
        step_s=first_s + numbers[-1] * period_s,
        step_error_s=2 * error_s,
    )


def _line(numbers: Sequence[int], times_s: Sequence[float]) -> tuple[float, float]:
    mean_number, mean_s = sum(numbers) / len(numbers), sum(times_s) / len(times_s)
    spread = sum((n - mean_number) ** 2 for n in numbers)
    slope = sum((n - mean_number) * (t - mean_s) for n, t in zip(numbers, times_s, strict=True)) / spread
    return slope, mean_s - slope * mean_number


def _stamps_move_with_the_counter(burst: Sequence[CounterRead]) -> bool:
    """True where the stamp rests while the counter rests: a stamp of the *query* would move at every read."""
    if not all(read.stamp_us for read in burst):
        return False
    rests = moves = rests_alike = moves_alike = 0
    for before, after in itertools.pairwise(burst):
        stamp_moved = after.stamp_us != before.stamp_us
        if after.energy_mj == before.energy_mj:
            rests += 1
            rests_alike += not stamp_moved
        else:
            moves += 1
            moves_alike += stamp_moved
    return rests >= MIN_CHANGES and rests_alike >= _SAME * rests and moves_alike >= _SAME * moves
