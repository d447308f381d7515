"""Plans as people read them, and as machines do."""

import io
import json

import msgspec
import pytest
from rich.console import Console

from easyrider.messages import DomainPlan, JobPlan, Plan
from easyrider.messages.plans import DemandPlan
from easyrider_cli.plan_command import Show, picture


def plan(seq: int = 7, **more: object) -> Plan:
    ups = DomainPlan(
        domain="ups", hard_limit_w=26e3, target_w=21e3, observed_w=None, counted_w=20e3, budget_w=12e3,
        unmanaged_w=0.0, closed=True, uncontrolled_gpus=0, price=0.1, missing_w=0.0,
    )  # fmt: skip
    job = JobPlan(
        job="llm", mode="enforce", gpu_count=16, limit_w=412.3, demand_w=640.0, slowdown=0.125,
        reason="target:ups", stalled=False, waiting_w=35.0,
    )  # fmt: skip
    base = Plan(
        region="local", tree="site", tree_version=1, epoch=3, seq=seq, t_ns=1, mono_ns=1, cause="tick", leading=True,
        domains=(ups,), jobs=(job,), idle_gpus=2, lowers=1, raises=0, raises_waiting=4, silent_nodes=("node-3",),
        reactive=False, gap=0.01, plan_ms=2.0,
    )  # fmt: skip
    return msgspec.structs.replace(base, **more)


def text(shown: Plan, age_s: float = 0.0) -> str:
    out = io.StringIO()
    Console(file=out, width=110).print(picture(shown, age_s))
    return out.getvalue()


def test_every_job_has_its_limit_and_the_reason_of_it() -> None:
    line = next(line for line in text(plan()).splitlines() if line.startswith("llm"))

    for word in ("16", "412", "640", "12.5%", "enforce", "target:ups, 35 W wait"):
        assert word in line


def test_the_rules_are_named_by_version_and_document_where_the_coordinator_says_which() -> None:
    assert "rules site version 1 (abcdef012345)" in text(plan(rules_sha256="abcdef0123456789" * 4))
    assert "version 1\n" in text(plan()).replace(" \n", "\n")


def test_a_power_that_is_not_known_is_said_so() -> None:
    line = next(line for line in text(plan()).splitlines() if line.startswith("ups"))

    assert "unknown" in line
    assert "26.00" in line


def test_silent_nodes_and_waiting_raises_are_named() -> None:
    assert "raises waiting 4" in text(plan())
    assert "silent nodes: node-3" in text(plan())


def test_a_domain_that_cannot_be_kept_says_by_how_much() -> None:
    over = msgspec.structs.replace(plan().domains[0], missing_w=1500.0, closed=False, uncontrolled_gpus=4)

    shown = text(plan(domains=(over,)))

    assert "INFEASIBLE by 1.50 kW" in shown
    assert "4 GPUs uncontrolled" in shown


def test_an_old_plan_says_its_age() -> None:
    assert "said 12 s ago" in text(plan(), 12.0)
    assert "ago" not in text(plan(), 0.4)


def test_for_machines_each_plan_is_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Show(Console(file=io.StringIO()), as_json=True) as show:
        show.take(plan(1))
        show.take(plan(2))

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["seq"] for each in told] == [1, 2]
    assert told[0]["jobs"][0]["reason"] == "target:ups"
    assert show.plans == 2


def test_a_plan_without_forecasts_says_why() -> None:
    shown = " ".join(text(plan(reactive=True, reactive_why="confidence 0.2")).split())

    assert "reactive: forecasts are not trusted now (confidence 0.2)" in shown
    assert "reactive" not in text(plan(reactive_why="confidence 0.2"))


def test_a_running_interval_says_what_its_cap_saves_and_costs() -> None:
    window = DemandPlan(
        id="site", domain="ups", left_s=412.0, mean_w=34e3, billed_w=31e3, aim_w=31e3, ceiling_w=28e3,
        saved_value=42.0, cost_value=3.5, lost_value=0.25, currency="EUR", why="it pays",
    )  # fmt: skip
    free = msgspec.structs.replace(
        window, aim_w=None, ceiling_w=None, billed_w=None, why="the peak is not known"
    )

    assert "cap 28.00 kW for 31.00 kW saves 42.00, costs 3.50 EUR" in " ".join(
        text(plan(demands=(window,))).split()
    )
    assert "nothing held back: the peak is not known" in " ".join(text(plan(demands=(free,))).split())


def test_a_breaker_that_would_open_says_when_and_what_is_lost_stands_beside_its_domain() -> None:
    hot = msgspec.structs.replace(plan().domains[0], heat=0.4, time_to_trip_s=37.2, losses=("battery",))
    shown = text(plan(domains=(hot,)))

    assert "opens in 37 s" in shown
    assert "in force: battery" in shown
