"""How the planner's times grow with the size of the site, drawn beside n log n."""

import math
from collections.abc import Sequence
from pathlib import Path

Row = dict[str, float]

WIDTH, HEIGHT, EDGE = 520, 360, 56
SERIES = (("plan_ms", "allocation, cold", "#1f6fb2"), ("warm_ms", "warm", "#2a9d5c"),
          ("full_plan_ms", "whole plan", "#b2541f"), ("highs_ms", "HiGHS", "#777777"))  # fmt: skip
SPARE = 1.15
"""Times are measured on a shared machine."""


def faults(rows: Sequence[Row]) -> list[str]:
    """What grows faster than n log n from the last size but one to the last."""
    small, large = rows[-2], rows[-1]
    most = SPARE * _n_log_n(large["gpus"]) / _n_log_n(small["gpus"])
    return [
        f"{name} grows {large[name] / small[name]:.1f} times where n log n grows {most / SPARE:.1f} times"
        for name in ("plan_ms", "warm_ms", "full_plan_ms")
        if large[name] > most * small[name]
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write an SVG with both axes logarithmic: milliseconds against GPUs."""
    sizes = [row["gpus"] for row in rows]
    values = [row[name] for row in rows for name, _, _ in SERIES]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(gpus: float, ms: float) -> str:
        across = math.log(gpus / sizes[0]) / math.log(sizes[-1] / sizes[0])
        up = (math.log10(ms) - low) / (high - low)
        return f"{EDGE + across * (WIDTH - 2 * EDGE):.1f},{HEIGHT - EDGE - up * (HEIGHT - 2 * EDGE):.1f}"

    def line(points: Sequence[str], colour: str, dashes: str = "") -> str:
        return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>'

    def text(at: str, words: str, colour: str = "#333") -> str:
        x, y = at.split(",")
        return f'<text x="{x}" y="{y}" fill="{colour}" font-size="11" font-family="sans-serif">{words}</text>'

    parts = [
        text(place(sizes[0], 10.0**power), f"{10.0**power:g} ms", "#999") for power in range(low, high + 1)
    ]
    parts += [
        text(f"{place(size, 10.0**low).split(',')[0]},{HEIGHT - EDGE / 2:.0f}", f"{size:.0f} GPUs")
        for size in sizes
    ]
    for name, words, colour in SERIES:
        points = [place(row["gpus"], row[name]) for row in rows]
        parts += [line(points, colour), text(points[-1], words, colour)]
    begin = rows[-2]
    unit = begin["plan_ms"] / _n_log_n(begin["gpus"])
    parts.append(line([place(size, unit * _n_log_n(size)) for size in sizes], "#bbb", "4 3"))
    parts.append(text(place(sizes[0], unit * _n_log_n(sizes[0])), "n log n", "#bbb"))
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">\n{body}\n</svg>\n'
    )


def _n_log_n(count: float) -> float:
    return count * math.log(count)
