"""Bounds tracked, scored, and drawn from order statistics (see `PeakBound`, `Trackers`, `Recent`, `Ceiling`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import HORIZONS_S, Array
from easyrider_forecaster.core.bound import MISS, SCORES, START, TAIL
from easyrider_forecaster.core.history import BLOCKS, SLOTS
from easyrider_forecaster.core.mix import DEPTHS, ORIGINS, STARTS
from easyrider_forecaster.core.trackers import BASES, FORGET, FRESH, PACE, STEP


def track(
    block: int, h: int, share: float, start: float, peak_w: Array, valid: Array, hidden: Array, rating_w: Array,
    margin_w: Array, loss_w: Array, number: Array, first_w: Array, scale_w: Array, base_w: Array, context: Array,
) -> None:  # fmt: skip
    """One horizon of one `Trackers`."""
    origin = block - HORIZONS_S[h]
    at = STARTS[h] + origin % DEPTHS[h]
    for row in range(len(peak_w)):
        if not valid[row] or not math.isfinite(peak_w[row]):
            continue
        c, top = context[row, origin % ORIGINS], rating_w[row]
        if not hidden[row]:
            number[row, c, h] += 1
        for b in range(BASES):
            base = base_w[row, at, b]
            if not math.isfinite(base):
                continue
            fresh = not math.isfinite(margin_w[row, c, h, b])
            margin = start * top if fresh else float(margin_w[row, c, h, b])
            score = peak_w[row] - base
            miss = score > margin + 0.5
            if hidden[row] and not miss:
                continue
            first_w[row, c, h, b] = max(first_w[row, c, h, b], score)
            off = score - margin
            loss_w[row, c, h, b] = FORGET * loss_w[row, c, h, b] + max(share * off, (share - 1.0) * off)
            size = min(abs(score), 0.2 * top)
            scale = float(scale_w[row, h, b])
            scale = scale + PACE * (size - scale) if math.isfinite(scale) else size
            scale = max(scale, 0.002 * top)
            scale_w[row, h, b] = scale
            if fresh:
                if number[row, c, h] < FRESH[h]:
                    continue
                moved = max(first_w[row, c, h, b], -0.5 * top)
            else:
                moved = margin + STEP * scale * (share if miss else share - 1.0)
            margin_w[row, c, h, b] = min(max(moved, -0.5 * top), 0.5 * top)


def tail(
    first: int,
    turns: int,
    rolling: int,
    scored: Array,
    level: Array,
    scores: Array,
    unit_w: float,
    margin99_w: Array,
) -> None:
    """The 0.99 margins of every `turns`-th row from `first` on: the highest few of the scores."""
    high = np.empty(TAIL)
    for row in range(first, len(scored), turns):
        for h in range(rolling):
            number = min(scored[row, h], SCORES)
            if number < START:
                margin99_w[row, h] = math.nan
                continue
            rank = math.ceil((number + 1) * (1 - level[row, h])) - 1
            rank = min(max(rank, 0), number - 1)
            back = min(number - 1 - rank, TAIL - 1)
            size = 0
            for at in range(number):
                one = scores[row, h, at]
                if size <= back:
                    place = size
                    size += 1
                elif one > high[back]:
                    place = back
                else:
                    continue
                while place > 0 and high[place - 1] < one:
                    high[place] = high[place - 1]
                    place -= 1
                high[place] = one
            margin99_w[row, h] = high[back] * unit_w


def highs(
    first: int,
    turns: int,
    end: int,
    value: Array,
    dip: Array,
    clean_high_w: Array,
    upper_w: Array,
    number: Array,
) -> None:
    """Of the last minute: 98 % of the samples outside dips, 99.5 % of all and how many there are."""
    calm = np.empty(14)
    every = np.empty(4)
    for row in range(first, len(number), turns):
        count, quiet = 0, 0
        for at in range(14):
            calm[at] = -np.inf
        for at in range(4):
            every[at] = -np.inf
        for back in range(600):
            slot = (end - 1 - back) % SLOTS
            one = value[row, slot]
            if math.isnan(one):
                continue
            count += 1
            if one > every[3]:
                place = 3
                while place > 0 and every[place - 1] < one:
                    every[place] = every[place - 1]
                    place -= 1
                every[place] = one
            if dip[row, slot]:
                continue
            quiet += 1
            if one > calm[13]:
                place = 13
                while place > 0 and calm[place - 1] < one:
                    calm[place] = calm[place - 1]
                    place -= 1
                calm[place] = one
        number[row] = count
        clean_high_w[row] = calm[min(int(np.rint(0.02 * quiet)), 13)] if quiet >= 20 else math.nan
        upper_w[row] = every[min(count - math.ceil(0.995 * count), 3)] if count else math.nan


def middles(first: int, turns: int, block: int, block_top: Array, clean: Array, middle_top_w: Array) -> None:
    """Median of the maxima of the last sixty blocks outside dips."""
    kept = np.empty(60)
    for row in range(first, len(middle_top_w), turns):
        number = 0
        for back in range(60):
            at = (block - back) % BLOCKS
            one = block_top[row, at]
            if clean[row, at] and math.isfinite(one):
                place = number
                while place > 0 and kept[place - 1] > one:
                    kept[place] = kept[place - 1]
                    place -= 1
                kept[place] = one
                number += 1
        middle_top_w[row] = kept[max(number - 1, 0) // 2] if number else math.nan


def cover(
    h: int, rolling: int, peak_w: Array, valid: Array, hidden: Array, base_w: Array, said_w: Array, scores: Array,
    scored: Array, missed: Array, level: Array, at: int, unit_w: float,
) -> None:  # fmt: skip
    """Scores and coverage of one horizon of a `PeakBound` whose scores are whole multiples of `unit_w`."""
    for row in range(len(peak_w)):
        base, peak = base_w[row, at], peak_w[row]
        if not valid[row] or not math.isfinite(base) or not math.isfinite(peak):
            continue
        miss = peak > said_w[row, at] + 0.5
        if hidden[row] and not miss:
            continue
        number = scored[row, h]
        if h < rolling:
            scores[row, h, number % SCORES] = np.rint(min(max((peak - base) / unit_w, -32767.0), 32767.0))
        scored[row, h] = number + 1
        missed[row, h] += (miss - missed[row, h]) / min(number + 1, 3600)
        level[row, h] = min(max(level[row, h] + 0.002 * (MISS - miss), 0.0005), 0.03)
