"""A plan that goes without forecasts says why."""

from wired_site import Wired

from easyrider.messages import HorizonForecast, Plan, SeriesForecast
from easyrider_policy.core.trust import Trust

BOARDS = {"a": 8, "b": 2}


def series(job: str, confidence: float, *reasons: str) -> SeriesForecast:
    ahead = HorizonForecast(horizon_s=10.0, mean_w=1.0, peak_w=1.0, peak_q90_w=1.0, peak_q99_w=1.0)
    return SeriesForecast(scope="job", id=job, gpu_count=1, draw=(ahead,), demand=(ahead,), period_s=None, model="ets",
                          confidence=confidence, reasons=reasons, censored=0.0, basis="observed")  # fmt: skip


def heard(*told: SeriesForecast) -> Trust:
    trust = Trust()
    trust.heard(told, BOARDS, minted_s=10.0)
    return trust


def test_the_job_that_weighs_most_gives_its_reasons() -> None:
    trust = heard(series("a", 0.3, "young: 5 s of data", "alias suspected"), series("b", 0.1, "silent"))

    assert trust.doubt(BOARDS, 11.0) == "job a, confidence 0.30: young: 5 s of data; alias suspected"


def test_old_forecasts_no_jobs_and_a_confidence_that_came_back_are_told_apart() -> None:
    trust = heard(series("a", 0.9), series("b", 0.9))

    assert "not yet for long enough" in trust.doubt(BOARDS, 11.0)
    assert trust.doubt(BOARDS, 20.0) == "no fresh forecast"
    assert trust.doubt({}, 11.0) == "no job runs that could be forecast"


def test_reasons_without_end_are_cut() -> None:
    assert len(heard(series("a", 0.1, "x" * 5000)).doubt(BOARDS, 11.0)) <= 300


async def test_a_reactive_plan_carries_the_reason(led: Wired) -> None:
    plan = led.said(Plan)[-1]

    assert plan.reactive
    assert plan.reactive_why == "no fresh forecast"
