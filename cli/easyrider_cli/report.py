"""The demonstration's figures, for machines as JSON and for people as a table."""

from typing import Any

from rich.table import Table

from easyrider_cli.demo import Demonstration, Reference


def as_json(shown: Demonstration) -> dict[str, Any]:
    """Everything the demonstration found; the keys `without`, `static` and `with` hold one run each."""
    return {
        "seed": shown.seed,
        "seconds": shown.seconds,
        "notes": list(shown.world.notes),
        "domains": {
            d.id: {"rating_w": d.rating_w, "hard_limit_w": d.hard_limit_w, "target_w": d.target_w}
            for d in shown.world.domains
        },
        "without": _reference(shown.without),
        "static": _reference(shown.static),
        "with": _live(shown),
    }


def _reference(run: Reference) -> dict[str, Any]:
    summary = run.outcome.summary()
    return {**summary, "cap_w": run.cap_w, "trip_list": summary["trips"], "trips": len(summary["trips"])}


def _live(shown: Demonstration) -> dict[str, Any]:
    live = shown.live
    return {
        **{key: value for key, value in live.outcome.items() if key != "trips"},
        **live.referee,
        "acks": live.journal.get("ack", 0),
        "raises_that_waited": live.journal.get("raise_waited", 0),
        "journal": live.journal,
    }


def table(report: dict[str, Any]) -> Table:
    """The three runs side by side."""
    without, static, live = report["without"], report["static"], report["with"]
    shown = Table(title=f"One rack, three runs (seed {report['seed']}, {report['seconds']:.0f} s)")
    for heading in ("", "without control", "static cap", "with EasyRider"):
        shown.add_column(heading, justify="left" if not heading else "right")
    shown.add_row("trips", *(str(run["trips"]) for run in (without, static, live)))
    shown.add_row("work lost", *(f"{run['work_lost_pct']:.1f} %" for run in (without, static, live)))
    shown.add_row("over hard limit", *(f"{_over_kj(run):.1f} kJ" for run in (without, static, live)))
    shown.add_row("sum rule violations", "-", "-", str(live["sum_rule_violations"]))
    shown.add_row("limits out of range", "-", "-", str(live["limit_out_of_range"]))
    shown.add_row("late commands applied", "-", "-", str(live["late_commands_applied"]))
    shown.add_row("limits changed", "-", "-", str(live["limits_changed"]))
    shown.add_row("acks", "-", "-", str(live["acks"]))
    shown.add_row("raises that waited", "-", "-", str(live["raises_that_waited"]))
    return shown


def _over_kj(run: dict[str, Any]) -> float:
    return float(sum(run["over_hard_j"].values())) / 1000.0
