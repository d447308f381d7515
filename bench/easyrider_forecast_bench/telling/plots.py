"""Pictures: errors of every model by horizon, family by family, and how the bounds held."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from easyrider_forecast_bench.cells import Done
from easyrider_forecast_bench.ours import NAME
from easyrider_forecast_bench.series import HORIZONS_S
from easyrider_forecast_bench.telling.pooled import calibration, mae_w


def draw(done: Sequence[Done], stem: Path) -> list[Path]:
    """Write `<stem>-mean.png`, `<stem>-peak.png` and `<stem>-bounds.png`; returns where."""
    found = [_errors(done, stem, what) for what in ("mean", "peak")]
    bounds = _bounds(done, stem)
    return [*found, *([bounds] if bounds else [])]


def _errors(done: Sequence[Done], stem: Path, what: str) -> Path:
    families = list(dict.fromkeys(each.key.family for each in done))
    figure = Figure(figsize=(4.2 * min(len(families), 4), 4.0 * -(-len(families) // 4)), layout="constrained")
    grid = figure.subplots(-(-len(families) // 4), min(len(families), 4), squeeze=False)
    for axes, family in zip(grid.flat, families, strict=False):
        here = [each for each in done if each.key.family == family]
        for name in dict.fromkeys(each.model for each in here):
            mine = [each for each in here if each.model == name]
            share = [
                100 * mae_w(mine, f"mae_{what}_w", h) / (sum(e.rating_w for e in mine) / len(mine))
                for h in HORIZONS_S
            ]
            ours = name.startswith(NAME)
            axes.plot(
                HORIZONS_S,
                share,
                label=name,
                linewidth=2.5 if name == NAME else 1.0,
                ls="-" if ours else "--",
            )
        _dressed(axes, f"{family}{'' if family == 'recorded' else ' (synthetic)'}", "error, % of rating")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize="small")
    figure.suptitle(f"Mean absolute error of the {what}")
    return _saved(figure, stem, what)


def _bounds(done: Sequence[Done], stem: Path) -> Path | None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    any_scored = False
    for family in dict.fromkeys(each.key.family for each in done):
        found = calibration([each for each in done if each.model == NAME and each.key.family == family])
        if not found:
            continue
        any_scored = True
        seconds = [one.horizon_s for one in found]
        left.plot(seconds, [100 * one.coverage for one in found], marker="o", label=family)
        right.plot(seconds, [one.slack for one in found], marker="o", label=family)
    left.axhspan(98.5, 99.7, alpha=0.15)
    _dressed(left, "0.99 bound of the peak", "covered, %")
    _dressed(right, "0.99 bound of the peak", "slack: mean(bound - peak) / mean(rating - peak)")
    if not any_scored:
        return None
    right.legend(fontsize="small")
    return _saved(figure, stem, "bounds")


def _dressed(axes: Axes, title: str, label: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(HORIZONS_S, [str(h) for h in HORIZONS_S])
    axes.minorticks_off()
    axes.set_xlabel("horizon, s")
    axes.set_ylabel(label)
    axes.set_title(title)


def _saved(figure: Figure, stem: Path, what: str) -> Path:
    file = stem.with_name(f"{stem.name}-{what}.png")
    figure.savefig(file, dpi=110)
    return file
