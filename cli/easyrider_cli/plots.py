"""Two pictures of a demonstration: power against limits, and limits beside the work they cost.

Callers fill the records below with what was measured; nothing is computed here but ten-second means.
Colours are Okabe and Ito's, told apart by every kind of colour vision; line styles say the same again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
BLUE, ORANGE, RED, GREEN, PURPLE, SKY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
_RUN_COLOURS = (RED, ORANGE, BLUE)
_JOB_STYLES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PURPLE, ":"), (SKY, "-"), (RED, "--"))
_DPI = 120
_MEAN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainRun:
    """Wall power of one domain in one run; arrays share one shape, spaced evenly. `trips_s`: it opened then."""

    label: str
    t_s: Floats
    wall_w: Floats
    hard_w: Floats
    target_w: Floats
    trips_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A part of the supply was missing from `begin_s` until `end_s`."""

    label: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerPicture:
    """Runs of the same rack, in the order to be shown; `sources` says what is recorded and what synthetic."""

    domain: str
    runs: tuple[DomainRun, ...]
    outages: tuple[Outage, ...]
    sources: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTrack:
    """One job under EasyRider: its limit per GPU over time (mean over its GPUs) and the share of work done.

    `limit_t_s`, `limit_w`: one shape. `work_t_s`, `done_pct`: one shape, 100 = as much as uncapped by then.
    `source`: "recorded", "synthetic", or more in a few words.
    """

    job: str
    source: str
    gpus: int
    limit_t_s: Floats
    limit_w: Floats
    work_t_s: Floats
    done_pct: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWork:
    """Work done by the end of one run in per cent of uncapped work, by job; `total_pct` weighted by GPUs."""

    label: str
    done_pct: dict[str, float]
    total_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPicture:
    """Limits and work of one run over time, beside what every run had done at its end."""

    jobs: tuple[JobTrack, ...]
    runs: tuple[RunWork, ...]
    outages: tuple[Outage, ...]
    rating_w: float
    sources: str


def draw_power(picture: PowerPicture, path: Path) -> None:
    """One panel a run, same axes: power of 0.1 s and its ten-second mean, both limits, outages, trips."""
    figure = Figure(figsize=(11, 2.4 * len(picture.runs) + 1.4), layout="constrained")
    panels = figure.subplots(len(picture.runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    highest_w = max(
        float(np.max([run.wall_w.max(initial=0), run.hard_w.max(initial=0)])) for run in picture.runs
    )
    for run, panel, colour in zip(picture.runs, panels, _cycle(_RUN_COLOURS), strict=False):
        panel.plot(run.t_s, run.wall_w / 1e3, color=colour, alpha=0.35, linewidth=0.6)
        panel.plot(run.t_s, _trailing_mean(run) / 1e3, color=colour, linewidth=1.8, label="power, 10 s mean")
        panel.plot(run.t_s, run.hard_w / 1e3, color="black", linewidth=1.6, label="hard limit")
        panel.plot(run.t_s, run.target_w / 1e3, color="black", linewidth=1.2, linestyle="--", label="target")
        _shade(panel, picture.outages)
        for trip_s in run.trips_s:
            panel.axvline(trip_s, color="black", linewidth=1.0, linestyle=":")
            panel.plot(
                [trip_s], [highest_w / 1e3], marker="X", markersize=13, color=RED, markeredgecolor="black"
            )
            panel.annotate(
                f" trips at {trip_s:.0f} s", (trip_s, highest_w / 1e3), va="center", xytext=(9, 0),
                textcoords="offset points", fontsize=11, fontweight="bold",
            )  # fmt: skip
        panel.set_title(run.label if run.trips_s else f"{run.label}: stays up", loc="left", fontweight="bold")
        panel.set_ylabel("wall power (kW)")
        panel.set_ylim(0, 1.12 * highest_w / 1e3)
        panel.grid(alpha=0.25)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    panels[-1].set_xlabel("time (s)")
    panels[-1].set_xlim(0, max(float(run.t_s.max(initial=1.0)) for run in picture.runs))
    figure.suptitle(f"{picture.domain}: power against its limits. {picture.sources}", fontsize=11, wrap=True)
    _write(figure, path)


def draw_work(picture: WorkPicture, path: Path) -> None:
    """Left: limit per GPU and work done of every job over time. Right: work done by the end, by job and run."""
    figure = Figure(figsize=(13, 6.8), layout="constrained")
    panels = figure.subplot_mosaic([["limits", "bars"], ["work", "bars"]], width_ratios=[1.7, 1])
    limits, work, bars = panels["limits"], panels["work"], panels["bars"]
    for job, (colour, style) in zip(picture.jobs, _cycle(_JOB_STYLES), strict=False):
        line = {"color": colour, "linestyle": style, "linewidth": 1.7}
        limits.plot(job.limit_t_s, job.limit_w, drawstyle="steps-post", label=_name(job), **line)
        work.plot(job.work_t_s, job.done_pct, **line)
    limits.axhline(picture.rating_w, color="black", linewidth=1.0, linestyle=":")
    limits.annotate("rating", (0.0, picture.rating_w), va="bottom", fontsize=8)
    limits.set_ylim(0, 1.15 * picture.rating_w)
    limits.set_ylabel("limit per GPU (W)")
    limits.set_title("Limits under EasyRider", loc="left", fontweight="bold")
    work.axhline(100, color="black", linewidth=1.0, linestyle=":")
    lowest = min((float(np.nanmin(job.done_pct, initial=100.0)) for job in picture.jobs), default=100.0)
    work.set_ylim(max(0.0, min(lowest - 5, 90.0)), 103)
    work.set_ylabel("work done so far (% of uncapped)")
    work.set_xlabel("time (s)")
    work.set_title("What they cost", loc="left", fontweight="bold")
    work.sharex(limits)
    work.set_xlim(0, max((float(job.work_t_s.max(initial=1.0)) for job in picture.jobs), default=1.0))
    for panel in (limits, work):
        _shade(panel, picture.outages)
        panel.grid(alpha=0.25)
    _draw_bars(bars, picture)
    handles, labels = limits.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=8, title="jobs")
    handles, labels = bars.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=3, fontsize=8, title="runs")
    figure.suptitle(f"Limits and work done. {picture.sources}", fontsize=11, wrap=True)
    _write(figure, path)


