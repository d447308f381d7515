"""Steps written row by row say the numbers of their array forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from easyrider_forecaster.adapters import compiling
from easyrider_forecaster.core.bank import Bank, Forecasts
from easyrider_forecaster.core.kernels import Kernels

compiled = pytest.importorskip("easyrider_forecaster.adapters.compiled", reason="needs numba")


def _synthetic(series: int, seconds: int) -> np.ndarray:
    """Iterations of 0.7-6 s with noise, stalls, gaps, and one series without a rhythm."""
    rng, slots = np.random.default_rng(4), np.arange(10 * seconds)
    period, phase = np.geomspace(7, 60, series), rng.random(series)
    turn = (slots / period[:, None] + phase[:, None]) % 1.0
    power_w = np.where(turn < 0.25, 260.0, 620.0)
    power_w[(slots + np.arange(series)[:, None] * 37) % 300 < 12] = 150.0
    power_w[-1] = np.repeat(rng.uniform(100, 650, seconds), 10)
    power_w += rng.normal(0, 6, power_w.shape)
    power_w[rng.random(power_w.shape) < 0.01] = np.nan
    return power_w


def _run(kernels: Kernels, power_w: np.ndarray) -> list[Forecasts]:
    bank, said = Bank(np.full(len(power_w), 700.0), 75.0, kernels=kernels), []
    for second in range(power_w.shape[1] // 10):
        limit_w = np.full(len(power_w), 500.0 if 40 <= second < 50 else 700.0)
        block = np.minimum(power_w[:, 10 * second : 10 * second + 10], limit_w[:, None])
        bank.observe(block, limit_w=limit_w)
        said.append(bank.tick())
    return said


@pytest.mark.parametrize(
    ("make", "seconds"),
    [
        pytest.param(lambda loop: loop, 75, id="as written"),
        pytest.param(compiled.compiled, 150, id="compiled", marks=pytest.mark.slow),
    ],
)
def test_loops_over_rows_say_what_the_arrays_say(
    make: Callable[[Callable[..., None]], Any], seconds: int
) -> None:
    power_w = _synthetic(4, seconds)

    arrays, loops = _run(Kernels(), power_w), _run(compiled.Compiled(make), power_w)

    for one, other in zip(arrays, loops, strict=True):
        for view in ("demand", "draw"):
            for name in ("mean_w", "peak_w", "q90_w", "q99_w"):
                expected, found = getattr(getattr(one, view), name), getattr(getattr(other, view), name)
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=0.05, equal_nan=True)
        np.testing.assert_allclose(other.next_fall_s, one.next_fall_s, atol=0.01, equal_nan=True)
    assert np.isfinite(arrays[-1].period_s).any()


@pytest.mark.slow
def test_steps_are_compiled_by_another_process_and_read_by_this_one() -> None:
    kernels = compiling.ready()

    steps = vars(kernels).values()
    assert all(step.stats.cache_hits for step in steps)
    assert not any(step.stats.cache_misses for step in steps)


def test_where_nothing_can_be_written_the_steps_are_made_here_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(**_: str) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(compiling.tempfile, "TemporaryDirectory", nowhere)
    monkeypatch.setattr(compiled.Compiled.__init__, "__defaults__", (lambda loop: loop,))

    assert compiling.ready().name == "numba"
