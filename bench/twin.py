"""The twin on one core: CPU seconds per simulated second at 64, 800 and 8,000 GPUs.

    python bench/twin.py [--out bench/out/twin.json]

What is timed is the step of the process that a stack runs, whole: limits read from the nodes' state files, jobs,
boards, power tree, sensors, meters, `truth.jsonl`, job lists, and readings written to the state files. It is
stepped as fast as it goes, in a process of its own that may use one core. Times are CPU times of all its threads,
since machines are shared; `realtime_ratio` is simulated seconds per CPU second, `cpu_pct` the share of the core
that the same world takes in real time. Sites and jobs are synthetic, from a seed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {8: 10.0, 100: 1.0, 1_000: 1.0}
"""Nodes, and the lowest ratio asked of a site of so many."""
WARM_S = 25.0
"""Every job has begun by then."""
CAPPED_SHARE, CAP_W = 0.5, 450.0


def main() -> int:
    """Write the figures; exit 1 when a ratio is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "twin.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated seconds that are timed")
    parser.add_argument("--nodes", type=int, help="measure one size, in this process, and print its row")
    chosen = parser.parse_args()
    if chosen.nodes is not None:
        sys.stdout.write(json.dumps(one(chosen.nodes, chosen.seed, chosen.seconds)) + "\n")
        return 0
    rows = [_alone(nodes, chosen.seed, chosen.seconds) for nodes in SIZES]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    missed = [row for row, least in zip(rows, SIZES.values(), strict=True) if row["realtime_ratio"] < least]
    for row in missed:
        sys.stderr.write(f"{row['gpus']:.0f} GPUs run at only {row['realtime_ratio']} times real time\n")
    return 1 if missed else 0


def one(nodes: int, seed: int, seconds: float) -> dict[str, float]:
    """One row of figures, measured here."""
    # where linear algebra would start threads, one core would be several; it is read when numpy is first imported
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import twin_site
    from easyrider_twin import statefile
    from easyrider_twin.gpus import STEP_S
    from easyrider_twin.process import Twin

    with tempfile.TemporaryDirectory(prefix="easyrider-twin-") as name:
        run = Path(name)
        twin = Twin(twin_site.make(nodes, seed), run)
        for k in range(round(nodes * CAPPED_SHARE)):
            statefile.attach(run / f"node-{k}" / "nvml.state").gpus["enforced_mw"] = round(CAP_W * 1000)
        twin.plant.jobs.start()
        for _ in range(round(WARM_S / STEP_S)):
            twin.step()
        steps = round(seconds / STEP_S)
        took_s = []
        for _ in range(steps):
            begun_s = time.process_time()
            twin.step()
            took_s.append(time.process_time() - begun_s)
        twin.close()
        rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu_s = sum(took_s)
    return {
        "gpus": twin.plant.layout.gpus,
        "nodes": nodes,
        "jobs": len(twin.plant.jobs.running),
        "domains": len(twin.plant.domains.devices),
        "state_files": True,
        "realtime_ratio": round(steps * STEP_S / cpu_s, 2),
        "step_ms": round(1e3 * cpu_s / steps, 3),
        "step_p99_ms": round(1e3 * sorted(took_s)[int(0.99 * steps)], 3),
        "cpu_pct": round(100 * cpu_s / (steps * STEP_S), 2),
        "rss_mb": round(rss_mb, 1),
    }


def _alone(nodes: int, seed: int, seconds: float) -> dict[str, float]:
    command = [
        sys.executable,
        __file__,
        "--nodes",
        str(nodes),
        "--seed",
        str(seed),
        "--seconds",
        str(seconds),
    ]
    row: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return row


if __name__ == "__main__":
    sys.exit(main())
