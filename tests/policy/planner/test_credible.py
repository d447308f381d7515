"""A forecast that is absent or absurd reaches the planner as none, with the reason."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import World, load, site

from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider_policy.core.ahead import foresee
from easyrider_policy.core.credible import gated, refusal
from easyrider_policy.core.trust import Trust

WATTS = st.floats(allow_nan=True, allow_infinity=True)
A = range(0, 8)


def horizon(horizon_s: float, *watts: float) -> HorizonForecast:
    mean_w, peak_w, q90_w, q99_w = watts
    return HorizonForecast(
        horizon_s=horizon_s, mean_w=mean_w, peak_w=peak_w, peak_q90_w=q90_w, peak_q99_w=q99_w
    )


def told(
    rows: tuple[HorizonForecast, ...], confidence: float = 0.9, basis: str = "fingerprint"
) -> PowerForecast:
    series = SeriesForecast(
        scope="job", id="a", gpu_count=8, draw=rows, demand=rows, period_s=2.0, confidence=confidence,
        reasons=("young: 5 s of data",), model="m", censored=0.0, basis=basis,
    )  # fmt: skip
    return PowerForecast(region="r", boot_id="b", seq=1, t_ns=0, mono_ns=0, series=(series,))


@pytest.fixture(scope="module")
def seen() -> World:
    """A job of eight boards that draws 560 W each, a limit of 700 W and nothing else."""
    one = World(site(), [load("a", A, 560.0)])
    one.run(30)
    return one


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((), "nothing is said of any horizon"),
        ((horizon(2.0, 1.0, 2.0, 3.0, float("nan")),), "nan W over 2 s"),
        ((horizon(2.0, -5.0, 2.0, 3.0, 4.0),), "-5"),
        ((horizon(2.0, 4e3, 4e6, 4e6, 4e6),), "W for boards that can draw"),
        ((horizon(2.0, 4000.0, 100.0, 100.0, 100.0),), "above its own bound"),
        ((horizon(0.0, 1.0, 1.0, 1.0, 1.0),), "a horizon of 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_no_forecast_and_says_why(
    seen: World, rows: tuple[HorizonForecast, ...], why: str
) -> None:
    (series,) = gated(told(rows), seen.observation.layout).series

    assert series.draw == series.demand == ()
    assert series.confidence == 0.0
    assert series.reasons[0].startswith("no forecast: ")
    assert why in series.reasons[0]


def test_a_refused_forecast_moves_nothing_and_its_reason_is_what_the_plan_says(seen: World) -> None:
    before_w = seen.observation.peak_w.copy()
    gone = gated(told((horizon(2.0, 4e3, 4e6, 4e6, 4e6),)), seen.observation.layout)
    trust = Trust()

    urgent = foresee(seen.observation, gone, seen.now_s)
    trust.heard(gone.series, {"a": 8}, seen.now_s)

    assert not urgent
    assert (seen.observation.peak_w == before_w).all()
    assert "no forecast: 4000000 W for boards that can draw" in trust.doubt({"a": 8}, seen.now_s)


def test_a_fit_forecast_passes_as_it_came(seen: World) -> None:
    forecast = told(
        (horizon(2.0, 4000.0, 4400.0, 4500.0, 4600.0), horizon(30.0, 4000.0, 4400.0, 4500.0, 4600.0))
    )

    assert gated(forecast, seen.observation.layout) == forecast


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(WATTS, WATTS, WATTS, WATTS, WATTS), max_size=4),
    confidence=WATTS,
    period_s=st.none() | WATTS,
)
def test_no_numbers_whatever_make_the_planner_fail_or_count_more_than_boards_can_draw(
    seen: World, rows: list[tuple[float, ...]], confidence: float, period_s: float | None
) -> None:
    forecast = told(tuple(horizon(*row) for row in rows), confidence)
    series = msgspec.structs.replace(forecast.series[0], period_s=period_s)
    observation = seen.observation

    kept = gated(msgspec.structs.replace(forecast, series=(series,)), observation.layout)
    foresee(observation, kept, seen.now_s)

    assert np.isfinite(observation.peak_w).all()
    assert (observation.peak_w <= observation.layout.max_w + 1e-6).all()
    assert bool(kept.series[0].demand) == (refusal(series, 8 * float(observation.layout.max_w[0])) == "")
