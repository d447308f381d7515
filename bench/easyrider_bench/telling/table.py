"""The comparison as text: one table a level, work lost by scenario, and what is asked of `easyrider`."""

from collections.abc import Sequence

from easyrider_bench.telling.rows import Row
from easyrider_bench.telling.verdicts import Verdict

HEAD = (
    ("controller", 17), ("trips", 6), ("heat", 6), ("kJ>target", 10), ("kJ>hard", 8), ("kJ drop", 8),
    ("sum s", 8), ("lost %", 7), ("worst %", 8), ("peak/mean", 10), ("ramp W/s", 9), ("chg/min", 8),
    ("rev/min", 8), ("demand kW", 10), ("plan ms", 8),
)  # fmt: skip


def table(rows: Sequence[Row], verdicts: Sequence[Verdict]) -> str:
    """All of it; figures of a level are sums, worst or means over its cells as over seeds."""
    names = list(dict.fromkeys(row["controller"] for row in rows))
    lines: list[str] = []
    for level in sorted({row["oversub_pct"] for row in rows}):
        here = [row for row in rows if row["oversub_pct"] == level]
        cells = len({row["scenario"] for row in here})
        lines += [f"{level} % oversubscribed, {cells} scenarios", _line([word for word, _ in HEAD])]
        lines += [_level(name, [row for row in here if row["controller"] == name]) for name in names]
        lines.append("")
    lines += _by_scenario(rows, names)
    if verdicts:
        lines += ["", "asked of easyrider:"]
        marks = {True: "holds ", False: "FAILS ", None: "open  "}
        lines += [f"  {marks[each.holds]} {each.claim}: {each.number}" for each in verdicts]
    return "\n".join(lines) + "\n"


def _level(name: str, rows: list[Row]) -> str:
    if not rows:
        return name

    def mean(figure: str) -> float:
        values: list[float] = [row[figure] for row in rows]  # type: ignore[literal-required]
        return sum(values) / len(values)

    return _line(
        [
            name,
            str(sum(row["trips"] for row in rows)),
            f"{max(row['heat_max'] for row in rows):.2f}",
            f"{sum(row['over_target_j'] for row in rows) / 1e3:.1f}",
            f"{sum(row['over_hard_j'] for row in rows) / 1e3:.1f}",
            f"{sum(row['drop_over_j'] for row in rows) / 1e3:.1f}",
            f"{sum(row['sum_rule_s'] for row in rows):.1f}",
            f"{mean('work_lost_pct'):.2f}",
            f"{max(row['worst_job_lost_pct'] for row in rows):.1f}",
            f"{mean('peak_to_mean'):.3f}",
            f"{max(row['ramp_p99_w_per_s'] for row in rows):.0f}",
            f"{mean('changes_per_min'):.2f}",
            f"{mean('reversals_per_min'):.2f}",
            f"{mean('billing_demand_kw'):.1f}",
            f"{mean('plan_ms'):.2f}",
        ]
    )


def _line(words: list[str]) -> str:
    first, *rest = zip(words, (width for _, width in HEAD), strict=True)
    return f"  {first[0]:<{first[1]}}" + "".join(f"{word:>{width}}" for word, width in rest)


def _by_scenario(rows: Sequence[Row], names: list[str]) -> list[str]:
    lost = {(row["scenario"], row["oversub_pct"], row["controller"]): row for row in rows}
    cells = list(dict.fromkeys((row["scenario"], row["oversub_pct"]) for row in rows))
    lines = ["work lost % (* over target by more than 0.01 % of its energy, or tripped)"]
    lines.append(f"  {'':<20}" + "".join(f"{name:>17}" for name in names))
    for scenario, level in cells:
        words = []
        for name in names:
            row = lost.get((scenario, level, name))
            if row is None:
                words.append(f"{'-':>17}")
                continue
            over = row["trips"] > 0 or row["over_target_j"] > 1e-4 * row["target_energy_j"]
            words.append(f"{row['work_lost_pct']:>16.2f}{'*' if over else ' '}")
        lines.append(f"  {f'{scenario} {level} %':<20}" + "".join(words))
    return lines
