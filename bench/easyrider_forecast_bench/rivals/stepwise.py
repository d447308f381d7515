"""Rivals that are asked origin by origin: a path of one-second means each, timed and counted."""

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from easyrider.boundary import stopped
from easyrider_forecast_bench.contract import Answer
from easyrider_forecast_bench.rivals.paths import Past, past, told
from easyrider_forecast_bench.series import HORIZONS_S, Array, Series


@dataclass(frozen=True, slots=True)
class Fit:
    """A path of one-second means ahead; None where the fit failed. `settled` is False where it did not converge.

    `catch_up_s` is CPU time spent on seconds before this one, of a model that goes from second to second.
    """

    path_w: Array | None
    settled: bool = True
    catch_up_s: float = 0.0


class Model(Protocol):
    """One model while it goes through one series."""

    def ahead(self, known: Past) -> Fit:
        """The path from this origin on; origins come in order of time. May raise what its library raises."""
        ...


class Maker(Protocol):
    """Begins a model for a series."""

    def __call__(self, series: Series) -> Model:
        """A fresh model; nothing is carried over from series to series."""
        ...


@dataclass(frozen=True, slots=True)
class Stepwise:
    """A rival out of a model."""

    make: Maker

    def forecast(self, series: Series, origins_s: Array) -> Answer:
        """Forecasts at these seconds. Where a fit fails or diverges the last value stands, and is counted."""
        model = self.make(series)
        means, peaks = (np.empty((len(origins_s), len(HORIZONS_S))) for _ in range(2))
        faults: list[str] = []
        failed = restless = 0

        def fault(raised: Exception) -> Fit:
            faults.append(f"{type(raised).__name__}: {raised}")
            return Fit(None)

        spent_s = 0.0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what a library warns of is counted by what it returns
            for row, origin_s in enumerate(origins_s.tolist()):
                known = past(series, origin_s)
                began_s = time.process_time()
                fit = stopped(partial(model.ahead, known), fault)  # some raise bare exceptions
                spent_s += time.process_time() - began_s - fit.catch_up_s
                means[row], peaks[row], good = told(fit.path_w, known)
                failed += not good
                restless += not fit.settled
        return Answer(
            mean_w=means,
            peak_w=peaks,
            us_per_tick=spent_s * 1e6 / max(len(origins_s), 1),
            failed=failed,
            fault=faults[0] if faults else "",
            restless=restless,
            fits=len(origins_s),
        )
