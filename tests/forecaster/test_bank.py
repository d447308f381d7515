"""The engine over plain arrays: synthetic loads whose future is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from easyrider_forecaster.core.bank import HORIZONS_S, Bank, Forecasts

RATING_W = 700.0


def _play(bank: Bank, power_w: np.ndarray, limit_w: float = RATING_W) -> list[Forecasts]:
    said = []
    for second in range(power_w.shape[1] // 10):
        block = np.minimum(power_w[:, 10 * second : 10 * second + 10], limit_w)
        bank.observe(block, limit_w=np.full(len(power_w), limit_w))
        said.append(bank.tick())
    return said


def _iterations(seconds: float, period_s: float = 4.0, seed: int = 1) -> np.ndarray:
    """One synthetic job: three quarters of each iteration at 620 W, the rest at 260 W, noise of 5 W."""
    slots = np.arange(round(10 * seconds))
    power_w = np.where((slots + 0.5) / (10 * period_s) % 1.0 < 0.75, 620.0, 260.0)
    return power_w + np.random.default_rng(seed).normal(0, 5, len(slots))


def _with_checkpoints(
    seconds: int, every_s: float, long_s: float, stalls_s: tuple[float, ...] = ()
) -> np.ndarray:
    """Iterations that stand still for `long_s` after every `every_s` of work, and for 2 s at some times of work."""
    work, parts, done_s = _iterations(seconds), [], 0.0
    stops = sorted(
        [(k * every_s, long_s) for k in range(1, seconds)] + [(stall_s, 2.0) for stall_s in stalls_s]
    )
    for at_s, length_s in stops:
        if at_s >= seconds:
            break
        parts += [work[round(10 * done_s) : round(10 * at_s)], np.full(round(10 * length_s), 150.0)]
        done_s = at_s
    return np.concatenate(parts)[None, : 10 * seconds]


def test_noise_after_an_origin_leaves_every_earlier_forecast_bit_equal() -> None:
    power_w = np.tile(_iterations(60), (2, 1))
    noise_w = np.random.default_rng(3).uniform(80, 690, (2, 200))
    told = [_play(Bank(np.full(2, RATING_W), 75.0), np.hstack((power_w[:, :400], rest)))
            for rest in (power_w[:, 400:], noise_w)]  # fmt: skip

    for one, other in zip(told[0][:40], told[1][:40], strict=True):
        for view in ("demand", "draw"):
            for name in ("mean_w", "peak_w", "q90_w", "q99_w"):
                assert np.array_equal(getattr(getattr(one, view), name), getattr(getattr(other, view), name))
    assert not np.array_equal(told[0][45].demand.mean_w, told[1][45].demand.mean_w)


def test_a_regular_checkpoint_is_foreseen_by_a_clock_that_stops_in_stalls() -> None:
    power_w = _with_checkpoints(330, every_s=60.0, long_s=12.0, stalls_s=(95.0, 130.0, 205.0))
    bank = Bank(np.array([RATING_W]), 75.0)
    said = _play(bank, power_w)

    assert bank.outlook.dips.cadence_s[0] == pytest.approx(60.0, abs=1.5)
    low = power_w[0].reshape(-1, 10).mean(axis=1) < 200
    begins = [s for s in range(260, 310) if low[s : s + 8].all() and not low[s - 1]]
    foreseen_w = said[begins[0] - 6].demand.mean_w[0, HORIZONS_S.index(10)]  # 5-6 s before it begins
    assert foreseen_w < 460.0, foreseen_w  # 530 W between checkpoints


def test_the_next_fall_and_the_next_rise_are_told_in_seconds() -> None:
    said = _play(Bank(np.array([RATING_W]), 75.0), _iterations(102, period_s=6.0)[None])

    # iterations of 6 s begin at multiples of 6 s and fall 4.5 s later
    for second in range(90, 102):
        after_s = (second + 1) % 6.0
        fall_s, rise_s = said[second].next_fall_s[0], said[second].next_rise_s[0]
        if 0.5 < after_s < 4.0:
            assert fall_s == pytest.approx(4.5 - after_s, abs=0.35)
        if 0.5 < after_s < 5.5:
            assert rise_s == pytest.approx(6.0 - after_s, abs=0.35)


def test_a_limit_cuts_the_draw_and_teaches_nothing_about_the_demand() -> None:
    bank = Bank(np.array([RATING_W]), 75.0)
    power_w = _iterations(100)[None]
    free = _play(bank, power_w)[-1]
    scored, shape_w = bank.outlook.means.scored.copy(), bank.outlook.pulse.shape_w.max()

    capped = _play(bank, power_w[:, :800], limit_w=400.0)[-1]

    assert capped.draw.q99_w.max() <= 400.0
    assert capped.draw.mean_w[0, 4] == pytest.approx(0.75 * 400 + 0.25 * 260, rel=0.05)
    assert capped.demand.mean_w[0, 4] == pytest.approx(free.demand.mean_w[0, 4], rel=0.05)
    assert capped.demand.peak_w[0, 3] == pytest.approx(free.demand.peak_w[0, 3], rel=0.03)
    assert bank.outlook.pulse.shape_w.max() >= shape_w - 1.0
    assert bank.outlook.means.scored[0, 4] == scored[0, 4]


def test_a_tick_that_was_left_out_is_no_origin() -> None:
    bank = Bank(np.array([RATING_W]), 75.0)
    power_w = _iterations(50)[None]
    for second in range(50):
        bank.observe(power_w[:, 10 * second : 10 * second + 10])
        if second % 2 == 0:
            bank.tick()

    assert bank.outlook.means.scored[0, 0] == 25
    assert np.isfinite(bank.tick().demand.mean_w).all()


def test_the_mean_of_a_domain_is_the_sum_of_its_jobs_and_no_bound_exceeds_the_sum_of_theirs() -> None:
    rng = np.random.default_rng(2)
    power_w = np.stack([_iterations(90, p, seed) for seed, p in enumerate(rng.uniform(2, 7, 12))])
    said = _play(Bank(np.full(12, RATING_W), 75.0, domains=np.ones((1, 12))), power_w)[-1]

    assert said.domain_demand.mean_w[0] == pytest.approx(said.demand.mean_w.sum(axis=0), rel=0.03)
    assert (said.domain_demand.q99_w[0] <= said.demand.q99_w.sum(axis=0) + 0.01).all()


@settings(max_examples=15, deadline=None)
@given(
    power_w=arrays(np.float64, (3, 60), elements=st.floats(allow_nan=True, allow_infinity=True, width=64)),
    limit_w=arrays(np.float64, 3, elements=st.floats(0, 1e4)),
)
def test_no_array_of_numbers_makes_the_core_raise_or_say_what_no_board_can_draw(
    power_w: np.ndarray, limit_w: np.ndarray
) -> None:
    bank = Bank(np.full(3, RATING_W), 75.0, domains=np.ones((1, 3)))
    bank.observe(np.tile(_iterations(1), (3, 1)))
    for second in range(6):
        bank.observe(power_w[:, 10 * second : 10 * second + 10], limit_w=limit_w)
        said = bank.tick()
        for view in (said.demand, said.draw):
            for watts in (view.mean_w, view.peak_w, view.q90_w, view.q99_w):
                assert np.isnan(watts).sum() + ((watts >= 0) & (watts <= RATING_W)).sum() == watts.size
