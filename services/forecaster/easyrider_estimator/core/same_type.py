"""What a job will draw when jobs of its very type ran before, and no model answers: what these runs showed.

Nothing is claimed of the next run but that it is of the same type: low and high are those of the runs, without a
coverage, and what is reserved is the highest they drew free, or the nameplate where that was never seen.
"""

import math
from collections.abc import Sequence

from easyrider.fingerprints import Fingerprint
from easyrider.job_types import JobType
from easyrider_estimator.core.estimates import Estimate, Interval, Power, Start, Step, times
from easyrider_estimator.core.targets import BY_NAME, STEPS_S, step_name, usable


def of_runs(asked: JobType, known: Sequence[Fingerprint], why: Sequence[str]) -> Estimate | None:
    """Of the fingerprints of its type; None where none of them tells what it draws. `why` no model answered."""
    ones = [one for one in known if not usable(one) and one.type.id == asked.id]
    if not ones:
        return None
    max_w = max(one.max_w for one in ones)
    tops = [max_w if one.peak_w is None else max(one.peak_w, one.p99_w) for one in ones]
    runs = sum(max(1, one.runs) for one in ones)
    measured = "1 run" if runs == 1 else f"{runs} runs"
    seconds = math.fsum(one.seconds for one in ones)
    gpu = Power(
        mean_w=_over(ones, [one.mean_w for one in ones]),
        p99_w=_over(ones, [one.p99_w for one in ones]),
    )
    settles = [(one, one.startup.settles_s) for one in ones if one.startup.settles_s is not None]
    return Estimate(
        basis="fingerprint",
        why=(f"{measured} of this very type measured, for {seconds:.0f} s in all", *why),
        gpu_count=asked.gpu_count,
        gpu_max_w=max_w,
        reserve_w=max(tops) * asked.gpu_count,
        coverage=None,
        gpu=gpu,
        job=Power(mean_w=times(gpu.mean_w, asked.gpu_count), p99_w=times(gpu.p99_w, asked.gpu_count)),
        startup=Start(
            settles_s=_over([one for one, _ in settles], [value for _, value in settles]),
            steps=tuple(step for ends in STEPS_S if (step := _step(ones, *ends)) is not None),
        ),
    )


def _step(ones: Sequence[Fingerprint], from_s: float, to_s: float) -> Step | None:
    share = BY_NAME[step_name(from_s, to_s)].of
    seen = [(one, value * one.max_w) for one in ones if (value := share(one)) is not None]
    if not seen:
        return None
    return Step(from_s=from_s, to_s=to_s, mean_w=_over([one for one, _ in seen], [w for _, w in seen]))


def _over(ones: Sequence[Fingerprint], values: Sequence[float]) -> Interval:
    """Mean over runs, least and most of any; nil where there are none."""
    if not ones:
        return Interval()
    runs = [max(1, one.runs) for one in ones]
    mean = math.fsum(count * value for count, value in zip(runs, values, strict=True)) / sum(runs)
    low, high = min(values), max(values)
    return Interval(expected=min(max(mean, low), high), low=low, high=high)
