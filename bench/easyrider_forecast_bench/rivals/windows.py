"""The cheapest rivals: the last value, and means and maxima of the last seconds, over all origins at once."""

import time
from dataclasses import dataclass

import numpy as np

from easyrider_forecast_bench.contract import Answer
from easyrider_forecast_bench.series import HORIZONS_S, SLOTS, Array, Series


class LastValue:
    """The last 100 ms mean stands for everything."""

    def forecast(self, series: Series, origins_s: Array) -> Answer:
        """Forecasts at these seconds."""
        began_s = time.process_time()
        last_w = series.power_w[origins_s * SLOTS - 1].astype(np.float64)
        said_w = np.repeat(last_w[:, None], len(HORIZONS_S), axis=1)
        return Answer(mean_w=said_w, peak_w=said_w.copy(), us_per_tick=_us(began_s, len(origins_s)))


@dataclass(frozen=True, slots=True)
class Window:
    """Mean and highest 100 ms mean of the last `window_s`, or of what there is of them."""

    window_s: int

    def forecast(self, series: Series, origins_s: Array) -> Answer:
        """Forecasts at these seconds."""
        began_s = time.process_time()
        last = int(origins_s.max())
        blocks = series.power_w[: last * SLOTS].astype(np.float64).reshape(-1, SLOTS)
        total_w = np.concatenate(([0.0], np.cumsum(blocks.sum(axis=1))))
        begin_s = np.maximum(origins_s - self.window_s, 0)
        mean_w = (total_w[origins_s] - total_w[begin_s]) / (SLOTS * (origins_s - begin_s))
        padded = np.concatenate((np.full(self.window_s - 1, -np.inf), blocks.max(axis=1)))
        tops_w = np.lib.stride_tricks.sliding_window_view(padded, self.window_s)[origins_s - 1].max(axis=1)
        return Answer(
            mean_w=np.repeat(mean_w[:, None], len(HORIZONS_S), axis=1),
            peak_w=np.repeat(tops_w[:, None], len(HORIZONS_S), axis=1),
            us_per_tick=_us(began_s, len(origins_s)),
        )


def _us(began_s: float, origins: int) -> float:
    return (time.process_time() - began_s) * 1e6 / max(origins, 1)
