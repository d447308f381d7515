"""What an oracle is handed: the state of one run as it is, and 1.5 s of its future."""

import numpy as np

from easyrider_bench.boards import Boards
from easyrider_bench.cases import Case
from easyrider_bench.controllers.contract import Bools, Floats, Truth
from easyrider_bench.supply import Supply
from easyrider_bench.timelines import Timelines
from easyrider_twin import speed

AHEAD_S = np.linspace(0.0, 1.5, 16)


def truth(
    run: int, case: Case, t_s: float, timelines: Timelines, boards: Boards, supply: Supply, enforced_w: Floats
) -> Truth:
    """The truth of one run at `t_s`."""
    site = case.site
    natural_w, occupied = timelines.ahead(run, site.gpus, AHEAD_S, t_s)
    peak_w, memory = np.full(site.gpus, site.idle_w), np.zeros(site.gpus, dtype=np.bool_)
    for job, high_w in timelines.running(run):
        peak_w[job.boards] = high_w
        memory[job.boards] = job.memory_bound
    count, steps = len(site.domains), len(AHEAD_S)
    if case.losses:
        limits = [supply.state_at(run, t_s + float(ahead_s)) for ahead_s in AHEAD_S]
        hard_w, target_w = (np.array([each[k][:count] for each in limits]) for k in (0, 1))
    else:
        hard_w, target_w = (np.tile(each[:count], (steps, 1)) for each in supply.state_at(run, t_s))
    stranger_w = np.zeros((steps, count))
    for stranger in case.strangers:
        stranger_w[:, stranger.domain] += [stranger.at(t_s + float(ahead_s)) for ahead_s in AHEAD_S]
    return Truth(
        ahead_s=AHEAD_S,
        natural_w=natural_w,
        occupied=occupied,
        peak_w=peak_w,
        memory_bound=memory,
        speed=true_speed,
        overshoot=boards.overshoot[run],
        unmanaged_w=stranger_w,
        wall_w=supply.wall_w[run, :count].copy(),
        enforced_w=enforced_w.copy(),
        hard_w=hard_w,
        target_w=target_w,
    )


def true_speed(ratio: Floats, memory_bound: Bools) -> Floats:
    """Speed at each share of natural draw, by the curves that the hall lives by."""
    return np.where(memory_bound, speed.memory_bound(ratio), speed.compute_bound(ratio))
