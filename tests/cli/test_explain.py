"""`easyrider explain`: the leader's answer in sentences, over the API and on this machine."""

import json
from typing import Any

import pytest
from rich.console import Console

from easyrider_cli.explain_command import lines, show

BINDS = {"domain": "ups", "limit": "target", "price": 0.0021, "rise_w": 1234.4}
JOB: dict[str, Any] = {
    "job": "job-a",
    "gpu_count": 8,
    "mode": "enforce",
    "reason": "target:ups",
    "limit_w": 480.0,
    "demand_w": 610.0,
    "binds": [BINDS],
    "cost": {
        "slowdown": 0.06,
        "lost_boards": 0.48,
        "taken_board_w": 1040.0,
        "taken_wall_w": 1279.0,
        "speed_per_board_w": 0.0007,
    },
    "waiting_w": 12.0,
    "waiting_for": "room:ups",
    "frees": [
        {"act": "raise_target", "place": "ups", "by_w": 1234.4, "says": "or less drawn below it"},
        {"act": "wait", "place": "ups", "by_w": None, "says": "limits below it have to be lowered first"},
    ],
}


def test_a_job_is_told_what_binds_what_it_costs_what_a_watt_is_worth_and_what_frees_it() -> None:
    assert lines("job", JOB) == [
        "job-a on 8 GPUs, in enforce: target:ups; limit 480 W of the 610 W per GPU that it would draw",
        "costs 6.0% of its speed, 0.48 GPUs' worth; 1040 W taken off its GPUs, 1279 W at the wall; one more watt on "
        "each GPU gives 0.070% of speed",
        "binds: ups at its target (what is drawn); one more kW there is worth 2.100 GPUs' worth of speed; it binds no "
        "longer 1234 W higher",
        "a raise of 12 W per GPU waits: room:ups",
        "frees: raise target ups by 1234 W (or less drawn below it)",
        "frees: wait ups (limits below it have to be lowered first)",
    ]


def test_a_job_that_no_plan_has_counted_yet_is_told_without_a_cost() -> None:
    told = lines("job", JOB | {"binds": [], "cost": None, "limit_w": None, "demand_w": None, "frees": []})

    assert told[0].endswith("limit unknown of the unknown per GPU that it would draw")
    assert told[-1] == "nothing to free"


def test_a_domain_and_a_gpu_are_told() -> None:
    domain = {
        "domain": "ups",
        "kind": "ups",
        "observed_w": 28800.0,
        "target_w": 28800.0,
        "counted_w": 33000.0,
        "hard_limit_w": 36000.0,
        "binds": BINDS,
        "bound_jobs": 1,
        "lost_boards": 0.48,
        "lost_weighted": 0.96,
        "taken_wall_w": 1279.0,
        "jobs": [{"job": "job-a", "slowdown": 0.06, "taken_wall_w": 1279.0}],
        "frees": JOB["frees"],
    }
    gpu = {
        "gpu": "GPU-1",
        "node": "n1",
        "domains": ["pdu", "ups"],
        "mode": "enforce",
        "reason": "idle",
        **dict.fromkeys(("power_w", "requested_w", "enforced_w", "counted_w", "min_w", "max_w"), 200.0),
        "waiting_for": "",
        "job": None,
        "frees": [],
    }

    assert lines("domain", domain)[3] == "  job-a: 6.0% slower, 1279 W taken"
    assert "binds nobody" in lines("domain", domain | {"binds": None})
    assert lines("gpu", gpu)[0] == "GPU-1 on n1 below pdu below ups, in enforce: idle"


def test_machines_get_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    show("job", JOB, True, Console())

    assert json.loads(capsys.readouterr().out) == JOB
