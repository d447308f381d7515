"""What a forecast is worth: figures of one series, pooled ones, and verdicts."""

import numpy as np
import pytest

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.contract import Answer, Bounds
from easyrider_forecast_bench.loads.families import Key
from easyrider_forecast_bench.rivals.paths import STEPS, Past, past, told
from easyrider_forecast_bench.rivals.stepwise import Fit, Stepwise
from easyrider_forecast_bench.rivals.windows import LastValue, Window
from easyrider_forecast_bench.score import Figures, figures
from easyrider_forecast_bench.series import HORIZONS_S, SLOTS, Series, outcome
from easyrider_forecast_bench.telling.pooled import ratios
from easyrider_forecast_bench.telling.rows import Row, rows
from easyrider_forecast_bench.telling.verdicts import verdicts


def ramp(seconds: int = 400) -> Series:
    """1 W more every 0.1 s."""
    power_w = np.arange(seconds * SLOTS, dtype=np.float32)
    return Series(
        family="stalls", name="ramp", rating_w=5000.0, gpus=1, power_w=power_w, instant_w=power_w,
        util_pct=np.full(seconds, np.nan),
    )  # fmt: skip


def test_the_truth_of_an_origin_begins_with_the_first_sample_it_does_not_know() -> None:
    came = outcome(ramp(), np.array([100, 390]))

    assert came.mean_w[0] == pytest.approx([1004.5, 1009.5, 1024.5, 1049.5, 1149.5])
    assert came.peak_w[0].tolist() == [1009, 1019, 1049, 1099, 1299]
    assert np.isnan(came.mean_w[1]).tolist() == [False, False, False, False, True]


def test_a_short_recording_is_not_scored_beyond_five_seconds() -> None:
    came = outcome(ramp(60), np.array([10]))

    assert np.isnan(came.mean_w[0]).tolist() == [False, False, False, True, True]


def test_windows_and_the_last_value_say_what_they_are_named_after() -> None:
    origins_s = np.array([100, 200])

    last, ten = LastValue().forecast(ramp(), origins_s), Window(10).forecast(ramp(), origins_s)

    assert last.mean_w[:, 0].tolist() == last.peak_w[:, 4].tolist() == [999.0, 1999.0]
    assert ten.mean_w[:, 0].tolist() == [949.5, 1949.5]
    assert ten.peak_w[:, 0].tolist() == [999.0, 1999.0]


def test_a_peak_is_the_largest_point_of_the_path_and_the_usual_excess_of_the_last_minute() -> None:
    known = past(ramp(), 100)
    path_w = np.full(STEPS, 500.0)
    path_w[3] = 700.0

    mean_w, peak_w, good = told(path_w, known)

    assert good
    assert known.excess_w == pytest.approx(4.5)
    assert peak_w == pytest.approx([504.5, 504.5, 704.5, 704.5, 704.5])
    assert mean_w == pytest.approx([500, 500, 540, 520, 500 + 200 / 30])


class Faulty:
    """Fails, then runs away, then says nothing finite, then works."""

    def __init__(self, series: Series) -> None:
        self._asked = 0

    def ahead(self, known: Past) -> Fit:
        self._asked += 1
        if self._asked == 1:
            raise ArithmeticError("singular")
        level_w = {2: 1e8, 3: np.nan}.get(self._asked, 100.0)
        return Fit(np.full(STEPS, level_w), settled=self._asked != 4)


def test_a_fit_that_fails_or_runs_away_takes_the_last_value_and_is_counted() -> None:
    answer = Stepwise(Faulty).forecast(ramp(), np.array([100, 110, 120, 130]))

    assert answer.mean_w[:, 0].tolist() == [999.0, 1099.0, 1199.0, 100.0]
    assert (answer.failed, answer.restless, answer.fits) == (3, 1, 4)
    assert answer.fault == "ArithmeticError: singular"


