"""What a day of the pure core costs: one plan a second with ten 100 ms columns, 32 GPUs, in virtual time.

`python bench/day.py` lives the day of tests/policy/planner (jobs that come, stall and go, lost supply, silent nodes;
synthetic, from a seed), about two minutes, and writes bench/out/day.json; `QUICK=1` lives one hour of it. CPU
seconds, since everything runs on one core and machines are shared; the world's own share of them is in it.
"""

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
HOUR_S = 3600


def main() -> int:
    """Writes the figures and prints them; 1 where a whole day takes over three minutes of one core."""
    sys.path.insert(0, str(HERE.parent / "tests" / "policy" / "planner"))
    from small_world import site

    from day import Day

    hours = 1 if os.environ.get("QUICK") else 24
    day = Day(site(ups_w=31_000.0, pdu_w=17_500.0, hard_is_target=("pdu-a",)), [], meters=True)
    day.begin(1)
    began_s, wall_s = time.process_time(), time.perf_counter()
    day.run(hours * HOUR_S)
    cpu_s, wall_s = time.process_time() - began_s, time.perf_counter() - wall_s
    figures = {
        "gpus": len(day.fleet.gpus),
        "hours": hours,
        "plans": day.plans,
        "jobs_started": day.started,
        "cpu_s": round(cpu_s, 1),
        "wall_s": round(wall_s, 1),
        "cpu_s_per_day": round(cpu_s * 24 / hours, 1),
        "cpu_ms_per_plan": round(1e3 * cpu_s / day.plans, 3),
        "worst_over_w": round(max(day.worst_over_w, 0.0), 6),
    }
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    (out / "day.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))
    return 0 if figures["cpu_s_per_day"] <= 180 and figures["worst_over_w"] <= 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
