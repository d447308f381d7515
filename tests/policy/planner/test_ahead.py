"""What forecasts add, and what they may not do."""

import numpy as np
import pytest
from small_world import MAX_W, World, load, site

from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider_policy.core.ahead import foresee

A, B, C, D = range(0, 8), range(8, 16), range(16, 24), range(24, 32)


def told(name, peak_w, confidence=0.9, basis="observed", period_s=None, later_w=None, scope="job"):
    """A forecast of one job of eight boards: `peak_w` per board soon, `later_w` beyond 5 s."""

    def horizon(s, watts):
        return HorizonForecast(
            horizon_s=s, mean_w=8 * watts, peak_w=8 * watts, peak_q90_w=8 * watts, peak_q99_w=8 * watts
        )

    rows = tuple(
        horizon(s, peak_w if s < 5 or later_w is None else later_w) for s in (1.0, 2.0, 5.0, 10.0, 30.0)
    )
    series = SeriesForecast(
        scope=scope, id=name, gpu_count=8, draw=rows, demand=rows, period_s=period_s, confidence=confidence,
        reasons=(), model="m", censored=0.0, basis=basis,
    )  # fmt: skip
    return PowerForecast(region="r", boot_id="b", seq=1, t_ns=0, mono_ns=0, series=(series,))


def world(seconds=30, **kw):
    one = World(site(), [load("a", A, 560.0, **kw)])
    one.run(seconds)
    return one


def peak(one):
    return float(one.observation.peak_w[0])


def test_a_rise_announced_is_planned_for_before_it_comes():
    one = world()

    foresee(one.observation, told("a", 650.0), one.now_s)

    assert peak(one) == pytest.approx(650.0)
    assert one.second().demand_w[0] == pytest.approx(650.0)


def test_an_announcement_that_is_not_renewed_lapses():
    one = world()
    foresee(one.observation, told("a", 650.0), one.now_s)

    one.run(5)

    assert peak(one) == pytest.approx(560.0, rel=0.01)


def test_a_forecast_never_lowers_what_was_seen():
    one = world()

    foresee(one.observation, told("a", 300.0), one.now_s)

    assert peak(one) == pytest.approx(560.0, rel=0.01)


def test_a_job_never_seen_at_full_load_takes_the_forecast_in_place_of_the_nameplate():
    one = world(3)

    foresee(one.observation, told("a", 575.0, basis="fingerprint"), one.now_s)

    assert peak(one) == pytest.approx(575.0)
    assert one.observation.peaks.known[0]


def test_a_forecast_that_may_have_taken_our_limit_for_the_peak_is_left_aside():
    one = World(site(), [load("a", A, 690.0)], limit_w=np.full(32, 450.0))
    one.observation.add(1.0, one.columns(), one.limit_w)

    told_now = foresee(one.observation, told("a", 460.0), 1.0)

    assert not told_now
    assert peak(one) == MAX_W


@pytest.mark.parametrize("unfit", [{"confidence": 0.3}, {"basis": "nameplate"}, {"scope": "domain"}])
def test_what_is_doubted_or_rests_on_the_nameplate_is_left_aside(unfit):
    one = world(3)

    foresee(one.observation, told("a", 575.0, **unfit), one.now_s)

    assert peak(one) == MAX_W


def test_a_forecast_of_a_job_unknown_here_changes_nothing():
    one = world()

    assert not foresee(one.observation, told("elsewhere", 650.0), one.now_s)


def test_limits_act_one_iteration_period_ahead():
    one, other = world(), world()

    foresee(one.observation, told("a", 560.0, period_s=8.0, later_w=640.0), one.now_s)
    foresee(other.observation, told("a", 560.0, period_s=1.0, later_w=640.0), other.now_s)

    assert peak(one) == pytest.approx(640.0)
    assert peak(other) == pytest.approx(560.0, rel=0.01)


def test_a_stalled_job_is_woken_ahead_of_its_return_but_not_again_and_again():
    one = world(60)
    one.loads[0].paused = True
    one.run(20)
    stalled = bool(one.observation.stalls.stalled[0])

    first = foresee(one.observation, told("a", 560.0), one.now_s)
    awake = not one.observation.stalls.stalled[0]
    one.run(6)
    second = foresee(one.observation, told("a", 560.0), one.now_s)

    assert stalled
    assert first
    assert awake
    assert not second


def test_it_runs_with_no_forecaster_at_all():
    one = World(
        site(), [load(n, r, 640.0) for n, r in zip("abcd", (A, B, C, D), strict=True)], confidence=None
    )

    decision = one.run(60)

    assert decision.reactive
    assert (one.wall_w <= one.fleet.aim_w).all()
    assert np.isfinite(decision.wanted_w).all()
