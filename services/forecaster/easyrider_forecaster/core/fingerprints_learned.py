"""From what a run has shown to a fingerprint, and from an old one and a new run to one that holds for both."""

from collections.abc import Callable

import msgspec
import numpy as np

from easyrider.fingerprints import STARTUP_STEP_S, Fingerprint, Pauses, SpeedPoint, Startup, Trust
from easyrider.job_types import JobType
from easyrider_forecaster.core import experts
from easyrider_forecaster.core.fingerprints_match import FITS, turned
from easyrider_forecaster.core.fingerprints_run import LIMIT_CELLS, Runs
from easyrider_forecaster.core.mix import STEADY
from easyrider_forecaster.core.outlook import Outlook, Rows

LEAST_S = 60
"""A run shorter than this teaches nothing."""
SEEN_S = 30
_SETTLED = 0.9
_LEAST_WEIGHT = 0.3
"""Of the newest run: a type may drift."""
_HIDES = 0.05
_BEHIND = 1000.0


def learned(
    of: JobType, row: int, runs: Runs, outlook: Outlook, ranges: Rows, *, fresh: bool
) -> Fingerprint | None:
    """What this row's run teaches, revision 0 and without times; None where it was too short.

    `fresh`: its beginning was seen, so that its start-up means something.
    """
    seconds, max_w = int(runs.seconds[row]), float(ranges.max_w[row])
    if seconds < LEAST_S or not max_w > 0:
        return None
    pulse, dips, ceiling = outlook.pulse, outlook.dips, outlook.ceiling

    def watts(value: float) -> float:
        return round(float(np.clip(np.nan_to_num(value), 0.0, max_w)), 1)

    period_s = float(runs.shape_period_s[row])
    shape_w: tuple[float, ...] = ()
    if period_s >= 1e-3 and runs.shape_score[row] >= FITS:
        shape_w = tuple(watts(w) for w in runs.shape_w[row].astype(np.float64))
    mean_w = float(runs.mean_w[row])
    peak_w = float(ceiling.peak_w[row])
    lengths_s = dips.lengths_s[row][np.isfinite(dips.lengths_s[row])]
    return Fingerprint(
        type=of,
        seconds=float(seconds),
        learned_unix_s=0.0,
        updated_unix_s=0.0,
        max_w=round(max_w, 1),
        idle_w=watts(min(float(ranges.floor_w[row]), mean_w)),
        mean_w=watts(mean_w),
        calm_w=watts(float(runs.calm_w[row])) if runs.calm_s[row] >= SEEN_S else None,
        spread_w=watts(float(np.sqrt(max(runs.variance[row], 0.0)))),
        p99_w=watts(max(runs.quantile_w(row, 0.99, max_w), mean_w)),  # a quantile of cells, of some rows
        peak_w=watts(max(peak_w, mean_w)) if ceiling.observed[row] else None,
        hidden=round(min(float(runs.hidden_s[row]) / seconds, 1.0), 4),
        period_s=round(period_s, 4) if shape_w else None,
        period_spread=_ratio(np.sqrt(max(runs.period_variance[row], 0.0)) / runs.period_s[row])
        if shape_w
        else 0.0,
        usual_low_s=_seconds(0.1 * float(pulse.usual_run[row])),
        shape_w=shape_w,
        startup=_startup(runs, row, mean_w, max_w) if fresh else Startup(),
        pauses=Pauses(
            cadence_s=_seconds(float(dips.cadence_s[row])),
            long_s=_seconds(float(dips.long_s[row])),
            depth_w=watts(float(dips.depth_w[row])) if np.isfinite(dips.depth_w[row]) else None,
            lengths_s=tuple(round(float(length_s), 1) for length_s in lengths_s if length_s >= 0),
            stalls_per_hour=round(min(3600.0 * int(runs.stalls[row]) / seconds, 36_000.0), 1),
        ),
        points=_points(runs, row, float(runs.period_s[row])),
        trust=_trust(outlook, row),
    )


def adapted(old: Fingerprint | None, new: Fingerprint) -> Fingerprint:
    """The new run on top of what is remembered. What a limit hid may raise it, never lower it.

    A run that is shorter than those before it moves it by that much less. Times, revision and variant are the old
    one's (the new one's where there is none).
    """
    if old is None:
        return new
    weight = max(1.0 / (old.runs + 1), _LEAST_WEIGHT) * min(new.seconds / usual_s(old), 1.0)
    hides = new.hidden > _HIDES

    def between(before: float, after: float) -> float:
        return before if hides and after < before else round(before + weight * (after - before), 4)

    mean_w = between(old.mean_w, new.mean_w)
    peak_w = _either(old.peak_w, new.peak_w, between)
    return msgspec.structs.replace(
        new,
        variant=old.variant,
        revision=old.revision,
        runs=old.runs + 1,
        seconds=old.seconds + new.seconds,
        learned_unix_s=old.learned_unix_s,
        updated_unix_s=old.updated_unix_s,
        max_w=max(old.max_w, new.max_w),
        idle_w=min(old.idle_w, new.idle_w),
        mean_w=mean_w,
        calm_w=_either(old.calm_w, new.calm_w, between),
        spread_w=between(old.spread_w, new.spread_w),
        p99_w=between(old.p99_w, new.p99_w),
        peak_w=None if peak_w is None else max(peak_w, mean_w),  # only one of the two runs may have shown it
        hidden=round(old.hidden + weight * (new.hidden - old.hidden), 4),
        usual_low_s=new.usual_low_s if new.usual_low_s is not None else old.usual_low_s,
        startup=new.startup if new.startup.settles_s is not None else old.startup,
        pauses=_pauses(old.pauses, new.pauses, weight),
        points=_joined(old.points, new.points),
        **_iteration(old, new, weight, hides),
    )


