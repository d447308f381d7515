"""What the product says of a rhythm, tried on loads whose rhythm is known: periods, and waves that are none."""

from dataclasses import dataclass, replace

import numpy as np

from easyrider_forecast_bench.loads import recorded, training
from easyrider_forecast_bench.loads.blocks import sampled
from easyrider_forecast_bench.loads.families import RATING_W
from easyrider_forecast_bench.series import SLOTS, Array
from easyrider_forecaster.core import alias, period
from easyrider_forecaster.core.arrays import SLOT_S
from easyrider_forecaster.core.period import Periods
from easyrider_twin import waves

SEED = 30_000
PERIODS, JITTERS, OBSERVABLE_S, FASTER_S = 48, (0.01, 0.03, 0.05), (0.4, 20.0), (0.2, 0.4)
LOOK_BACK_S, WITHIN = 120, 0.06
WAVES, WAVE_S = 60, 60
REFRESH_S, APPARENT_S, WAVE_JITTER = (0.100, 0.104), (1.2, 8.0), 0.03
TURNS = (1, 2, 3, 5)
"""Not four: then a whole turn fits the window of 25 ms, and no wave is seen at all."""
RECORDED_ALIASES = ("square_wave_9p6hz__a100_pcie40__nvml", "square_wave_50hz_seen_by_sensor__a100_nvml")
"""Recordings of 9.6 and 50 Hz that show waves of 3.2 and 1.99 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythms:
    """Shares of cases. `agreed_right` is among those in which both estimators agree."""

    right: float
    faster_right: float
    agreed: float
    agreed_right: float
    unobservable: bool  # a period below two refreshes is said to be none
    aliases_flagged: float
    true_flagged: float
    recorded_flagged: tuple[str, ...]


def rhythms() -> Rhythms:
    """Every trial, by seed; some seconds of CPU time."""
    found_s, true_s, agreed = _periods(OBSERVABLE_S)
    right = np.abs(found_s - true_s) <= WITHIN * true_s
    faster_s, faster_true_s, _ = _periods(FASTER_S)
    flagged = [name for name in RECORDED_ALIASES if _recorded(name)]
    return Rhythms(
        right=float(right.mean()),
        faster_right=float((np.abs(faster_s - faster_true_s) <= WITHIN * faster_true_s).mean()),
        agreed=float(agreed.mean()),
        agreed_right=float(right[agreed].mean()),
        unobservable=_unobservable(),
        aliases_flagged=float(_waves(false=True).mean()),
        true_flagged=float(_waves(false=False).mean()),
        recorded_flagged=tuple(flagged),
    )


def _periods(between_s: tuple[float, float]) -> tuple[Array, Array, Array]:
    """What the detector finds in 120 s of training jobs with stalls, what is true, and where both estimators agree."""
    rng = np.random.default_rng([SEED, round(100 * between_s[0])])
    rows, true_s = [], []
    for period_s in np.geomspace(between_s[0], between_s[1], PERIODS):
        for jitter in JITTERS:
            drawn = training.job(rng, checkpoints=False, stalls=True)
            made = replace(drawn, period_s=float(period_s), jitter=jitter)
            blocks = training.blocks(made, LOOK_BACK_S, rng, RATING_W)
            rows.append(sampled(blocks.drawn(LOOK_BACK_S, rng, RATING_W))[0])
            true_s.append(float(period_s))
    found = period.detect(np.asarray(rows, np.float64)[:, SLOTS:])
    return found.period_s, np.asarray(true_s), found.agreed


def _unobservable() -> bool:
    """Whether 0.5 s is said to be no period where the sensor is renewed every 0.3 s, and is one at 0.1 s."""
    said = []
    for refresh_s in (0.3, SLOT_S):
        periods = Periods(1)
        for _ in range(3):
            periods.take(np.array([0]), np.array([0.5]), np.array([refresh_s]))
        said.append((bool(np.isnan(periods.period_s[0])), bool(periods.too_fast[0])))
    return said == [(True, True), (False, False)]


def _waves(*, false: bool) -> Array:
    """Which instant fields of square waves are flagged: too fast for the sensor, or truly as slow as they look."""
    rng = np.random.default_rng([SEED, 1 + false])
    seen = []
    for _ in range(WAVES):
        refresh_s, slow_s = rng.uniform(*REFRESH_S), np.exp(rng.uniform(*np.log(APPARENT_S)))
        turns = int(rng.choice(TURNS))  # of the fast wave in a refresh, all but what the slow one shows
        hertz = turns / refresh_s + 1.0 / slow_s if false else 1.0 / slow_s
        jitter = rng.uniform(0, WAVE_JITTER)
        power_w = waves.square_w(
            rng, hertz=float(hertz), jitter=float(jitter), low_w=100.0, high_w=600.0, seconds=WAVE_S
        )
        seen.append(waves.instants_w(power_w, step_s=waves.FINE_S, refresh_s=float(refresh_s)))
    noise = rng.normal(0, 2.0, (WAVES, WAVE_S * SLOTS))
    return alias.suspect(np.stack([row[: WAVE_S * SLOTS] for row in seen]) + noise, np.full(WAVES, RATING_W))


def _recorded(name: str) -> bool:
    """Whether the recording's instant field is flagged."""
    (key,) = [key for key in recorded.keys(None, quick=True) if key.name == name]
    one = recorded.series(key)
    last = one.instant_w[-WAVE_S * SLOTS :].astype(np.float64)
    return bool(alias.suspect(last[None, :], np.array([one.rating_w]))[0])
