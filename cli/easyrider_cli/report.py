"""The demonstration's figures, for machines as JSON and for people as a table."""

from typing import Any

from rich.table import Table

from easyrider_cli.demo import Demonstration, Reference


def as_json(shown: Demonstration) -> dict[str, Any]:
    """Everything the demonstration found; the keys `without`, `static` and `with` hold one run each.

    Of the run `with`, trips, violations, ranges, late commands, changes and joules are the referee's word; acks
    and raises that waited the coordinator's journal; work and jobs the twin's. The other two are the twin's.
    """
    return {
        "seed": shown.world.seed,
        "seconds": shown.seconds,
        "notes": list(shown.world.notes),
        "domains": {
            d.id: {"rating_w": d.rating_w, "hard_limit_w": d.hard_limit_w, "target_w": d.target_w}
            for d in shown.world.domains
        },
        "failures": [
            {"domain": f.domain, "modules": f.modules, "at_s": f.at_s, "for_s": f.for_s}
            for f in shown.world.failures
        ],
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
        **live.outcome,
        "trip_list": live.outcome["trips"],
        **live.referee,
        "acks": live.journal.get("ack", 0),
        "raises_that_waited": live.journal.get("raise_waited", 0),
        "journal": live.journal,
    }


def table(report: dict[str, Any]) -> Table:
    """The three runs side by side."""
    runs = [report[name] for name in ("without", "static", "with")]
    shown = Table(title=f"One rack, three runs (seed {report['seed']}, {report['seconds']:.0f} s)")
    for heading in ("", "no control", "static cap", "EasyRider"):
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    shown.add_row("limit per GPU", "none", f"{report['static']['cap_w']:.0f} W", "planned")
    shown.add_row("supply", *(_supply(run) for run in runs))
    shown.add_row("work lost", *(f"{run['work_lost_pct']:.1f} %" for run in runs))
    for number, job in enumerate(report["static"]["jobs"]):
        lost = (f"{run['jobs'][number]['work_lost_pct']:.1f} %" for run in runs)
        shown.add_row(f"  {job['id']}, {job['source'].split(':')[0]}", *lost)
    shown.add_row("energy over hard limit", *(f"{_over_kj(run):.1f} kJ" for run in runs))
    live = report["with"]
    for name, key in _JUDGED:
        shown.add_row(name, "-", "-", "unknown" if live[key] is None else str(live[key]))
    return shown


_JUDGED = (
    ("sum rule violations", "sum_rule_violations"),
    ("limits out of range", "limit_out_of_range"),
    ("late commands applied", "late_commands_applied"),
    ("limits changed", "limits_changed"),
    ("acks", "acks"),
    ("raises that waited", "raises_that_waited"),
)


def _supply(run: dict[str, Any]) -> str:
    if not run["trips"]:
        return "stays up" if run["trips"] == 0 else "unknown"
    first = run["trip_list"][0]
    return f"{first['domain']} trips at {first['t_s']:.0f} s"


def _over_kj(run: dict[str, Any]) -> float:
    """Of the worst domain: domains below each other carry the same watts."""
    return float(max(run["over_hard_j"].values())) / 1000.0
