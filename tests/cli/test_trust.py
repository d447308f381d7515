"""`easyrider trust`: how far each scope has come, in lines and as JSON."""

import json
from typing import Any

import pytest
from rich.console import Console

from easyrider_cli.trust_command import lines, show

STAGE: dict[str, Any] = {
    "days": 3.0,
    "trusted_ratio": 0.97,
    "job_hours": 140.0,
    "capped_job_hours": 7.0,
    "false_cap_ratio": 0.012,
    "peaks": 4,
    "missed_peaks": 1,
    "lead_s": 12.3,
    "foretold_slowdown": 0.021,
    "compared_job_hours": 0.0,
    "happened_slowdown": None,
    "slowdown_error": None,
}
SCOPE: dict[str, Any] = {
    "scope": "rack=pdu",
    "declared": "shadow",
    "mode": "shadow",
    "gpus": 16,
    "taken_back": None,
    "next": "pilot",
    "met": False,
    "checks": [
        {"name": "shadow_days", "seen": 3.0, "wanted": 7.0, "met": False},
        {"name": "least_lead_s", "seen": None, "wanted": 0.0, "met": True},
    ],
    "stages": {"shadow": STAGE},
}


def test_a_scope_is_told_with_what_it_has_shown_and_what_it_lacks() -> None:
    assert lines({"scopes": [SCOPE]}) == [
        "rack=pdu: 16 GPUs in shadow",
        "  seen so for 3.00 days: 7.00 of 140.00 job hours would have been slowed; peaks 4, missed 1, lead 12 s; "
        "false caps 1.2%, slowdown foretold 2.1%, happened unknown, off by unknown, forecasts trusted 97.0%",
        "  may not rise yet to pilot",
        "    - shadow days: 3 of 7",
        "    + least lead s: unknown of 0",
    ]


def test_one_that_was_taken_back_says_from_where_and_why() -> None:
    back = {"cause": "slowdown", "detail": "job a was slowed by 40% where 5% was foretold, for 600 s"}

    told = lines({"scopes": [SCOPE | {"declared": "enforce", "taken_back": back}]})

    assert told[1] == f"  taken back from enforce, slowdown: {back['detail']}"


def test_where_nothing_is_known_that_is_said() -> None:
    assert lines({"scopes": []}) == ["no scope is known yet: no GPU was heard"]


def test_for_machines_it_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    show({"scopes": [SCOPE]}, True, Console())

    assert json.loads(capsys.readouterr().out) == {"scopes": [SCOPE]}
