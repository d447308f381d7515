"""Work lost, joules and moves of the real coordinator against the twin, in virtual time.

    python bench/closed_loop.py --seeds 1-5
    python bench/closed_loop.py --seeds 3 --traces DIR --trace bench/out/trace.json

The plant, its sensors and its jobs are the twin's; rules are those a site of its kind would declare. Beside it:
the static cap of the demonstration, an equal cap filled up each second, an oracle on true draws.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from easyrider.tree_reader import read
from easyrider_cli.site import rules_of
from easyrider_twin.outcome import SAMPLE_S, Outcome, trailing_mean
from easyrider_twin.rack import DoesNotTrip, demo_world, static_cap_w
from easyrider_twin.simulate import simulate
from easyrider_twin.world import World
from loop_rivals import EqualCap, Sums, oracle, rival
from loop_run import Loop, Trace

GRACE_S = 3.0
"""After a limit dropped by itself: what is drawn above it then is no fault."""
MOVED_W = 0.5


def judge(
    seed: int, seconds: float, traces: Path | None, *, rivals: bool, forecasts: bool, trace: Trace | None
) -> dict[str, Any]:
    """Figures of one seed. Raises `DoesNotTrip`."""
    return judged(demo_world(seed, seconds, traces), seconds, rivals=rivals, forecasts=forecasts, trace=trace)


def judged(
    world: World, seconds: float, *, rivals: bool, forecasts: bool, trace: Trace | None = None
) -> dict[str, Any]:
    """Figures of one world."""
    rules = read(yaml.safe_dump(rules_of(world, tree="site", mode="enforce")), "bench")
    began_s = time.process_time()
    loop = Loop(world, rules, forecasts=forecasts, trace=trace)
    ours = loop.run(seconds)
    cpu_s = time.process_time() - began_s
    static = simulate(world, seconds, caps_w=static_cap_w(world))
    result: dict[str, Any] = {
        "seed": world.seed,
        "static_pct": static.work_lost_pct,
        "ours_pct": ours.work_lost_pct,
        "ratio": ours.work_lost_pct / max(static.work_lost_pct, 1e-9),
        "jobs": {
            job.id: {"source": job.source, "ours_pct": job.lost_pct, "static_pct": other.lost_pct}
            for job, other in zip(ours.jobs, static.jobs, strict=True)
        },
        "trips": len(ours.trips),
        **_joules(ours),
        **_moves(loop, ours),
        "cpu_s": cpu_s,
        "look_ms": float(np.median(loop.look_s)) * 1e3,
        "notes": world.notes,
    }
    if rivals:
        for name, choose, period_s in (("equal", EqualCap(), 1.0), ("oracle", oracle, 0.2)):
            outcome = rival(world, seconds, choose, period_s)
            result[f"{name}_pct"] = outcome.work_lost_pct
            result[f"{name}_j"] = _joules(outcome)
            for job in outcome.jobs:
                result["jobs"][job.id][f"{name}_pct"] = job.lost_pct
    return result


def _graced(outcome: Outcome, domain: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Samples within the grace after a drop of a limit."""
    limit_w = outcome.hard_w[domain]
    graced = np.zeros(len(limit_w), dtype=np.bool_)
    for at in np.flatnonzero(np.diff(limit_w) < -0.5).tolist():
        graced[at + 1 : at + 1 + round(GRACE_S / SAMPLE_S)] = True
    return graced


def _joules(outcome: Outcome) -> dict[str, float]:
    """Worst domain: joules over the target as 10 s means, over the hard limit as drawn; graces apart."""
    over_target, over_hard = 0.0, 0.0
    for domain in outcome.wall_w:
        graced = _graced(outcome, domain)
        wall_w, above_j = outcome.wall_w[domain], 0.0
        edges = np.flatnonzero(np.diff(np.concatenate(([1], graced.astype(np.int8), [1]))))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            mean_w = trailing_mean(wall_w[begin:end], 100)
            above_w = np.maximum(mean_w - outcome.target_w[domain][begin:end], 0.0)
            above_j += float(above_w.sum()) * SAMPLE_S
        hard = np.maximum(wall_w - outcome.hard_w[domain], 0.0)[~graced]
        over_target, over_hard = max(over_target, above_j), max(over_hard, float(hard.sum()) * SAMPLE_S)
    return {"over_target_j": over_target, "over_hard_j": over_hard}


