"""Moves of limits under a load that never changes: none, over 10,000 plans after the first 300.

`python bench/steady.py` holds a small synthetic hall (tests/policy/planner/steady_world.py: 32 GPUs, four jobs of
constant draw, boards that flicker and round, meters that are wrong by a share of their own and round to 10 W) at four
levels of oversubscription, with boards that draw what their limit says and with some that draw up to 3 % more, about
three minutes of one core, and writes bench/out/steady.json. The last row tells, without a claim, what comes of
a meter that also sways by 0.3 % from one second to the next. `QUICK=1`: 1,000 plans.
"""

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LEVELS_PCT = (10, 20, 30, 40)
OVERSHOOTS = (1.0, 1.03)
SWAY = 0.003


def main() -> int:
    """Writes the figures and prints them; 1 where a limit moved though nothing changed."""
    sys.path.insert(0, str(HERE.parent / "tests" / "policy" / "planner"))
    from steady_world import SETTLES_S, moves, steady

    ticks = 1_000 if os.environ.get("QUICK") else 10_000
    cases = [(level_pct, over, 0.0) for level_pct in LEVELS_PCT for over in OVERSHOOTS] + [(20, 1.0, SWAY)]
    rows = []
    for level_pct, over, sway in cases:
        began_s = time.process_time()
        moved = moves(steady(level_pct / 100, overshoot=over, sway=sway), ticks)
        row = {
            "oversub_pct": level_pct,
            "most_overshoot": over,
            "meter_sway_pct": 100 * sway,
            "settled_after": SETTLES_S,
            "ticks": ticks,
            "moves": moved,
            "cpu_s": round(time.process_time() - began_s, 1),
        }
        print(json.dumps(row), flush=True)
        rows.append(row)
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    (out / "steady.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["moves"] for row in rows if not row["meter_sway_pct"]) else 0


if __name__ == "__main__":
    sys.exit(main())