def usual_s(one: Fingerprint) -> float:
    """How long its runs were in the mean."""
    return max(one.seconds / max(one.runs, 1), 1.0)


def _iteration(old: Fingerprint, new: Fingerprint, weight: float, hides: bool) -> dict[str, object]:
    """Period and shape; the new run's where there is no old one, the old one's where limits hid the new one."""
    if not new.shape_w or (old.shape_w and hides):
        kept = old
    elif not old.shape_w:
        kept = new
    else:
        shape, _ = turned(np.asarray(new.shape_w), np.asarray(old.shape_w))
        mixed = np.asarray(old.shape_w) + weight * (shape - np.asarray(old.shape_w))
        before_s, after_s = old.period_s or 0.0, new.period_s or 0.0
        return {
            "period_s": round(before_s + weight * (after_s - before_s), 4),
            "period_spread": _ratio(old.period_spread + weight * (new.period_spread - old.period_spread)),
            "shape_w": tuple(round(float(w), 1) for w in mixed),
        }
    return {"period_s": kept.period_s, "period_spread": kept.period_spread, "shape_w": kept.shape_w}


def _either(old: float | None, new: float | None, between: Callable[[float, float], float]) -> float | None:
    if old is None or new is None:
        return new if old is None else old
    return between(old, new)


def _pauses(old: Pauses, new: Pauses, weight: float) -> Pauses:
    found = {
        name: getattr(old, name) if getattr(new, name) is None else getattr(new, name)
        for name in ("cadence_s", "long_s", "depth_w")
    }
    before, after = old.stalls_per_hour or 0.0, new.stalls_per_hour or 0.0
    return Pauses(
        **found,
        lengths_s=(*old.lengths_s, *new.lengths_s)[-12:],
        stalls_per_hour=round(before + weight * (after - before), 1),
    )


def _joined(old: tuple[SpeedPoint, ...], new: tuple[SpeedPoint, ...]) -> tuple[SpeedPoint, ...]:
    """One point a limit: two runs' points weigh by how long each was seen."""
    found = {point.limit_share: point for point in old}
    for point in new:
        known = found.get(point.limit_share)
        if known is not None:
            seconds = known.seconds + point.seconds
            speed = (known.seconds * known.speed_ratio + point.seconds * point.speed_ratio) / seconds
            point = SpeedPoint(limit_share=point.limit_share, speed_ratio=round(speed, 4), seconds=seconds)
        found[point.limit_share] = point
    return tuple(found[share] for share in sorted(found))


def _points(runs: Runs, row: int, free_s: float) -> tuple[SpeedPoint, ...]:
    """Speeds under limits, where both the free period and the one below the limit were seen for half a minute."""
    if not (np.isfinite(free_s) and runs.period_number[row] >= SEEN_S):
        return ()
    return tuple(
        SpeedPoint(
            limit_share=round((cell + 0.5) / LIMIT_CELLS, 4),
            speed_ratio=round(min(free_s / float(runs.slowed_s[row, cell]), 2.0), 4),
            seconds=float(runs.slowed_number[row, cell]),
        )
        for cell in np.flatnonzero(runs.slowed_number[row] >= SEEN_S).tolist()
    )


def _startup(runs: Runs, row: int, mean_w: float, max_w: float) -> Startup:
    curve_w = runs.startup_w[row].astype(np.float64)
    heard = np.isfinite(curve_w)
    last = int(np.flatnonzero(heard)[-1]) + 1 if heard.any() else 0
    with np.errstate(invalid="ignore"):
        high = np.flatnonzero(curve_w >= _SETTLED * mean_w)
    return Startup(
        mean_w=tuple(
            round(float(np.clip(w, 0.0, max_w)), 1) if np.isfinite(w) else None for w in curve_w[:last]
        ),
        settles_s=float(high[0]) * STARTUP_STEP_S if len(high) else None,
    )


def _trust(outlook: Outlook, row: int) -> tuple[Trust, ...]:
    """How far each rival lay behind where nothing unusual went on, by its name."""
    found = []
    for of, mix, names in (
        ("mean", outlook.means, experts.MEAN_EXPERTS),
        ("peak", outlook.peaks, experts.PEAK_EXPERTS),
    ):
        loss = mix.loss[row, STEADY].astype(np.float64)
        behind = np.clip(loss - loss.min(axis=1, keepdims=True), 0.0, _BEHIND)
        for column, name in enumerate(names):
            values = tuple(round(float(value), 2) for value in np.nan_to_num(behind[:, column]))
            found.append(Trust(of=of, model=name, behind=values))  # type: ignore[arg-type]  # either word
    return tuple(found)


def _seconds(value: float) -> float | None:
    return round(value, 2) if np.isfinite(value) and 0.01 <= value < 1e9 else None


def _ratio(value: float) -> float:
    return round(float(np.clip(np.nan_to_num(value), 0.0, 1.0)), 4)
