"""A ledger that hears a made recording, and what it tells of it."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from easyrider import accuracy
from easyrider.accuracy import Accuracy, Score
from easyrider_forecaster.core import accuracy_told
from easyrider_forecaster.core.accuracy import Ledger, Said
from easyrider_forecaster.core.accuracy_told import Told
from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.outlook import View

Truth = np.ndarray
UNKNOWN_S = np.array([np.nan])
LINE_W = np.array([300.0])
TOP_W = np.array([700.0])
ROWS = [Told("a", 0, 1), Told("b", 1, 1), Told("c", 2, 1)]
ANY = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.sampled_from([0.0, 500.0, 1e308, -1.0])


def walk(seconds: int, seed: int = 3) -> Truth:
    """(1, seconds x 10) SYNTHETIC watts that wander."""
    steps = np.random.default_rng(seed).normal(0, 4, 10 * seconds)
    return (400.0 + np.cumsum(steps))[None].clip(100, 650).astype(np.float32)


def to_come(truth: Truth, second: int) -> View:
    """What a seer says at the end of this second; NaN where the recording ends."""
    mean_w, peak_w = np.full((2, 1, len(HORIZONS_S)), np.nan)
    for column, horizon_s in enumerate(HORIZONS_S):
        window = truth[:, 10 * (second + 1) : 10 * (second + 1 + horizon_s)]
        if window.shape[1] == 10 * horizon_s:
            mean_w[:, column], peak_w[:, column] = window.mean(axis=1), window.max(axis=1)
    return View(mean_w, peak_w, peak_w, peak_w)


def last_second(truth: Truth, second: int) -> View:
    now = truth[:, 10 * second : 10 * second + 10]
    mean_w, peak_w = (np.repeat(of(axis=1)[:, None], len(HORIZONS_S), axis=1) for of in (now.mean, now.max))
    return View(mean_w, peak_w, peak_w, peak_w)


def kept(
    truth: Truth,
    says: Callable[[Truth, int], View],
    *,
    hidden: Callable[[int], bool] = lambda second: False,
    limit_w: Callable[[int], float] = lambda second: 700.0,
    known: Callable[[int], bool] = lambda second: True,
    rise_s: Callable[[int], float] = lambda second: float("nan"),
) -> Ledger:
    """A ledger that saw all of it, a second at a time."""
    ledger = Ledger(0)
    ledger.grow(len(truth))
    for second in range(truth.shape[1] // 10):
        raw = truth[:, 10 * second : 10 * second + 10].astype(np.float64)
        ledger.judge(second, raw, np.full(raw.shape, hidden(second)), np.full(len(truth), limit_w(second)))
        said = Said(says(truth, second), np.array([known(second)]))
        ledger.note(second, said, said, np.array([rise_s(second)]), LINE_W)
    return ledger


def record(ledger: Ledger) -> Accuracy:
    (one,) = accuracy_told.records(ledger, [Told("llm", 0, 8, "team-a")], "r1", 1.8e9, 1.8e9)
    assert accuracy.decode("r1 llm", accuracy.encode(one)) == one
    return one


def run(ledger: Ledger, horizon_s: int, side: str = "demand") -> Score:
    return next(one.run for one in getattr(record(ledger), side) if one.horizon_s == horizon_s)
