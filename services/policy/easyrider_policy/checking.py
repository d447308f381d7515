"""`easyrider-policy --check FILE`: whether rules can be kept, with the numbers."""

import math
import sys
from pathlib import Path

from easyrider.errors import BadTree
from easyrider.tree import Rules
from easyrider.tree_reader import read
from easyrider_policy.core import checks, timing
from easyrider_policy.core.fleet import build


def check(path: Path) -> int:
    """0 and the margins of every domain on stdout, or 2 and every fault on stderr."""
    try:
        rules = read(path.read_bytes().decode(), str(path))
        found = checks.faults(rules)
    except BadTree as fault:
        found, rules = fault.faults, None
    except (OSError, UnicodeDecodeError) as fault:
        found, rules = [str(fault)], None
    if found or rules is None:
        print(
            "\n".join([f"{path}: {len(found)} faults", *(f"  {fault}" for fault in found)]), file=sys.stderr
        )
        return 2
    print("\n".join([f"{path}: tree {rules.id} version {rules.version} fits", *_margins(rules)]))
    return 0


def _margins(rules: Rules) -> list[str]:
    fleet, needed_s = build(rules, []), timing.need_s(rules.leases)
    fallback_w, highest_w = checks.fallback_w(fleet, rules.modes), checks.start_w(fleet, rules.modes)
    lines = [f"  an overload is held by limits within {needed_s:g} s"]
    for row, domain in enumerate(fleet.domain_records):
        line = (
            f"  {domain.id}: fallbacks and fixed loads {fallback_w[row]:.0f} W "
            f"of {fleet.smallest_hard_w[row]:.0f} W"
        )
        if domain.trip_points:
            worst = timing.worst_overload(domain, float(highest_w[row]))
            holds_s = timing.allowed_s(domain.trip_points, worst.multiple)
            holds = "for ever" if math.isinf(holds_s) else f"{holds_s:.3g} s"
            line += f"; {worst.cause}: {worst.multiple:.3g} x its capacity, which its curve carries {holds}"
        lines.append(line + ("" if domain.trip_points else "; no curve: the timing rule says nothing here"))
    return lines