def _moves(loop: Loop, outcome: Outcome) -> dict[str, float]:
    """Changes and reversals a board and minute, and the worst breach of the sum rule in W, graces apart."""
    limits = np.array(loop.limits)
    change = np.diff(limits, axis=0)
    moved = np.abs(change) > MOVED_W
    reversals = 0
    for board in range(limits.shape[1]):
        signs = np.sign(change[moved[:, board], board])
        reversals += int((np.diff(signs) != 0).sum())
    minutes = outcome.seconds / 60 * limits.shape[1]
    sums, worst_w = Sums(loop.plant), -np.inf
    names = list(outcome.wall_w)
    graced = np.array([_graced(outcome, name) for name in names])
    hard_w = np.array([outcome.hard_w[name] for name in names])
    for number, mixture_w in enumerate(loop.mixtures):
        at = min(number // 2, hard_w.shape[1] - 1)
        over_w = sums.wall_w(mixture_w) - hard_w[:, at]
        worst_w = max(worst_w, float(np.where(graced[:, at], -np.inf, over_w).max()))
    return {
        "changes_per_gpu_min": float(moved.sum()) / minutes,
        "reversals_per_gpu_min": reversals / minutes,
        "sum_rule_over_w": max(worst_w, 0.0),
    }


def _seeds(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main() -> None:
    """A line a seed, then means and worst."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seeds", type=_seeds, default=_seeds("1-5"))
    asked.add_argument("--seconds", type=float, default=150.0)
    asked.add_argument("--traces", type=Path)
    asked.add_argument("--no-rivals", action="store_true", help="leave out equal cap and oracle")
    asked.add_argument("--no-forecaster", action="store_true", help="the planner alone")
    asked.add_argument("--json", type=Path)
    asked.add_argument("--trace", type=Path, help="ten rows a second of every job, of the last seed")
    options = asked.parse_args()
    found = []
    head = (
        "seed",
        "static",
        "equal",
        "oracle",
        "ours",
        "ratio",
        "kJ>tgt",
        "J>hard",
        "trips",
        "sum>W",
        "chg",
        "rev",
    )
    print(" ".join(f"{word:>7}" for word in head), "  jobs (ours/static/equal/oracle)")
    for seed in options.seeds:
        trace = Trace() if options.trace else None
        try:
            one = judge(
                seed, options.seconds, options.traces,
                rivals=not options.no_rivals, forecasts=not options.no_forecaster, trace=trace,
            )  # fmt: skip
        except DoesNotTrip as fault:
            print(f"{seed:>7} {fault}")
            continue
        found.append(one)
        print(_line(one), flush=True)
        if options.trace and trace is not None:
            options.trace.parent.mkdir(parents=True, exist_ok=True)
            options.trace.write_text(json.dumps(trace.rows))
    if found:
        ratios = [one["ratio"] for one in found]
        print(f"mean ratio {np.mean(ratios):.3f}, worst {max(ratios):.3f}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def _line(one: dict[str, Any]) -> str:
    cells = [
        f"{one['seed']:>7}",
        *(
            f"{one.get(key, float('nan')):7.2f}"
            for key in ("static_pct", "equal_pct", "oracle_pct", "ours_pct")
        ),
        f"{one['ratio']:7.3f}",
        f"{one['over_target_j'] / 1e3:7.2f}",
        f"{one['over_hard_j']:7.1f}",
        f"{one['trips']:>7}",
        f"{one['sum_rule_over_w']:7.1f}",
        f"{one['changes_per_gpu_min']:7.1f}",
        f"{one['reversals_per_gpu_min']:7.1f}",
    ]
    keys = ("ours_pct", "static_pct", "equal_pct", "oracle_pct")
    jobs = [
        name + " " + "/".join(f"{job[key]:.1f}" for key in keys if key in job)
        for name, job in one["jobs"].items()
    ]
    return " ".join(cells) + "   " + "; ".join(jobs)


if __name__ == "__main__":
    main()
