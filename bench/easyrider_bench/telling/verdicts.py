"""Whether `easyrider` reached what is asked of it, each with its number."""

from collections.abc import Sequence
from dataclasses import dataclass

from easyrider_bench.telling.refusals import mean_lost_pct
from easyrider_bench.telling.rows import Row

HEAT = 0.05
JOULES_RATIO = 0.01
MEAN_RATIO, CELL_RATIO, SPARE_PCT = 1.2, 1.5, 0.5
KEPT_RATIO = 1e-4
KEEPER_PCT = 0.1
BILL_RATIO = 1.005
MIXED_90_PCT = 3.0
REVERSALS = 3.0
RIVALS = ("static", "three_band", "steering", "two_threshold")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim; `holds` None where the runs for it are not there."""

    claim: str
    holds: bool | None
    number: str


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """All claims, in the order in which they matter."""
    by = {name: {_cell(row): row for row in rows if row["controller"] == name} for name in _names(rows)}
    ours = by.get("easyrider", {})
    if not ours:
        return []
    mine = list(ours.values())
    trips, heat = sum(row["trips"] for row in mine), max(mine, key=lambda row: row["heat_max"])
    broken = max(mine, key=lambda row: row["sum_rule_s"])
    turns = max(mine, key=lambda row: row["reversals_per_min"])
    found = [
        Verdict("0 trips", trips == 0, str(trips)),
        Verdict(f"heat at most {HEAT}", heat["heat_max"] <= HEAT, f"{heat['heat_max']:.3f} in {_told(heat)}"),
        Verdict(
            "sum rule never broken",
            broken["sum_rule_s"] == 0,
            f"{sum(row['sum_rule_s'] for row in mine):.2f} s, most in {_told(broken)}",
        ),
        *_joules(mine, by.get("three_band", {})),
        *_oracle(ours, by.get("oracle", {})),
        *_keepers(ours, by),
    ]
    for row in mine:
        if row["scenario"] == "mixed_90":
            lost = row["work_lost_pct"]
            found.append(Verdict(f"mixed_90 at most {MIXED_90_PCT} %", lost <= MIXED_90_PCT, f"{lost:.2f} %"))
    found.append(
        Verdict(
            f"at most {REVERSALS:.0f} reversals a GPU and minute",
            turns["reversals_per_min"] <= REVERSALS,
            f"{turns['reversals_per_min']:.2f} in {_told(turns)}",
        )
    )
    return found


def keeps(row: Row, ours: Row) -> bool:
    """Whether a rival kept the target in its cell; where demand is billed, also no dearer than ours."""
    kept = row["trips"] == 0 and row["over_target_j"] <= KEPT_RATIO * row["target_energy_j"]
    if row["scenario"] == "demand":
        kept &= row["billing_demand_kw"] <= BILL_RATIO * ours["billing_demand_kw"]
    return kept


def _joules(mine: list[Row], three_band: dict[tuple[str, int], Row]) -> list[Verdict]:
    theirs_j = sum(three_band[_cell(row)]["over_target_j"] for row in mine if _cell(row) in three_band)
    if not three_band or theirs_j == 0:
        return []
    ours_j = sum(row["over_target_j"] for row in mine)
    claim = f"joules over target at most {JOULES_RATIO} of three-band's"
    return [
        Verdict(claim, ours_j <= JOULES_RATIO * theirs_j, f"{ours_j / theirs_j:.5f} ({ours_j / 1e3:.1f} kJ)")
    ]


def _oracle(ours: dict[tuple[str, int], Row], oracle: dict[tuple[str, int], Row]) -> list[Verdict]:
    both = [cell for cell in ours if cell in oracle]
    if not both:
        return []
    mean, best = (mean_lost_pct([rows[cell] for cell in both]) for rows in (ours, oracle))
    excess = {
        cell: ours[cell]["work_lost_pct"] - CELL_RATIO * oracle[cell]["work_lost_pct"] - SPARE_PCT
        for cell in both
    }
    worst = max(both, key=excess.__getitem__)
    above = sum(over > 0 for over in excess.values())
    return [
        Verdict(
            f"work lost at most {MEAN_RATIO} x oracle + {SPARE_PCT}",
            mean <= MEAN_RATIO * best + SPARE_PCT,
            f"{mean:.2f} % against {best:.2f} %, {MEAN_RATIO * best + SPARE_PCT:.2f} % allowed",
        ),
        Verdict(
            f"no cell above {CELL_RATIO} x oracle + {SPARE_PCT}",
            above == 0,
            f"{above} cells; worst {_told(ours[worst])}: {ours[worst]['work_lost_pct']:.2f} % against "
            f"{oracle[worst]['work_lost_pct']:.2f} %",
        ),
    ]


def _keepers(ours: dict[tuple[str, int], Row], by: dict[str, dict[tuple[str, int], Row]]) -> list[Verdict]:
    if not any(rival in by for rival in RIVALS):
        return []
    kept, beaten = 0, []
    for cell, mine in ours.items():
        rivals = [by[r][cell] for r in RIVALS if cell in by.get(r, {}) and keeps(by[r][cell], mine)]
        kept += bool(rivals)
        for rival in rivals:
            over = mine["work_lost_pct"] - rival["work_lost_pct"]
            if over > KEEPER_PCT:
                beaten.append(f"{_told(mine)}: {rival['controller']} by {over:.2f}")
    return [
        Verdict(
            f"never over {KEEPER_PCT} point more than one that keeps the target",
            not beaten,
            "; ".join(beaten) or "none better",
        ),
        Verdict("a keeper in at least half of the cells", 2 * kept >= len(ours), f"{kept} of {len(ours)}"),
    ]


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["controller"] for row in rows))


def _cell(row: Row) -> tuple[str, int]:
    return row["scenario"], row["oversub_pct"]


def _told(row: Row) -> str:
    return f"{row['scenario']} at {row['oversub_pct']} %"
