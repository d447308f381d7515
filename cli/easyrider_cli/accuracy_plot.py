"""The picture of one job's forecasts: the last minutes beside what was said of them, error and bounds by horizon."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from easyrider.accuracy import Accuracy, Horizon
from easyrider_cli.plots import BLUE, GREEN, ORANGE, RED

_DPI = 120
_SIDES = (("demand", BLUE, "o", 9), ("draw", GREEN, "s", 4))
"""Where both are the same, which they are as long as no limit binds, the smaller mark lies within the larger one."""


def draw(one: Accuracy, path: Path) -> None:
    """Watts are of one GPU; what was never judged is said in its place. Raises `OSError`."""
    figure = Figure(figsize=(14, 4.4), layout="constrained")
    past, error, held = figure.subplots(1, 3, width_ratios=(2, 1, 1))
    _past(past, one)
    _error(error, one)
    _held(held, one)
    what = f"{one.type_key}, " if one.type_key else ""
    figure.suptitle(
        f"{one.job}: {what}{one.gpu_count} GPUs, region {one.region}, {one.seconds / 60:.0f} min; "
        f"{one.rises.foretold} of {one.rises.seen} rises foretold, {one.rises.false} false",
        fontsize=10, wrap=True, parse_math=False,
    )  # fmt: skip
    FigureCanvasAgg(figure)
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png", dpi=_DPI)
    part.replace(path)


def _past(axes: Any, one: Accuracy) -> None:
    axes.set_title("The last minutes: said ten seconds ahead, and what came", loc="left", fontweight="bold")
    axes.set_xlabel("time before the newest point (s)")
    axes.set_ylabel("draw of one GPU (W)")
    if not one.trail:
        _unknown(axes, "nothing was judged yet")
        return
    at_s = one.trail_step_s * (np.arange(len(one.trail)) - len(one.trail) + 1)
    for label, colour, style, watts in (
        ("mean seen", "black", "-", [point.seen_mean_w for point in one.trail]),
        ("mean said", BLUE, "--", [point.mean_w for point in one.trail]),
        ("peak seen", ORANGE, "-", [point.seen_peak_w for point in one.trail]),
        ("0.99 bound said", RED, "-.", [point.q99_w for point in one.trail]),
    ):
        axes.step(at_s, _gaps(watts), where="mid", color=colour, linestyle=style, label=label, linewidth=1.3)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower left", fontsize=8)


def _error(axes: Any, one: Accuracy) -> None:
    axes.set_title("Error of the mean, whole run", loc="left", fontweight="bold")
    axes.set_ylabel("mean absolute error (W)")
    _by_horizon(axes, one, "{}", lambda each: each.run.mae_w, "-")
    _by_horizon(
        axes, one, "{}, last second",
        lambda each: None if not each.run.mase or each.run.mae_w is None else each.run.mae_w / each.run.mase, ":",
    )  # fmt: skip
    axes.set_ylim(bottom=0)


def _held(axes: Any, one: Accuracy) -> None:
    axes.set_title("0.99 bound that held", loc="left", fontweight="bold")
    axes.set_ylabel("share of windows (%)")
    _by_horizon(
        axes, one, "{}", lambda each: None if each.run.coverage99 is None else 100 * each.run.coverage99, "-"
    )
    axes.axhline(99, color="black", linewidth=1.0, linestyle=":")


def _by_horizon(
    axes: Any, one: Accuracy, label: str, value: Callable[[Horizon], float | None], style: str
) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("horizon (s)")
    drawn = False
    for side, colour, marker, size in _SIDES:
        horizons: tuple[Horizon, ...] = getattr(one, side)
        numbers = _gaps(value(each) for each in horizons)
        if np.isfinite(numbers).any():
            at_s = [each.horizon_s for each in horizons]
            axes.plot(
                at_s, numbers, color=colour, marker=marker, markersize=size, fillstyle="none", linestyle=style,
                label=label.format(side),
            )  # fmt: skip
            axes.set_xticks(at_s, [str(each) for each in at_s])
            drawn = True
    axes.minorticks_off()
    if drawn:
        axes.legend(fontsize=8)
    elif not axes.lines:
        _unknown(axes, "nothing was judged yet")


def _gaps(numbers: Iterable[float | None]) -> list[float]:
    return [float("nan") if number is None else number for number in numbers]


def _unknown(axes: Any, why: str) -> None:
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="grey")