def test_errors_scale_coverage_and_slack_are_as_defined() -> None:
    series, origins_s = ramp(), np.array([310, 320])
    came = outcome(series, origins_s)
    bound_w = outcome(series, np.arange(400)).peak_w + 10.0
    bound_w[::2] -= 20.0  # every other bound does not hold

    found = figures(
        series,
        origins_s,
        Answer(
            mean_w=came.mean_w + 5.0, peak_w=came.peak_w - 2.0, q90_w=came.peak_w, q99_w=came.peak_w + 10.0,
            us_per_tick=1.0, bounds=Bounds(first_s=0, q99_w=bound_w),
        ),
    )[1]  # fmt: skip

    assert (found.horizon_s, found.n_origins) == (2, 2)
    assert found.mae_mean_w == pytest.approx(5.0)
    assert found.mae_peak_w == pytest.approx(2.0)
    assert found.scale_w == pytest.approx(10.0)
    assert found.pinball_w == pytest.approx((0.5 * 2.0 + 0.0 + 0.01 * 10.0) / 3)
    assert found.hours == pytest.approx(99 / 3600)
    assert found.coverage == pytest.approx(0.5, abs=0.01)
    assert found.over_w == pytest.approx(0.0, abs=0.2)


def done(model: str, family: str, mean_w: float, number: int = 0, hours: float | None = None) -> Done:
    """Made-up figures, not measured ones."""
    each = [
        Figures(
            horizon_s=h, n_origins=100, mae_mean_w=mean_w, mae_peak_w=mean_w, scale_w=10.0, pinball_w=1.0, hours=hours,
            coverage=None if hours is None else 0.99, over_w=20.0, spare_w=100.0,
        )
        for h in HORIZONS_S
    ]  # fmt: skip
    key = Key(family=family, number=number, seconds=7500, origins=100, name=f"{family}-{number:02}")
    return Done(model=model, key=key, rating_w=700.0, figures=each, us_per_tick=3.0, memory_mb=1.0, cpu_s=1.0)


def test_a_row_has_exactly_the_fields_that_are_documented() -> None:
    found = rows([done("easyrider", "checkpoints", 12.0, hours=2.0)])

    assert len(found) == 5
    assert list(found[0]) == [
        "family", "series", "model", "horizon_s", "n_origins", "hours", "mae_mean_w", "mae_peak_w", "mase", "pinball",
        "coverage99", "slack99", "us_per_tick",
    ] == list(Row.__annotations__)  # fmt: skip
    assert (found[0]["mase"], found[0]["slack99"], found[0]["coverage99"]) == (1.2, 0.2, 0.99)


def test_the_best_rival_is_chosen_for_a_family_and_horizon_after_the_fact() -> None:
    runs = [done("easyrider", "checkpoints", 6.0, n) for n in range(3)]
    runs += [done("ets", "checkpoints", w, n) for n, w in enumerate((10.0, 30.0, 20.0))]
    runs += [done("theta", "checkpoints", w, n) for n, w in enumerate((12.0, 12.0, 12.0))]
    runs += [done("arima", "checkpoints", 1.0, 0)]  # lacks two series: no rival over the family

    first = ratios(runs, "checkpoints")[0]

    assert (first.rival, first.ratio) == ("theta", 0.5)
    assert first.low <= 0.5 <= first.high


def test_verdicts_hold_and_fail_by_their_numbers_and_stay_open_for_too_few_hours() -> None:
    def judged(ours_w: float, hours: float) -> dict[str, bool | None]:
        runs = [done("easyrider", "checkpoints", ours_w, n, hours) for n in range(3)]
        runs += [done("ets", "checkpoints", 10.0, n) for n in range(3)]
        return {each.claim: each.holds for each in verdicts(runs)}

    good, bad = judged(6.5, 7.0), judged(8.0, 1.0)
    claim = "checkpoints: mean error at 30 s at most 0.60 x the best rival"

    assert not good[claim]
    assert good["checkpoints: mean error at 10 s at most 0.70 x the best rival"]
    assert not bad["checkpoints: mean error at 1 s at most 0.75 x the best rival"]
    assert bad["checkpoints: peak error at 1 s at most 0.95 x the best rival"]
    assert good["job: 0.99 bound at 1 s covers 98.5-99.70 %"] is True
    assert bad["job: 0.99 bound at 1 s covers 98.5-99.70 %"] is None
    assert good["job: slack at 1 s at most 0.32"] is True
