"""Dry runs rest on what the leader knows of each job: its peak, and how much of that it draws as a mean."""

import copy
from typing import Any

import pytest
from site_rules import DOCUMENT, STATE

from easyrider.tree import Rules
from easyrider.tree_reader import read_document
from easyrider_policy_api.core.dry_run import compare
from easyrider_policy_api.core.snapshot import Snapshot


def then(**pdu: float) -> Rules:
    changed = copy.deepcopy(DOCUMENT)
    changed["domains"][1] |= pdu
    return read_document(changed, "test")


def seen(duty_ratio: Any) -> Snapshot:
    state = copy.deepcopy(STATE)
    for job in state["jobs"]:
        job["duty_ratio"] = duty_ratio
    return Snapshot.read(state)


def slowdowns(told: dict[str, Any]) -> list[float]:
    return [job["slowdown"][1] for job in told["jobs"]]


def pdu_of(told: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in told["domains"] if row["domain"] == "pdu")


def test_a_job_that_rests_between_its_peaks_loses_less_by_a_target_that_is_a_mean() -> None:
    steady = compare(then(), then(rating_w=6000.0), seen(1.0), "local")
    pulsing = compare(then(), then(rating_w=6000.0), seen(0.8), "local")

    assert all(0.0 <= some < more for some, more in zip(slowdowns(pulsing), slowdowns(steady), strict=True))
    assert pdu_of(pulsing)["drawn_w"][0] < pdu_of(steady)["drawn_w"][0]
    assert pdu_of(pulsing)["drawn_w"][1] <= pdu_of(pulsing)["target_w"][1]


def test_where_the_target_is_no_mean_the_peak_counts_whole() -> None:
    quick = {"target_window_s": 1.0, "rating_w": 6000.0}

    steady = compare(then(), then(**quick), seen(1.0), "local")
    pulsing = compare(then(), then(**quick), seen(0.8), "local")

    assert slowdowns(pulsing) == slowdowns(steady)
    assert pdu_of(pulsing)["drawn_w"][1] == pdu_of(steady)["drawn_w"][1]


@pytest.mark.parametrize("unknown", [None, "much", -0.5, float("nan"), True, 7.0])
def test_a_mean_that_is_not_known_counts_as_the_peak(unknown: Any) -> None:
    assert slowdowns(compare(then(), then(rating_w=6000.0), seen(unknown), "local")) == slowdowns(
        compare(then(), then(rating_w=6000.0), seen(1.0), "local")
    )


def test_a_job_that_draws_nothing_spoils_no_figure() -> None:
    told = compare(then(), then(rating_w=6000.0), seen(0.0), "local")

    assert pdu_of(told)["difference_w"] is not None
    assert all(0.0 <= some < 0.2 for some in slowdowns(told))  # its peaks still count by the hard limit


def test_it_says_what_it_takes_jobs_for() -> None:
    told = compare(then(), then(), seen(1.0), "local")

    assert any("the peak that is known" in line and "ten seconds" in line for line in told["limits"])
