"""What one second of the forecaster costs: 10,000 series compiled, 1,000 in arrays, beside ARIMA's own time.

Loads are synthetic square waves with noise, stalls and checkpoints (`sources`). CPU seconds of this process, so that
a busy machine counts less; wall time beside them. Every tick is counted, detection and fits go on meanwhile: the
detector in the gaps between ticks, as in the service, and fits in the service's worker process, idle and saturated by
turns: `fits_idle` and `fits_saturated` tell the ticks of each apart.
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
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from easyrider_forecaster.adapters import compiling, fit_pool
from easyrider_forecaster.core.accuracy import Ledger, Said
from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.fits import FitRequest, FitResult
from easyrider_forecaster.core.kernels import Kernels

OUT = Path(__file__).parent / "out"
RATING_W, IDLE_W = 700.0, 75.0
_STALL_SLOTS = 15
_BATCH = 16
_TURN = 10
"""Ticks with an idle fit process, then as many with one that always has another batch waiting, and so on."""


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


def _requests() -> list[FitRequest]:
    """A batch as the service asks for it: sixteen walks of five minutes."""
    rng = np.random.default_rng(1)
    walks = 500 + np.cumsum(rng.normal(0, 3, (_BATCH, 300)), axis=1) + rng.normal(0, 10, (_BATCH, 300))
    return [FitRequest(f"job-{row}", 300, values_w) for row, values_w in enumerate(walks)]


def _own_mb() -> float:
    """Memory of this process that no other shares, and its part of what is shared, MB."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return float(line.split()[1]) / 1024
    return float("nan")


def ticks(series: int, seconds: int, warm: int, kernels: Kernels | None) -> dict[str, object]:
    """CPU and wall time of each of `seconds` ticks after `warm` others, half of them beside a saturated fit process."""
    bank, loads = Bank(np.full(series, RATING_W), IDLE_W, kernels=kernels, beside=True), Loads(series)
    ledger, free, every = Ledger(series), np.zeros((series, 10), np.bool_), np.ones(series, np.bool_)
    line_w = np.full(series, 0.6 * RATING_W)
    cpu_s, wall_s, beside_s, ledger_s, saturated = [], [], [], [], []
    waiting: list[Future[list[FitResult]]] = []
    batches, requests = 0, _requests()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=fit_pool.begin) as pool:
        pool.submit(fit_pool.fit_there, requests[:1]).result()
        for second in range(warm + seconds):
            busy = second >= warm and (second - warm) // _TURN % 2 == 1
            while waiting and (waiting[0].done() or not busy):
                waiting.pop(0).result()
                batches += 1
            while busy and len(waiting) < 2:
                waiting.append(pool.submit(fit_pool.fit_there, requests))
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
                saturated.append(busy)
        mb, worker_mb = _own_mb(), pool.submit(_own_mb).result()
    within = np.array(saturated)
    return {
        "series": series,
        "kernels": kernels.name if kernels is not None else "numpy",
        "ticks": seconds,
        **_times(np.array(cpu_s), np.array(wall_s)),
        "fits_idle": _times(np.array(cpu_s)[~within], np.array(wall_s)[~within]),
        "fits_saturated": _times(np.array(cpu_s)[within], np.array(wall_s)[within]),
        "ledger_cpu_ms_median": round(1e3 * float(np.median(ledger_s)), 2),
        "detector_cpu_ms_median": round(1e3 * float(np.median(beside_s)), 1),
        "us_per_series_tick": round(1e6 * float(np.median(cpu_s)) / series, 2),
        "us_per_series_tick_with_detector": round(
            1e6 * float(np.median(np.add(cpu_s, beside_s))) / series, 2
        ),
        "fits_meanwhile": _BATCH * batches,
        "own_mb": round(mb, 1),
        "fit_process_mb": round(worker_mb, 1),
        "together_mb": round(mb + worker_mb, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def _times(cpu_s: Array, wall_s: Array) -> dict[str, float]:
    return {
        f"{name}_ms_{figure}": round(1e3 * float(np.quantile(times_s, share)), 1)
        for name, times_s in (("cpu", cpu_s), ("wall", wall_s))
        for figure, share in (("median", 0.5), ("p99", 0.99))
    }


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
