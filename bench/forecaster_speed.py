"""What one second of the forecaster costs: 10,000 series compiled, 1,000 in arrays, beside ARIMA's own time.

Loads are synthetic square waves with noise, stalls and checkpoints (`sources`). CPU seconds of this process, so that
a busy machine counts less; wall time beside them. Every tick is counted, detection and fits go on meanwhile: the
detector in the gaps between ticks, as in the service, and fits in a worker process that is never idle.
Writes bench/out/forecaster_speed.json.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from easyrider_forecaster.adapters import compiling
from easyrider_forecaster.core.accuracy import Ledger, Said
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.fits import FitRequest
from easyrider_forecaster.core.kernels import Kernels

OUT = Path(__file__).parent / "out"
RATING_W, IDLE_W = 700.0, 75.0
_STALL_SLOTS = 15


class Loads:
    """Synthetic jobs: (series, 10) watts of any second. Periods 0.4-20 s, a stall a minute, noise of 7 W."""

    def __init__(self, series: int, seed: int = 5) -> None:
        self._rng = np.random.default_rng(seed)
        self._period = np.exp(self._rng.uniform(np.log(4.0), np.log(200.0), series))
        self._phase = self._rng.random(series)
        self._high_w = self._rng.uniform(0.76, 0.95, series) * RATING_W
        self._low_w = self._rng.uniform(0.25, 0.5, series) * RATING_W
        self._share = self._rng.uniform(0.05, 0.3, series)
        self._stall = self._rng.uniform(0, 600, series)

    def second(self, number: int) -> np.ndarray:  # type: ignore[type-arg]
        """Means over 0.1 s."""
        slots = 10 * number + np.arange(10)
        turn = (slots / self._period[:, None] + self._phase[:, None]) % 1.0
        power_w = np.where(turn < self._share[:, None], self._low_w[:, None], self._high_w[:, None])
        stalled = (slots - self._stall[:, None]) % 600 < _STALL_SLOTS
        power_w = np.where(stalled, 0.22 * RATING_W, power_w)
        return np.asarray(power_w + self._rng.normal(0, 7.0, power_w.shape))


def _fit_forever(seconds: float) -> tuple[int, float]:
    """Level parameters again and again, as the service's fit process does; how many, and its memory in MB."""
    from easyrider_forecaster.adapters import ets

    rng, number, end_s = np.random.default_rng(1), 0, time.monotonic() + seconds
    while time.monotonic() < end_s:
        values_w = 500 + np.cumsum(rng.normal(0, 3, 200)) + rng.normal(0, 10, 200)
        ets.fit(FitRequest("job", 60, values_w))
        number += 1
    return number, _own_mb()


