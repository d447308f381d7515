"""What is estimated, out of a fingerprint and back into units: shares of the device maximum, and a length of time."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from easyrider.fingerprints import STARTUP_STEP_S, Fingerprint

SETTLES = "settles_s"
STEPS_S = ((0.0, 10.0), (10.0, 30.0), (30.0, 60.0), (60.0, 120.0))
"""The shape of a start is told as means over these."""
MOST_HIDDEN = 0.1
"""A job of which limits hid more tells what it was allowed, not what it draws."""
SHORTEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Target:
    """One number of a fingerprint. `share`: of the device maximum; else the logarithm of 1 + seconds."""

    name: str
    of: Callable[[Fingerprint], float | None]
    share: bool = True
    per_count: bool = False  # more GPUs of a job never draw less in all


def _mean(one: Fingerprint) -> float | None:
    return one.mean_w / one.max_w if one.mean_w > 0 else None


def _p99(one: Fingerprint) -> float | None:
    return one.p99_w / one.max_w if one.p99_w > 0 else None


def _settles(one: Fingerprint) -> float | None:
    settles_s = one.startup.settles_s
    return None if settles_s is None else math.log1p(min(settles_s, 86_400.0))


def _step(from_s: float, to_s: float) -> Callable[[Fingerprint], float | None]:
    first, end = round(from_s / STARTUP_STEP_S), round(to_s / STARTUP_STEP_S)

    def share(one: Fingerprint) -> float | None:
        """The mean of this stretch; None where less than half of it was measured."""
        known = [watts for watts in one.startup.mean_w[first:end] if watts is not None]
        return sum(known) / len(known) / one.max_w if 2 * len(known) >= end - first else None

    return share


def step_name(from_s: float, to_s: float) -> str:
    """Name of a stretch of the start."""
    return f"startup_{from_s:g}_{to_s:g}_s"


TARGETS = (
    Target("mean_w", _mean, per_count=True),
    Target("p99_w", _p99, per_count=True),
    *(Target(step_name(*step), _step(*step)) for step in STEPS_S),
    Target(SETTLES, _settles, share=False),
)
BY_NAME = {target.name: target for target in TARGETS}
NEEDED = ("mean_w", "p99_w")
"""Without these there is no model."""


def usable(one: Fingerprint) -> str:
    """Why a fingerprint teaches nothing; empty where it does."""
    if one.hidden > MOST_HIDDEN:
        return "limits hid what they draw"
    if one.seconds < SHORTEST_S:
        return f"seen for less than {SHORTEST_S:g} s"
    if one.mean_w <= 0 or one.p99_w <= 0:
        return "drew nothing"
    if not one.type.told:
        return "say nothing of their type"
    if not one.type.gpu_model.strip():
        return "do not say their GPU"
    return ""
