"""Conditions without which the bench tells nothing: the halls must be dangerous, the oracle must be one."""

from collections.abc import Sequence

from easyrider_bench.telling.rows import Row

DANGEROUS = 3
"""Scenarios in which a hall that nobody controls must trip, of all sixteen."""
ORACLE_PCT = 0.1
"""By so much the oracle may lose more than `easyrider` in the mean."""


def refusals(rows: Sequence[Row], *, dangerous: int = DANGEROUS) -> list[str]:
    """Reasons to refuse the report, in words; none where it stands. Only controllers that ran are asked about."""
    found = []
    trips = {row["scenario"] for row in rows if row["controller"] == "none" and row["trips"] > 0}
    if any(row["controller"] == "none" for row in rows) and len(trips) < dangerous:
        found.append(
            f"without control only {len(trips)} scenarios trip ({', '.join(sorted(trips)) or 'none'}), "
            f"not {dangerous}: these halls endanger nothing"
        )
    oracle = [row for row in rows if row["controller"] == "oracle"]
    tripped = [f"{row['scenario']} at {row['oversub_pct']} %" for row in oracle if row["trips"]]
    if tripped:
        found.append(f"the oracle trips in {', '.join(tripped)}")
    ours = [row for row in rows if row["controller"] == "easyrider"]
    if oracle and ours:
        best, mine = mean_lost_pct(oracle), mean_lost_pct(ours)
        if best > mine + ORACLE_PCT:
            found.append(f"the oracle loses {best:.2f} % of the work, easyrider {mine:.2f} %: it is none")
    return found


def mean_lost_pct(rows: Sequence[Row]) -> float:
    """Mean over cells."""
    return sum(row["work_lost_pct"] for row in rows) / len(rows)
