"""The picture of one fingerprint: an iteration, the start, and speed under limits."""

from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from easyrider.fingerprints import STARTUP_STEP_S, Fingerprint
from easyrider_cli.plots import BLUE, GREEN, ORANGE, RED
from easyrider_cli.words_drawn import words_as_said

_DPI = 120


def drawn(one: Fingerprint) -> bytes:
    """A PNG. Watts are of one GPU; what was never seen is said in its place."""
    with words_as_said():
        return _drawn(one)


def _drawn(one: Fingerprint) -> bytes:
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    iteration, start, speed = figure.subplots(1, 3)
    _iteration(iteration, one)
    _start(start, one)
    _speed(speed, one)
    for axes in (iteration, start):
        axes.axhline(one.max_w, color="black", linewidth=1.0, linestyle=":")
        axes.set_ylim(0, 1.05 * one.max_w)
        axes.set_ylabel("power of one GPU (W)")
    figure.suptitle(_title(one), fontsize=10, wrap=True)
    FigureCanvasAgg(figure)
    held = BytesIO()
    figure.savefig(held, format="png", dpi=_DPI)
    return held.getvalue()


def _iteration(axes: Any, one: Fingerprint) -> None:
    axes.set_title("One iteration", loc="left", fontweight="bold")
    axes.set_xlabel("time (s)")
    if one.period_s is not None and one.shape_w:
        at_s = np.arange(len(one.shape_w) + 1) / len(one.shape_w) * one.period_s
        axes.step(at_s, [*one.shape_w, one.shape_w[-1]], where="post", color=BLUE)
    else:
        _unknown(axes, "no period was seen")
    axes.axhline(one.mean_w, color=GREEN, linestyle="--", linewidth=1.0, label=f"mean {one.mean_w:.0f} W")
    if one.peak_w is not None:
        axes.axhline(one.peak_w, color=RED, linestyle="-.", linewidth=1.0, label=f"peak {one.peak_w:.0f} W")
    axes.legend(loc="lower right", fontsize=8)


def _start(axes: Any, one: Fingerprint) -> None:
    axes.set_title("From its start on", loc="left", fontweight="bold")
    axes.set_xlabel("time (s)")
    seen = [float("nan") if watts is None else watts for watts in one.startup.mean_w]
    if seen:
        axes.step(np.arange(len(seen)) * STARTUP_STEP_S, seen, where="post", color=ORANGE)
    else:
        _unknown(axes, "no start was seen")
    if one.startup.settles_s is not None:
        axes.axvline(one.startup.settles_s, color="black", linewidth=1.0, linestyle=":")


def _speed(axes: Any, one: Fingerprint) -> None:
    axes.set_title("Speed under limits that bound", loc="left", fontweight="bold")
    axes.set_xlabel("limit (% of the device maximum)")
    axes.set_ylabel("speed (% of running free)")
    axes.set_xlim(0, 105)
    axes.set_ylim(0, 110)
    if one.points:
        axes.plot(
            [100 * point.limit_share for point in one.points],
            [100 * point.speed_ratio for point in one.points],
            color=BLUE,
            marker="o",
        )
    else:
        _unknown(axes, "no limit was seen to bind")


def _unknown(axes: Any, why: str) -> None:
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="grey")


def _title(one: Fingerprint) -> str:
    of, pauses = one.type, one.pauses
    what = " ".join(part for part in (of.name, of.image, of.configuration) if part)
    checkpoints = (
        ""
        if pauses.cadence_s is None
        else f", a checkpoint of {pauses.long_s or 0:.0f} s every {pauses.cadence_s:.0f} s"
    )
    stalls = "" if pauses.stalls_per_hour is None else f", {pauses.stalls_per_hour:.0f} stalls an hour"
    hidden = f", {100 * one.hidden:.0f} % of samples hidden by limits" if one.hidden > 0.005 else ""
    boards = f"{of.gpu_count} x {of.gpu_model or 'GPU'}"
    seen = f"{one.runs} run{'s' if one.runs != 1 else ''}, {one.seconds / 60:.0f} min"
    return f"{what}, {boards}, variant {one.variant}: {seen}{checkpoints}{stalls}{hidden}"