def _own_mb() -> float:
    """Memory of this process that no other shares, and its part of what is shared, MB."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) / 1024
    return float("nan")


def ticks(series: int, seconds: int, warm: int, kernels: Kernels | None) -> dict[str, object]:
    """CPU and wall time of each of `seconds` ticks after `warm` others, with a fit process that is never idle."""
    bank, loads = Bank(np.full(series, RATING_W), IDLE_W, kernels=kernels, beside=True), Loads(series)
    ledger, free, every = Ledger(series), np.zeros((series, 10), np.bool_), np.ones(series, np.bool_)
    line_w = np.full(series, 0.6 * RATING_W)
    cpu_s, wall_s, beside_s, ledger_s = [], [], [], []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_nice) as pool:
        fits = None
        for second in range(warm + seconds):
            power_w = loads.second(second)
            cpu, wall = time.process_time(), time.perf_counter()
            bank.observe(power_w)
            told = bank.tick()
            judged = time.process_time()
            ledger.judge(second, power_w, free, bank.rating_w)
            draw, demand = Said(told.draw, every), Said(told.demand, every)
            ledger.note(second, draw, demand, told.next_rise_s, line_w)
            judged = time.process_time() - judged
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            begun = time.process_time()
            while bank.think():
                pass
            if second >= warm:
                cpu_s.append(cpu)
                wall_s.append(wall)
                ledger_s.append(judged)
                beside_s.append(time.process_time() - begun)
            elif second == warm - 1:
                fits = pool.submit(_fit_forever, 2.0 * seconds * max(wall, 0.05))
        mb = _own_mb()
        number, worker_mb = fits.result() if fits is not None else (0, float("nan"))
    return {
        "series": series,
        "kernels": kernels.name if kernels is not None else "numpy",
        "ticks": seconds,
        "cpu_ms_median": round(1e3 * float(np.median(cpu_s)), 1),
        "cpu_ms_p99": round(1e3 * float(np.quantile(cpu_s, 0.99)), 1),
        "wall_ms_median": round(1e3 * float(np.median(wall_s)), 1),
        "wall_ms_p99": round(1e3 * float(np.quantile(wall_s, 0.99)), 1),
        "ledger_cpu_ms_median": round(1e3 * float(np.median(ledger_s)), 2),
        "detector_cpu_ms_median": round(1e3 * float(np.median(beside_s)), 1),
        "us_per_series_tick": round(1e6 * float(np.median(cpu_s)) / series, 2),
        "us_per_series_tick_with_detector": round(
            1e6 * float(np.median(np.add(cpu_s, beside_s))) / series, 2
        ),
        "fits_meanwhile": number,
        "own_mb": round(mb, 1),
        "fit_process_mb": round(worker_mb, 1),
        "together_mb": round(mb + worker_mb, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def _nice() -> None:
    import os

    os.nice(15)


def arima(origins: int = 8) -> dict[str, float]:
    """CPU ms of statsmodels' ARIMA(2,0,1) on 5 minutes at 1 Hz: one fit with forecast, one extend with forecast."""
    from statsmodels.tsa.arima.model import ARIMA

    rng = np.random.default_rng(3)
    values_w = 500 + np.cumsum(rng.normal(0, 2, 300 + origins)) + rng.normal(0, 20, 300 + origins)
    fit_s, extend_s = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for origin in range(origins):
            begun = time.process_time()
            result = ARIMA(values_w[origin : origin + 300], order=(2, 0, 1)).fit()
            result.forecast(30)
            fit_s.append(time.process_time() - begun)
            begun = time.process_time()
            result.extend(values_w[origin + 300 : origin + 301]).forecast(30)
            extend_s.append(time.process_time() - begun)
    return {
        "fit_and_forecast_ms": 1e3 * float(np.median(fit_s)),
        "extend_and_forecast_ms": 1e3 * float(np.median(extend_s)),
    }


def main() -> None:
    """Run all, print, write."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seconds", type=int, default=120, help="ticks that count")
    asked.add_argument("--warm", type=int, default=130, help="ticks before them")
    asked.add_argument("--part", choices=("compiled", "arrays"), help="one part, in this process")
    options = asked.parse_args()
    if options.part:
        kernels = compiling.ready() if options.part == "compiled" else None
        print(
            json.dumps(ticks(10_000 if kernels else 1_000, options.seconds, options.warm, kernels)),
            flush=True,
        )
        return
    found: dict[str, object] = {"machine": platform.processor() or platform.machine(), "loads": "synthetic"}
    for part in ("compiled", "arrays"):
        command = [sys.executable, __file__, "--part", part, "--seconds", str(options.seconds)]
        done = subprocess.run(
            [*command, "--warm", str(options.warm)], capture_output=True, text=True, check=True
        )
        found[part] = json.loads(done.stdout.splitlines()[-1])
        print(part, found[part], flush=True)
    rival = arima()
    ours_ms = found["compiled"]["us_per_series_tick_with_detector"] / 1e3  # type: ignore[index]
    found["arima"] = {name: round(value, 2) for name, value in rival.items()}
    found["of_extend_and_forecast"] = round(ours_ms / rival["extend_and_forecast_ms"], 6)
    found["of_fit_and_forecast"] = round(ours_ms / rival["fit_and_forecast_ms"], 6)
    OUT.mkdir(exist_ok=True)
    (OUT / "forecaster_speed.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
