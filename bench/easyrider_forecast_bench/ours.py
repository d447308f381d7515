"""The product's own forecaster, all series of one length side by side in its bank, and its ablations."""

import time
from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.contract import Answer, Bounds
from easyrider_forecast_bench.series import HORIZONS_S, SLOTS, Array, Series
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.kernels import Kernels

IDLE_RATIO = 0.1
"""Lowest draw of a board as a share of its rating: what a site declares of it."""
COMPILED_FROM_S = 2000
"""Longer series go through the compiled steps, whose compilation costs ten seconds; the numbers are the same."""
NAME = "easyrider"
ABLATIONS: dict[str, tuple[str, ...]] = {
    NAME: (),
    "easyrider-no-events": ("events",),
    "easyrider-no-template": ("template",),
    "easyrider-no-contexts": ("contexts",),
    "easyrider-no-ar": ("ar",),
}


@dataclass(slots=True)
class _Said:
    """One figure of every second and series, (seconds, series, horizons)."""

    mean_w: Array
    peak_w: Array
    q90_w: Array
    q99_w: Array

    @classmethod
    def empty(cls, seconds: int, series: int) -> "_Said":
        return cls(*(np.full((seconds, series, len(HORIZONS_S)), np.nan, np.float32) for _ in range(4)))

    def keep(self, second: int, view: object, scale: Array) -> None:
        for name in ("mean_w", "peak_w", "q90_w", "q99_w"):
            getattr(self, name)[second] = np.asarray(getattr(view, name)) * scale


@dataclass(frozen=True, slots=True)
class EasyRider:
    """The bank, without some of its parts for an ablation."""

    without: tuple[str, ...] = ()

    def forecast_all(self, series: list[Series], origins_s: list[Array]) -> list[Answer]:
        """One answer a series; all of one length. Domains are asked for as sums of their jobs."""
        seconds = series[0].seconds
        lanes = _Lanes.of(series)
        bank = lanes.bank(self.without, _kernels(seconds))
        whole = _Said.empty(seconds + 1, len(series))
        timed_s, timed_from = 0.0, seconds // 2  # by then every step was used, and compiled
        for second in range(seconds):
            seen = lanes.second(second)
            began_s = time.process_time()
            bank.observe(**seen)
            told = bank.tick()
            timed_s += time.process_time() - began_s if second >= timed_from else 0.0
            demand, view = told.demand, told.domain_demand
            if lanes.domains is not None:
                whole.keep(second + 1, view, np.ones((len(series), 1)))
            else:
                whole.keep(second + 1, demand, lanes.scale)
        us = timed_s * 1e6 / (seconds - timed_from) / lanes.count
        return [
            _answer(whole, row, one, at, us)
            for row, (one, at) in enumerate(zip(series, origins_s, strict=True))
        ]


class _Lanes:
    """What the bank is shown: watts per GPU of every job, and which jobs make up which domain."""

    def __init__(self, power_w: Array, instant_w: Array, rating_w: Array) -> None:
        self._power_w, self._instant_w, self._rating_w = power_w, instant_w, rating_w
        self._limit_w: Array | None = None
        self.domains: Array | None = None
        self.scale: Array = np.ones((len(power_w), 1))

    @classmethod
    def of(cls, series: list[Series]) -> "_Lanes":
        """Domains come apart into their jobs; everything else is one lane."""
        if series[0].parts_w.size:
            power_w = np.concatenate([one.parts_w for one in series])
            instant_w = np.concatenate([one.part_instant_w for one in series])
            rating_w = np.concatenate([np.full(one.gpus, one.rating_w / one.gpus) for one in series])
            lanes = cls(power_w, instant_w, rating_w)
            lanes.domains = np.repeat(np.eye(len(series)), [one.gpus for one in series], axis=1)
            return lanes
        gpus = np.array([one.gpus for one in series], np.float64)
        lanes = cls(
            np.stack([one.power_w for one in series]) / gpus[:, None],
            np.stack([one.instant_w for one in series]) / gpus[:, None],
            np.array([one.rating_w for one in series]) / gpus,
        )
        lanes.scale = gpus[:, None]
        if series[0].limit_w.size:
            lanes._limit_w = np.stack([one.limit_w for one in series])
        return lanes

    @property
    def count(self) -> int:
        """Lanes, each a series of the bank."""
        return len(self._power_w)

    def bank(self, without: tuple[str, ...], kernels: Kernels | None) -> Bank:
        """A fresh bank of these lanes."""
        idle_w = IDLE_RATIO * self._rating_w
        return Bank(self._rating_w, idle_w, domains=self.domains, without=without, kernels=kernels)

    def second(self, second: int) -> dict[str, Array]:
        """What is measured in one second, as the bank takes it."""
        part = slice(second * SLOTS, (second + 1) * SLOTS)
        seen = {
            "power_w": self._power_w[:, part].astype(np.float64),
            "instant_w": self._instant_w[:, part].astype(np.float64),
        }
        if self._limit_w is not None:
            seen["limit_w"] = self._limit_w[:, second].astype(np.float64)
        return seen


def _kernels(seconds: int) -> Kernels | None:
    if seconds < COMPILED_FROM_S:
        return None
    from easyrider_forecaster.adapters.compiled import Compiled  # numba costs 90 MB and a second

    return Compiled()


def _answer(whole: _Said, row: int, series: Series, origins_s: Array, us: float) -> Answer:
    return Answer(
        mean_w=whole.mean_w[origins_s, row].astype(np.float64),
        peak_w=whole.peak_w[origins_s, row].astype(np.float64),
        q90_w=whole.q90_w[origins_s, row].astype(np.float64),
        q99_w=whole.q99_w[origins_s, row].astype(np.float64),
        bounds=Bounds(first_s=0, q99_w=whole.q99_w[: series.seconds, row]),
        peaks_w=whole.peak_w[: series.seconds, row],
        us_per_tick=us,
    )
