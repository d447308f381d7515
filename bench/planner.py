"""The planner beside SciPy's HiGHS on the same question, at 1k, 10k and 100k GPUs, seven levels deep.

    python bench/planner.py [--out bench/out/planner.json]

`plan_ms` is the allocation (prices, repair, fill, certificate) from cold, `warm_ms` the same from the prices of the
plan before with budgets moved by up to 1 %, `full_plan_ms` a whole `plan`: budgets, floors, allocation, headroom,
pacing, reasons, and a limit for every GPU. `independent_ms`: the allocation where every GPU works for itself.
HiGHS is timed on the job-collapsed problem alone, built beforehand. Times are CPU times, medians of 20, since all
run on one core and machines are shared; wall times stand beside. All is judged by `planner_judge`, on the truth
and not on what the planner believes. Sites are synthetic, from a seed. Growth is drawn into `planner-growth.svg`.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_matrix

import planner_growth as growth
import planner_judge as judge
import planner_site as sites
from easyrider.tree import Pacing
from easyrider_policy.core.allocate import allocate
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.plan import plan
from easyrider_policy.core.problem import Problem
from easyrider_policy.core.records import Decision, Memory, Situation, start
from easyrider_policy.core.walls import Walls

Row = dict[str, float]
T = TypeVar("T")

SIZES = ((125, 200), (1_250, 1_000), (12_500, 5_000))
LOW_DRAW = 0.4
REPEATS = 20
BUDGETS_MOVE = 0.01
COLD_MS, WARM_MS, INDEPENDENT_MS, FULL_MS = 25.0, 10.0, 120.0, 300.0
FASTER, MOST_GAP_PCT, MOST_RSS_MB = 40.0, 1.0, 250.0


def main() -> int:
    """Write the figures; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "planner.json")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    rows = [one(nodes, jobs, chosen.seed) for nodes, jobs in SIZES]
    rows[-1] |= independent(SIZES[-1][0], chosen.seed)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(rows, indent=1) + "\n")
    growth.draw(rows, chosen.out.with_name(f"{chosen.out.stem}-growth.svg"))
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    missed = [fault for row in rows for fault in _faults(row)] + growth.faults(rows)
    for fault in missed:
        sys.stderr.write(fault + "\n")
    return 1 if missed else 0


def one(nodes: int, jobs: int, seed: int) -> Row:
    """One row of figures."""
    site = sites.make(nodes, jobs, seed)
    observation, walls, observe_ms = _watched(site, seed)
    decision, full_ms, full_wall_ms = _planned(site, observation, walls)
    problem = _problem(decision)
    cold, cold_ms, cold_wall_ms = timed(lambda: allocate(problem))
    moved = _moved(problem, seed)
    warm, warm_ms, _ = timed(lambda: allocate(moved, cold.own_price))
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # before HiGHS takes its own
    ours_w = np.minimum(decision.job_limit_w, site.peak_w)
    question = _question(site)
    begin = time.process_time()
    theirs_w = judge.highs(question)
    highs_ms = (time.process_time() - begin) * 1e3
    held_w = sites.wall_w(site, decision.job_limit_w, sites.MIN_W)
    over_w = max(
        float((sites.wall_w(site, ours_w) - site.target_w).max()), float((held_w - site.hard_w).max()), 0.0
    )
    return {
        "gpus": nodes * sites.GPUS_PER_NODE,
        "jobs": site.layout.job_count,
        "plan_ms": round(cold_ms, 2),
        "plan_wall_ms": round(cold_wall_ms, 2),
        "warm_ms": round(warm_ms, 2),
        "full_plan_ms": round(full_ms, 2),
        "full_plan_wall_ms": round(full_wall_ms, 2),
        "observe_ms": round(observe_ms, 2),
        "highs_ms": round(highs_ms, 1),
        "rss_mb": round(rss_mb, 1),
        "lost_pct": round(judge.lost_pct(ours_w / site.peak_w, site.busy, question.worth), 4),
        "highs_lost_pct": round(judge.lost_pct(theirs_w / site.peak_w, site.busy, question.worth), 4),
        "over_w": round(over_w, 3),
        "gap_pct": round(100 * cold.gap, 3),
        "warm_gap_pct": round(100 * warm.gap, 3),
    }


def independent(nodes: int, seed: int) -> Row:
    """The allocation with one job a GPU."""
    site = sites.make(nodes, None, seed)
    observation, walls, _ = _watched(site, seed, seconds=20)
    decision, _, _ = _planned(site, observation, walls, repeats=1)
    problem = _problem(decision)
    answer, cpu_ms, _ = timed(lambda: allocate(problem))
    return {"independent_ms": round(cpu_ms, 2), "independent_gap_pct": round(100 * answer.gap, 3)}


def timed(ask: Callable[[], T], repeats: int = REPEATS) -> tuple[T, float, float]:
    """The answer, and the medians of CPU and wall time, in ms."""
    times = []
    for _ in range(repeats):
        begin, wall = time.process_time(), time.perf_counter()
        answer = ask()
        times.append((time.process_time() - begin, time.perf_counter() - wall))
    cpu_s, wall_s = np.median(np.array(times), axis=0)
    return answer, float(cpu_s) * 1e3, float(wall_s) * 1e3


def _problem(decision: Decision) -> Problem:
    if decision.memory.solution is None:
        raise RuntimeError("a plan without a solution")
    return decision.memory.solution.problem


