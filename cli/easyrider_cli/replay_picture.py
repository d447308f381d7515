"""One picture of a replay: the power of its tightest domain above, the limits of its jobs below."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from easyrider.messages import Plan
from easyrider_cli.plots import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from easyrider_cli.replay_engine import Told
from easyrider_cli.replay_report import Report

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
_MOST_JOBS = 6


def draw(told: Told, report: Report, path: Path) -> None:
    """Write a PNG; lines as recorded are full, as replayed dashed. Jobs beyond six are left out."""
    figure = Figure(figsize=(10, 7), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    domain = _tightest(report)
    for label, plans, style, colour in (
        ("recorded", told.recorded, "-", BLUE),
        ("replayed", told.replayed, "--", ORANGE),
    ):
        found = [(at_s, d) for at_s, plan in plans for d in plan.domains if d.domain == domain]
        t_s = [at_s for at_s, _d in found]
        drawn_kw = [float("nan") if d.observed_w is None else d.observed_w / 1e3 for _at, d in found]
        above.plot(t_s, drawn_kw, style, color=colour, label=f"draws, {label}")
        target_kw = [d.target_w / 1e3 for _at, d in found]
        above.plot(t_s, target_kw, style, color=RED, lw=1, label=f"target, {label}")
    above.set_ylabel(f"{domain}, wall kW")
    above.legend(loc="lower right", fontsize="small", ncols=2)
    names = [job.job for job in sorted(report.jobs, key=lambda job: -job.gpu_count)[:_MOST_JOBS]]
    for name, colour in zip(names, _COLOURS, strict=False):
        for label, plans, style in (("recorded", told.recorded, "-"), ("replayed", told.replayed, "--")):
            t_s, limit_w = _limits(plans, name)
            below.plot(t_s, limit_w, style, color=colour, label=f"{name}, {label}", drawstyle="steps-post")
    below.axvline(report.compared_from_s, color="grey", lw=0.8)
    below.set_ylabel("limit a GPU, W")
    below.set_xlabel(f"s since {report.began}; compared from the grey line on")
    if names:
        below.legend(loc="lower right", fontsize="small", ncols=2)
    above.set_title(f"As recorded, and replayed through {report.rules}", fontsize="medium")
    figure.savefig(path)


def _limits(plans: list[tuple[float, Plan]], name: str) -> tuple[list[float], list[float]]:
    found = [(at_s, job.limit_w) for at_s, plan in plans for job in plan.jobs if job.job == name]
    return [at_s for at_s, _w in found], [watts for _at, watts in found]


def _tightest(report: Report) -> str:
    """The domain that came nearest to its target, or went furthest above it."""

    def share(index: int) -> float:
        side = report.domains[index].replayed
        if side.highest_w is None or not side.mean_target_w:
            return 0.0
        return side.highest_w / side.mean_target_w

    best = max(range(len(report.domains)), key=share, default=None)
    return "" if best is None else report.domains[best].domain
