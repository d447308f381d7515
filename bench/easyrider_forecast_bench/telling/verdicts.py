"""Whether `easyrider` reached what is asked of it, each with its number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.loads.families import LONG_S
from easyrider_forecast_bench.ours import ABLATIONS, NAME
from easyrider_forecast_bench.score import RETURN_WITHIN_S
from easyrider_forecast_bench.series import SHORT_S
from easyrider_forecast_bench.telling.pooled import Calibration, Ratio, calibration, ratios


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim; `holds` None where the runs for it are not there."""

    claim: str
    holds: bool | None
    number: str


@dataclass(frozen=True, slots=True)
class Asked:
    """At most `ratio` x the best rival and so much of the rating more."""

    ratio: float
    spare: float = 0.0


MEAN: dict[str, dict[int, Asked]] = {
    "checkpoints": {1: Asked(0.75), 2: Asked(0.75), 5: Asked(0.75), 10: Asked(0.70), 30: Asked(0.60)},
    "stalls": {10: Asked(0.90), 30: Asked(1.05)},
    "periodic": dict.fromkeys((1, 2, 5, 10, 30), Asked(1.05, 0.003)),
    "aperiodic": dict.fromkeys((1, 2, 5, 10, 30), Asked(1.05, 0.003)),
    "domain": dict.fromkeys((1, 2, 5, 10, 30), Asked(0.80)),
}
PEAK: dict[str, dict[int, Asked]] = {
    "checkpoints": {1: Asked(0.95), 2: Asked(0.95), 5: Asked(0.85), 10: Asked(0.85), 30: Asked(1.1, 0.002)},
}
RECORDED, SHORT = Asked(1.05, 0.006), Asked(1.15, 0.03)
LEAST_HOURS = 20.0
COVERED = dict.fromkeys((1, 2, 5, 10), (0.985, 0.997)) | {30: (0.980, 0.9995)}
EACH_COVERED, EACH_SECONDS = 0.97, LONG_S - 300
SLACK = {1: 0.32, 2: 0.30, 5: 0.30, 10: 0.30, 30: 0.30}


def verdicts(done: Sequence[Done]) -> list[Verdict]:
    """All claims that the runs can say something about."""
    families = list(dict.fromkeys(each.key.family for each in done))
    found: list[Verdict] = []
    for what, figure, claims in (("mean", "mae_mean_w", MEAN), ("peak", "mae_peak_w", PEAK)):
        for family in families:
            for ratio in ratios(done, family):
                asked = claims.get(family, {}).get(ratio.horizon_s)
                if asked is not None and ratio.figure == figure:
                    found.append(_pooled(what, ratio, asked))
    mine = [each for each in done if each.model == NAME]
    found += _recorded(done)
    jobs = [each for each in mine if each.key.family == "checkpoints"]
    domains = [each for each in mine if each.key.family == "domain"]
    for what, some in (("job", jobs), ("domain", domains)):
        for one in calibration(some, shortest_s=EACH_SECONDS):
            found += _bound(what, one)
    return found + _returned([each for each in mine if each.key.family == "capped"])


def _pooled(what: str, ratio: Ratio, asked: Asked) -> Verdict:
    allowed_w = asked.ratio * ratio.rival_w + asked.spare * ratio.rating_w
    return Verdict(
        f"{ratio.family}: {what} error at {ratio.horizon_s} s at most {_told(asked, 'the best rival')}",
        ratio.ours_w <= allowed_w,
        f"{ratio.ratio:.2f} ({ratio.low:.2f}-{ratio.high:.2f}): {ratio.ours_w:.1f} W, {ratio.rival} "
        f"{ratio.rival_w:.1f} W",
    )


def _recorded(done: Sequence[Done]) -> list[Verdict]:
    """Every recording for itself: all of one kind hold, or the worst are named."""
    runs = [each for each in done if each.key.family == "recorded"]
    mine = {each.key: each for each in runs if each.model == NAME}
    rivals = [each for each in runs if each.model not in ABLATIONS]
    found = []
    for short, asked, against in ((False, RECORDED, "the best rival"), (True, SHORT, "last value")):
        excess: list[tuple[float, str]] = []
        for key, ours in mine.items():
            if (key.seconds < SHORT_S) != short:
                continue
            theirs = [
                each for each in rivals if each.key == key and (not short or each.model == "last-value")
            ]
            excess += _excess(ours, theirs, asked)
        if excess:
            missed = sum(over > 0 for over, _ in excess)
            worst = max(excess)
            length = f"of {SHORT_S} s or more" if not short else f"shorter than {SHORT_S} s, 1-5 s"
            found.append(
                Verdict(
                    f"recordings {length}: mean error at most {_told(asked, against)}",
                    missed == 0,
                    f"{missed} of {len(excess)} above; nearest or worst {100 * worst[0]:+.2f} % of rating: {worst[1]}",
                )
            )
    return found


def _excess(ours: Done, theirs: list[Done], asked: Asked) -> list[tuple[float, str]]:
    """By how much of the rating each horizon lies above what is allowed."""
    found = []
    for column, mine in enumerate(ours.figures):
        others = [f.mae_mean_w for each in theirs if (f := each.figures[column]).mae_mean_w is not None]
        if mine.mae_mean_w is None or not others:
            continue
        allowed_w = asked.ratio * min(others) + asked.spare * ours.rating_w
        found.append(
            (
                (mine.mae_mean_w - allowed_w) / ours.rating_w,
                f"{ours.key.name} at {mine.horizon_s} s, {mine.mae_mean_w:.1f} W against {min(others):.1f} W",
            )
        )
    return found


def _bound(what: str, one: Calibration) -> list[Verdict]:
    low, high = COVERED[one.horizon_s]
    enough: Callable[[bool], bool | None] = lambda holds: holds if one.hours >= LEAST_HOURS else None  # noqa: E731
    found = [
        Verdict(
            f"{what}: 0.99 bound at {one.horizon_s} s covers {100 * low:.1f}-{100 * high:.2f} %",
            enough(low <= one.coverage <= high),
            f"{100 * one.coverage:.2f} % of {one.hours:.1f} h",
        )
    ]
    if one.lowest_series:
        found.append(
            Verdict(
                f"{what}: every one of 2 h at least {100 * EACH_COVERED:.0f} % at {one.horizon_s} s",
                one.lowest >= EACH_COVERED,
                f"lowest {100 * one.lowest:.2f} % ({one.lowest_series})",
            )
        )
    return [
        *found,
        Verdict(
            f"{what}: slack at {one.horizon_s} s at most {SLACK[one.horizon_s]:.2f}",
            one.slack <= SLACK[one.horizon_s],
            f"{one.slack:.3f}",
        ),
    ]


def _returned(capped: list[Done]) -> list[Verdict]:
    if not capped:
        return []
    took_s = np.array([each.notes.get("returned_s", np.nan) for each in capped])
    late = int((~(took_s <= RETURN_WITHIN_S)).sum())
    return [
        Verdict(
            f"capped: demand within 5 % of the true peak {RETURN_WITHIN_S} s after release",
            late == 0,
            f"{late} of {len(capped)} later or never; slowest of the rest "
            f"{np.nanmax(took_s) if np.isfinite(took_s).any() else float('nan'):.0f} s",
        )
    ]


def _told(asked: Asked, against: str) -> str:
    spare = f" + {100 * asked.spare:.1f} % of rating" if asked.spare else ""
    return f"{asked.ratio:.2f} x {against}{spare}"