def _moved(problem: Problem, seed: int) -> Problem:
    """The same a moment later: every budget a little other, floors still within them."""
    factor = np.random.default_rng(seed + 2).uniform(
        1 - BUDGETS_MOVE, 1 + BUDGETS_MOVE, len(problem.target_w)
    )
    target_w = np.maximum(problem.target_w * factor, problem.drawn_w(problem.floor_w))
    return replace(problem, target_w=target_w)


def _watched(site: sites.Site, seed: int, seconds: int = 60) -> tuple[Observation, Walls, float]:
    """A while of uncapped draw as the coordinator would have seen it, ten columns at a time."""
    rng = np.random.default_rng(seed + 1)
    observation, walls = Observation(site.layout), Walls(site.fleet)
    gpus, jobs = len(site.fleet.gpus), site.layout.job_count
    limit_w = np.full(gpus, sites.MAX_W)
    in_job = site.layout.job_of >= 0
    phase, period_s = rng.random(jobs), rng.uniform(1.0, 8.0, jobs)
    columns = np.full((10, gpus), sites.IDLE_W)
    spent = 0.0
    for second in range(60 - seconds, 61):
        for k in range(10):
            at = ((second + k / 10) / period_s + phase) % 1.0
            draw_w = np.where(at < site.busy, site.peak_w, LOW_DRAW * site.peak_w)
            columns[k, in_job] = draw_w[site.layout.job_of[in_job]]
        begin = time.process_time()
        observation.add(float(second), columns, limit_w)
        walls.add(observation.believed_w(columns))
        spent += time.process_time() - begin
    return observation, walls, spent / (seconds + 1) * 1e3


def _planned(
    site: sites.Site, observation: Observation, walls: Walls, repeats: int = REPEATS
) -> tuple[Decision, float, float]:
    """The decision, and the median CPU and wall time of `plan` from cold, in ms.

    Jobs count as just woken, so pacing holds nothing back; the memory is that of a planner that has planned
    nothing yet, so nothing is taken from a plan before.
    """
    fleet = site.fleet
    zero = np.zeros(len(fleet.domains))
    observation.stalls.woke_s[:] = 60.0
    situation = Situation(
        now_s=61.0,
        limit_w=np.full(len(fleet.gpus), sites.MIN_W),
        steered=np.ones(len(fleet.gpus), dtype=np.bool_),
        counted_w=np.full(len(fleet.gpus), sites.MIN_W),
        hard_w=site.hard_w,
        target_w=site.target_w,
        unmanaged_hard_w=zero,
        unmanaged_target_w=zero,
        confidence=1.0,
    )
    begun = start(fleet, 60.0)
    memory = Memory(
        last_s=begun.last_s,
        limit_w=begun.limit_w,
        changed_s=begun.changed_s,
        lowered_s=begun.lowered_s,
        penalty_w=begun.penalty_w,
        alarm_for_s=begun.alarm_for_s,
        acted_ago_s=begun.acted_ago_s,
        reactive=False,
    )
    return timed(lambda: plan(observation, walls, situation, memory, Pacing()), repeats)


def _question(site: sites.Site) -> judge.Question:
    """The same for HiGHS: rows of every domain, room above what stands there."""
    placed = site.layout
    standing_w = sites.wall_w(site, np.zeros(placed.job_count))
    rows, columns, counts = [], [], []
    for job, record in enumerate(placed.jobs):
        leaf = site.fleet.node_domain[site.fleet.gpu_node[list(record.gpus)]]
        for domain, count in zip(*np.unique(leaf, return_counts=True), strict=True):
            at: tuple[int, ...] = (int(domain),)
            while at:
                rows.append(at[0])
                columns.append(job)
                counts.append(count * sites.SLOPE)
                at = site.fleet.parents[at[0]]
    weight = csr_matrix((counts, (rows, columns)), shape=(len(site.fleet.domains), placed.job_count))
    floor = judge.floor_ratio(1.0 - sites.MAX_SLOWDOWN, site.busy)
    return judge.Question(
        peak_w=site.peak_w,
        busy=site.busy,
        worth=placed.weight * placed.gpu_count,
        floor_w=np.maximum(floor * site.peak_w, sites.MIN_W),
        weight=weight,
        room_w=site.target_w - standing_w,
    )


def _faults(row: Row) -> list[str]:
    size = f"{row['gpus']:.0f} GPUs"
    faults = []
    if row["gpus"] >= 100_000:
        for name, most in (
            ("plan_ms", COLD_MS),
            ("warm_ms", WARM_MS),
            ("full_plan_ms", FULL_MS),
            ("independent_ms", INDEPENDENT_MS),
            ("rss_mb", MOST_RSS_MB),
        ):
            if row[name] > most:
                faults.append(f"{size}: {name} is {row[name]} where {most:.0f} are allowed")
        if row["highs_ms"] < FASTER * row["plan_ms"]:
            faults.append(f"{size}: {row['plan_ms']} ms beside {row['highs_ms']} ms of HiGHS")
    for name in ("gap_pct", "warm_gap_pct", "independent_gap_pct"):
        if row.get(name, 0.0) > MOST_GAP_PCT:
            faults.append(f"{size}: {name} is {row[name]}")
    if row["lost_pct"] > 1.01 * row["highs_lost_pct"] + 0.005:
        faults.append(f"{size}: {row['lost_pct']} % lost where HiGHS loses {row['highs_lost_pct']} %")
    if row["over_w"] > 0.5:
        faults.append(f"{size}: {row['over_w']} W over a domain")
    return faults


if __name__ == "__main__":
    raise SystemExit(main())
