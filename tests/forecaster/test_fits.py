"""Level parameters come from another process; the loop stays lean and survives its death."""

import asyncio
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from easyrider_forecaster.adapters import fit_pool
from easyrider_forecaster.adapters.fit_pool import FitPool
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.fits import FitRequest
from easyrider_forecaster.core.level import LevelParameters, Levels


def _wandering(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 500 + np.cumsum(rng.normal(0, 3, 200)) + rng.normal(0, 10, 200)


async def test_parameters_are_fitted_in_a_process_of_low_priority() -> None:
    pool = FitPool()
    try:
        (result,) = await pool.fit([FitRequest("j", 60, _wandering(1))])
        ((_, process),) = pool._pool._processes.items()
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
            nice = int(stat.read().rpartition(")")[2].split()[16])
    finally:
        pool.close()

    assert result.parameters is not None
    assert 0.05 < result.parameters.alpha < 0.8
    assert nice >= 10


@pytest.mark.parametrize(
    "values",
    [
        np.full(60, 412.0),
        np.array([412.0]),
        np.concatenate((np.full(40, 412.0), [411.0, 380.0])),
        np.concatenate((np.full(40, 300.0), [np.nan])),
        np.concatenate((np.full(40, 300.0), [np.inf])),
        np.linspace(700, 20, 40),
    ],
    ids=["flat", "single", "flat then steps", "nan", "inf", "falling ramp"],
)
async def test_series_that_break_fits_elsewhere_give_stable_parameters_or_none(values: np.ndarray) -> None:
    pool = FitPool()
    try:
        (result,) = await pool.fit([FitRequest("j", 60, values)])
    finally:
        pool.close()

    assert result.parameters is None or result.parameters.stable
    assert (result.parameters is None) == bool(result.fault)


async def test_a_killed_fit_process_is_named_and_replaced() -> None:
    pool = FitPool()
    try:
        await pool.fit([])
        for process in pool._pool._processes.values():
            process.kill()
        with pytest.raises(BrokenProcessPool):
            await pool.fit([FitRequest("j", 60, _wandering(3))])
        assert await pool.fit([]) == []
    finally:
        pool.close()


async def test_a_saturated_fit_process_takes_nothing_from_the_ticks_beside_it() -> None:
    """Batches wait all the while; a tick costs the loop what it costs alone, and the loop never waits for a batch."""
    bank, rng = Bank(np.full(60, 700.0), 75.0), np.random.default_rng(4)
    for _ in range(5):
        bank.observe(rng.normal(500, 20, (60, 10)))
        bank.tick()

    async def ticks(number: int) -> float:
        cpu_s = []
        for _ in range(number):
            begun_s = time.process_time()
            bank.observe(rng.normal(500, 20, (60, 10)))
            bank.tick()
            cpu_s.append(time.process_time() - begun_s)
            await asyncio.sleep(0)
        return float(np.median(cpu_s))

    pool = FitPool()
    try:
        await pool.fit([FitRequest("j", 60, _wandering(1))])
        alone_s = await ticks(30)
        batch = asyncio.create_task(pool.fit([FitRequest("j", 60, _wandering(n)) for n in range(2000)]))
        await asyncio.sleep(0)
        beside_s = await ticks(30)
        unfinished = pool.busy and not batch.done()
    finally:
        pool.close()
        batch.cancel()
        await asyncio.gather(batch, return_exceptions=True)

    assert unfinished
    assert beside_s < 2.0 * alone_s


FITS_FOR_EVER = """
import asyncio
from easyrider_forecaster.adapters.fit_pool import FitPool

async def go():
    pool = FitPool()
    await pool.fit([])
    print(next(iter(pool._pool._processes)), flush=True)
    await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(go())
"""


def test_no_fit_process_outlives_a_killed_forecaster(tmp_path: Path) -> None:
    script = tmp_path / "forecaster.py"
    script.write_text(FITS_FOR_EVER)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as forecaster:
        assert forecaster.stdout is not None
        worker = int(forecaster.stdout.readline())
        assert _lives(worker)
        forecaster.kill()
        forecaster.wait(timeout=10)

    deadline_s = time.monotonic() + 20
    while _lives(worker):
        assert time.monotonic() < deadline_s, "it fits for nobody"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_the_service_does_not_load_statsmodels() -> None:
    code = "import sys, easyrider_forecaster.__main__; assert 'statsmodels' not in sys.modules"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert fit_pool.FitPool is FitPool


@pytest.mark.parametrize(
    "wrong", [(1.2, 0.1, 0.9), (0.3, 0.5, 0.9), (0.3, 0.1, 1.0), (float("nan"), 0.1, 0.9)]
)
def test_unstable_parameters_are_refused_and_the_old_ones_stay(wrong: tuple[float, float, float]) -> None:
    levels = Levels(1)

    assert not levels.take(0, LevelParameters(*wrong))

    assert levels.alpha[0] == 0.3
    assert not levels.fitted[0]


def test_the_recursion_is_statsmodels_own() -> None:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    values = _wandering(2)
    model = ETSModel(values, error="add", trend="add", damped_trend=True, initialization_method="known",
                     initial_level=values[0], initial_trend=0.0)  # fmt: skip
    theirs = model.smooth([0.4, 0.1, 0.9, values[0], 0.0]).forecast(30)
    levels = Levels(1)
    levels.take(0, LevelParameters(0.4, 0.1, 0.9))
    for value in values:
        levels.step(np.array([[value, value]]), np.array([0.0]), np.array([1e4]))

    assert levels.means(0)[0] == pytest.approx([theirs[:h].mean() for h in (1, 2, 5, 10, 30)], rel=1e-3)


def test_a_wild_series_keeps_level_and_trend_inside_the_devices_range() -> None:
    rng, levels = np.random.default_rng(9), Levels(3)
    for row in range(3):
        levels.take(row, LevelParameters(1.0, 1.0, 0.98))
    for _ in range(500):
        values = rng.choice([0.0, 700.0, np.nan], (3, 2))
        levels.step(values, np.zeros(3), np.full(3, 700.0))

    assert np.nanmin(levels.level_w) >= 0
    assert np.nanmax(levels.level_w) <= 700
    assert np.abs(levels.trend_w).max() <= 35.0
