"""The figures of a demonstration: who said what, and how people read it."""

import io
import json

from rich.console import Console

from easyrider_cli.demo import Demonstration
from easyrider_cli.report import as_json, table


def told(shown: Demonstration) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(table(as_json(shown)))
    return out.getvalue()


def test_the_judged_figures_of_the_live_run_are_the_referees_word(shown: Demonstration) -> None:
    live = as_json(shown)["with"]

    assert {name: live[name] for name in shown.live.referee} == shown.live.referee


def test_acks_and_waits_are_the_journals_word(shown: Demonstration) -> None:
    live = as_json(shown)["with"]

    assert (live["acks"], live["raises_that_waited"]) == (40, 3)


def test_every_run_says_what_each_job_lost_and_where_its_power_came_from(shown: Demonstration) -> None:
    report = as_json(shown)

    for run in ("without", "static", "with"):
        jobs = {job["id"]: job for job in report[run]["jobs"]}
        assert sorted(jobs) == ["llm-16", "recorded-1", "recorded-2"]
        assert jobs["llm-16"]["source"] == "synthetic"
        assert jobs["recorded-1"]["source"].startswith("recorded:")
        assert all(0 <= job["work_lost_pct"] <= 100 for job in jobs.values())


def test_trips_are_counted_and_listed(shown: Demonstration) -> None:
    without = as_json(shown)["without"]

    assert without["trips"] == len(without["trip_list"]) >= 1
    assert without["trip_list"][0]["domain"] == "ups"


def test_the_report_is_json_without_a_number_that_json_has_not(shown: Demonstration) -> None:
    report = as_json(shown)

    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_the_table_fits_a_terminal_and_tells_what_became_of_the_supply(shown: Demonstration) -> None:
    lines = told(shown)

    assert "ups trips at" in lines
    assert lines.count("stays up") == 2
    assert "…" not in lines


def test_energy_over_a_limit_is_that_of_the_worst_domain_not_their_sum(shown: Demonstration) -> None:
    over_j = as_json(shown)["without"]["over_hard_j"]

    assert f"{max(over_j.values()) / 1e3:.1f} kJ" in told(shown)


def test_what_the_referee_does_not_know_is_not_zero(shown: Demonstration) -> None:
    report = as_json(shown)
    report["with"] |= {"sum_rule_violations": None, "trips": None}
    out = io.StringIO()
    Console(file=out, width=80).print(table(report))

    assert out.getvalue().count("unknown") == 2
