"""Rival forecasts of every row (see `experts.means` and `experts.peaks`)."""

import math

import numpy as np

from easyrider_forecaster.core.arrays import BLOCK_SLOTS, HORIZONS_S, Array
from easyrider_forecaster.core.history import BLOCKS, SLOTS
from easyrider_forecaster.core.pulse import BINS

_HORIZONS = len(HORIZONS_S)
_SECONDS = (1, 5, 10, 30, 60)
_LONGEST = SLOTS - 20


def rivals(
    end: int, value: Array, total: Array, number: Array, block_top: Array, tops: Array, in_dip: Array, period: Array,
    phase: Array, level_w: Array, shape_w: Array, inside_s: Array, through: Array, still: Array, depth_w: Array,
    clean_w: Array, clean_high_w: Array, middle_top_w: Array, changed_w: Array, level_means_w: Array,
    winters_w: Array, regressed_w: Array, arc_bias_w: Array, floor_w: Array, max_w: Array, means: Array, peaks: Array,
) -> None:  # fmt: skip
    """The last two, (rows, horizons, experts), are written, within [floor, device maximum]."""
    sums = np.empty(BINS + 1)
    sums[0] = 0.0
    window = np.empty(_HORIZONS + 2)
    now = (end // BLOCK_SLOTS - 1) % BLOCKS
    for row in range(len(period)):
        second_w = math.nan
        for column in range(5):
            then = (now - _SECONDS[column]) % BLOCKS
            count = number[row, now] - number[row, then]
            mean = (total[row, now] - total[row, then]) / count if count > 0 else math.nan
            if column == 0:
                second_w = mean
            for h in range(_HORIZONS):
                means[row, h, column + 1] = mean
        slots, known = period[row], math.isfinite(period[row])
        for h in range(_HORIZONS):
            means[row, h, 0] = value[row, (end - 1) % SLOTS]
            means[row, h, 6] = means[row, h, 7] = math.nan
            peaks[row, h, 8] = peaks[row, h, 4] = math.nan
        whole_w = 0.0
        if known:
            for bin_ in range(BINS):
                sums[bin_ + 1] = sums[bin_] + shape_w[row, bin_] / BINS
            whole_w = sums[BINS]
            for at in range(_HORIZONS + 2):
                # 0: whole periods near 10 s; 1-5: the rest of each horizon, a period ago; 6: the last period
                begin, stop = slots, 0.0
                if at == 0:
                    begin = max(1.0, np.rint(100.0 / slots)) * slots
                elif at <= _HORIZONS:
                    ahead = 10.0 * HORIZONS_S[at - 1]
                    stop = slots - (ahead - math.floor(ahead / slots) * slots)
                first = end - int(np.rint(min(begin, float(_LONGEST))))
                last = end - int(np.rint(min(stop, float(_LONGEST))))
                sum_, count = 0.0, 0
                for side in range(2):
                    slot = last if side == 0 else first
                    sign = 1 if side == 0 else -1
                    block = slot // BLOCK_SLOTS
                    before = (block - 1) % BLOCKS
                    sum_ += sign * total[row, before]
                    count += sign * number[row, before]
                    for inner in range(block * BLOCK_SLOTS, slot):
                        one = value[row, inner % SLOTS]
                        if not math.isnan(one):
                            sum_ += sign * one
                            count += sign
                enough = count > 0.5 * (last - first) and begin < _LONGEST
                window[at] = sum_ / max(count, 1) if enough else math.nan
            long = min(math.ceil(slots / 10.0), 60)
            season_top = -np.inf
            for back in range(long):
                season_top = max(season_top, block_top[row, (now - back) % BLOCKS])
            for h in range(_HORIZONS):
                ahead = 10.0 * HORIZONS_S[h]
                rest = ahead - math.floor(ahead / slots) * slots
                share = rest / ahead
                rest_w = window[_HORIZONS + 1] if rest < 0.5 else window[h + 1]
                means[row, h, 6] = window[0]
                means[row, h, 7] = share * rest_w + (1 - share) * window[_HORIZONS + 1]
                top = season_top
                if ahead < slots:
                    start, top = int(np.rint(end - slots)), -np.inf
                    for inner in range(start, start + int(ahead)):
                        one = value[row, inner % SLOTS]
                        if not math.isnan(one):
                            top = max(top, one)
                peaks[row, h, 8] = top if math.isfinite(top) else math.nan
        low_w = second_w if in_dip[row] else depth_w[row]
        if not math.isfinite(low_w):
            low_w = clean_w[row]
        for h in range(_HORIZONS):
            horizon_s = float(HORIZONS_S[h])
            means[row, h, 8], means[row, h, 12] = level_means_w[row, h], changed_w[row]
            inside = 0.0 if still[row] else inside_s[row, h]
            share = inside / horizon_s
            for turn in range(2):
                run_w = math.nan
                if known:
                    run_s = horizon_s if turn == 0 else max(horizon_s - inside, 0.1)
                    ahead = max(10.0 * run_s / slots, 1e-6)
                    far = 0.0
                    for side in range(2):
                        at = phase[row] + (ahead if side == 0 else 0.0)
                        whole = math.floor(at)
                        at = (at - whole) * BINS
                        bin_ = min(int(at), BINS - 1)
                        sum_ = whole * whole_w + sums[bin_] + (at - bin_) * (sums[bin_ + 1] - sums[bin_])
                        far += sum_ if side == 0 else -sum_
                    run_w = far / ahead + level_w[row]
                if turn == 0:
                    means[row, h, 9] = run_w
                else:
                    means[row, h, 10] = share * low_w + (1 - share) * run_w if share > 0 else run_w
            clean = math.nan if still[row] else clean_w[row]
            means[row, h, 11] = share * low_w + (1 - share) * clean if share > 0 else clean
            means[row, h, 13] = winters_w[row, h] + means[row, h, 9] - (whole_w + level_w[row])
            means[row, h, 14] = regressed_w[row, h]
            outlasts = through[row, h] and not still[row]
            for column in range(4):
                top = tops[row, h if column == 0 else column + 2]
                peaks[row, h, column] = math.nan if top == -np.inf else top
            if known:
                last = min(math.floor(10.0 * horizon_s / slots * BINS), BINS - 1)
                begin_ = math.floor(phase[row] * BINS)
                top = -np.inf
                for bin_ in range(last + 1):
                    top = max(top, shape_w[row, (begin_ + bin_) % BINS])
                peaks[row, h, 4] = top + level_w[row] + arc_bias_w[row, h]
            peaks[row, h, 5] = second_w if outlasts else peaks[row, h, 4]
            peaks[row, h, 6] = second_w if outlasts else middle_top_w[row]
            peaks[row, h, 7] = second_w if outlasts else clean_high_w[row]
            for expert in range(means.shape[2]):
                if not math.isnan(means[row, h, expert]):
                    means[row, h, expert] = min(max(means[row, h, expert], floor_w[row]), max_w[row])
            for expert in range(peaks.shape[2]):
                if not math.isnan(peaks[row, h, expert]):
                    peaks[row, h, expert] = min(max(peaks[row, h, expert], floor_w[row]), max_w[row])
