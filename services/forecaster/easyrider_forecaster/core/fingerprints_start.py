"""What a job that has just begun will draw: the start of an earlier run is a future event that is known."""

from dataclasses import dataclass

import numpy as np

from easyrider.fingerprints import STARTUP_STEP_S, Fingerprint
from easyrider_forecaster.core.arrays import HORIZONS_S, Array

_EARLY_S = 2.0
"""A start is a little sooner or later each time; the rise counts from here on."""


@dataclass(frozen=True, slots=True)
class Start:
    """Mean of one GPU over each horizon and whether the rise lies within it, (horizons,); seconds until it."""

    mean_w: Array
    rises: Array
    rise_s: float


def ahead(known: Fingerprint, age_s: float) -> Start | None:
    """From `age_s` after its begin on; None where no start was seen, or it should have risen long ago."""
    settles_s = known.startup.settles_s
    if settles_s is None or not np.isfinite(age_s) or age_s > settles_s + 2.0 * _EARLY_S + 0.5 * settles_s:
        return None
    usual_w = known.mean_w if known.calm_w is None else known.calm_w
    steps = np.array([np.nan if watts is None else watts for watts in known.startup.mean_w])
    begins_s = np.arange(len(steps)) * STARTUP_STEP_S
    waiting = steps[(begins_s < settles_s) & np.isfinite(steps)]
    before_w = float(waiting.mean()) if len(waiting) else known.idle_w
    horizons_s = np.asarray(HORIZONS_S, np.float64)
    after = np.clip((age_s + horizons_s - settles_s) / horizons_s, 0.0, 1.0)
    return Start(
        mean_w=after * usual_w + (1.0 - after) * before_w,
        rises=age_s + horizons_s >= settles_s - _EARLY_S,
        rise_s=max(settles_s - age_s, 0.0),
    )
