"""Two pictures: work lost by level, and work lost against joules over target."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from easyrider_bench.telling.refusals import mean_lost_pct
from easyrider_bench.telling.rows import Row

LEAST_KJ = 1e-3
"""What is drawn for none, on an axis of logarithms."""


def draw(rows: Sequence[Row], stem: Path) -> list[Path]:
    """Write `<stem>-lost.png` and `<stem>-joules.png`; returns where."""
    names = list(dict.fromkeys(row["controller"] for row in rows))
    return [_lost(rows, names, stem), _joules(rows, names, stem)]


def _lost(rows: Sequence[Row], names: list[str], stem: Path) -> Path:
    levels = sorted({row["oversub_pct"] for row in rows})
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        mine = [
            [r for r in rows if r["controller"] == name and r["oversub_pct"] == level] for level in levels
        ]
        heights = [mean_lost_pct(each) if each else 0.0 for each in mine]
        places = [place - 0.4 + (number + 0.5) * width for place in range(len(levels))]
        axes.bar(places, heights, width, label=name)
    axes.set_xticks(range(len(levels)), [f"{level} %" for level in levels])
    axes.set_xlabel("oversubscribed")
    axes.set_ylabel("work lost, % (weighted, mean over scenarios)")
    axes.set_title("Simulated hall of 64 GPUs")
    axes.legend()
    return _saved(figure, stem, "lost")


def _joules(rows: Sequence[Row], names: list[str], stem: Path) -> Path:
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    for name in names:
        mine = [row for row in rows if row["controller"] == name]
        over_kj = [max(row["over_target_j"] / 1e3, LEAST_KJ) for row in mine]
        axes.scatter(over_kj, [row["work_lost_pct"] for row in mine], label=name, s=18, alpha=0.7)
    axes.set_xscale("log")
    axes.set_xlabel(f"over target as 10 s means, kJ a cell (at {LEAST_KJ} kJ: none)")
    axes.set_ylabel("work lost, %")
    axes.set_title("Simulated hall of 64 GPUs, one point a scenario and level")
    axes.legend()
    return _saved(figure, stem, "joules")


def _saved(figure: Figure, stem: Path, what: str) -> Path:
    file = stem.with_name(f"{stem.name}-{what}.png")
    figure.savefig(file, dpi=110)
    return file