def _draw_bars(panel: Any, picture: WorkPicture) -> None:
    names = [job.job for job in picture.jobs]
    places = np.arange(len(names) + 1)
    height = 0.8 / max(len(picture.runs), 1)
    hatches = ("///", "...", "")
    styles = _cycle(tuple(zip(_RUN_COLOURS, hatches, strict=True)))
    for number, (run, (colour, hatch)) in enumerate(zip(picture.runs, styles, strict=False)):
        done = [run.total_pct, *(run.done_pct.get(name, np.nan) for name in names)]
        offset = (number - (len(picture.runs) - 1) / 2) * height
        drawn = panel.barh(
            places + offset, done, height, color=colour, hatch=hatch, label=run.label, edgecolor="white"
        )
        panel.bar_label(
            drawn, [f"{value:.0f}" if np.isfinite(value) else "" for value in done], fontsize=8, padding=2
        )
    panel.set_yticks(places, ["all jobs", *names])
    panel.invert_yaxis()
    panel.set_xlim(0, 112)
    panel.set_xlabel("work done by the end (% of uncapped)")
    panel.set_title("Three runs of the same jobs", loc="left", fontweight="bold")
    panel.grid(alpha=0.25, axis="x")


def _shade(panel: Any, outages: Sequence[Outage]) -> None:
    for outage in outages:
        panel.axvspan(outage.begin_s, outage.end_s, color="#999999", alpha=0.18, linewidth=0)
        for at_s, word in ((outage.begin_s, f" {outage.label}"), (outage.end_s, " restored")):
            panel.axvline(at_s, color="#666666", linewidth=0.8)
            panel.annotate(
                word, (at_s, 0.02), xycoords=("data", "axes fraction"), rotation=90, va="bottom", fontsize=8,
                color="#333333",
            )  # fmt: skip


def _trailing_mean(run: DomainRun) -> Floats:
    if len(run.t_s) < 2:
        return run.wall_w
    width = max(1, round(_MEAN_S / float(np.median(np.diff(run.t_s)))))
    total = np.concatenate(([0.0], np.cumsum(run.wall_w)))
    last = np.arange(1, len(run.wall_w) + 1)
    first = np.maximum(last - width, 0)
    return np.asarray((total[last] - total[first]) / (last - first), dtype=np.float64)


def _name(job: JobTrack) -> str:
    return f"{job.job}, {job.gpus} GPUs, {job.source}"


def _cycle(styles: tuple[Any, ...]) -> Any:
    while True:
        yield from styles


def _write(figure: Figure, path: Path) -> None:
    """Written beside and renamed, so that a reader never sees half a picture."""
    FigureCanvasAgg(figure)
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png", dpi=_DPI)
    part.replace(path)
