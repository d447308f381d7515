"""Random sites for the planner's bench, seven deep: site, hall, block, row, rack, node, GPU.

Jobs are of all sizes, some scattered; or, with `jobs` None, every GPU works for itself. All is synthetic, from a seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.layout import Job, Layout, layout

Floats = NDArray[np.float64]

GPUS_PER_NODE = 8
FAN = 8
MIN_W, MAX_W, IDLE_W = 200.0, 700.0, 75.0
OVERHEAD_W, SLOPE = 1600.0, 1.23
MAX_SLOWDOWN = 0.20
LEVELS = ("hall", "block", "row", "rack")
NODE_SHARES, RACK_SHARES, PART_SHARES = (0.85, 1.30), (0.72, 1.05), (0.93, 1.0)
"""What a node and a rack may draw of what their jobs want, and what is above of what its parts may.

Jobs of many nodes are held by the tightest of them, so nodes are ample; four levels stand above the racks.
"""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Site:
    """What is true of a site: natural draw (J,) W per GPU, share of time at it (J,), limits (D,) wall W."""

    fleet: Fleet
    layout: Layout
    peak_w: Floats
    busy: Floats
    target_w: Floats
    hard_w: Floats


def make(nodes: int, jobs: int | None, seed: int) -> Site:
    """A site whose nodes and racks get shares of what their jobs want, and whose higher domains of their parts."""
    rng = np.random.default_rng(seed)
    domains = _tree(nodes)
    rules = Rules(
        id="bench",
        version=1,
        domains=domains,
        classes={"box": NodeClass(overhead_w=OVERHEAD_W, overhead_slope=SLOPE)},
        nodes=tuple(
            Node(id=f"n{i}", domain=f"node{i}", node_class="box", fallback_w_per_gpu=MIN_W)
            for i in range(nodes)
        ),
    )
    boards = [
        Board(uuid=f"n{i}g{g}", node=f"n{i}", min_w=MIN_W, max_w=MAX_W)
        for i in range(nodes)
        for g in range(GPUS_PER_NODE)
    ]
    fleet = build(rules, boards)
    placed = layout(fleet, _services(rng, nodes) if jobs is None else _jobs(rng, nodes, jobs))
    peak_w, busy = _natures(rng, placed, alike=jobs is None)
    target_w = _targets(rng, fleet, placed, peak_w)
    draft = Site(fleet=fleet, layout=placed, peak_w=peak_w, busy=busy, target_w=target_w, hard_w=target_w)
    none_w = np.zeros(placed.job_count)
    armed_w = wall_w(draft, none_w, MIN_W) - wall_w(
        draft, none_w
    )  # what idle GPUs could draw more than they do
    return Site(
        fleet=fleet,
        layout=placed,
        peak_w=peak_w,
        busy=busy,
        target_w=target_w,
        hard_w=1.25 * target_w + armed_w,
    )


def _natures(rng: np.random.Generator, placed: Layout, alike: bool) -> tuple[Floats, Floats]:
    """Natural draw (J,) W per GPU and share of time at it (J,); replicas of one service on a node are nearly alike."""
    if not alike:
        return rng.uniform(420.0, 640.0, placed.job_count), rng.uniform(0.6, 1.0, placed.job_count)
    service = np.array([int(job.type_key) for job in placed.jobs])
    draw_w = rng.uniform(420.0, 640.0, service.max() + 1)[service]
    busy = rng.uniform(0.6, 1.0, service.max() + 1)[service]
    return draw_w * rng.normal(1.0, 0.012, placed.job_count), busy


def wall_w(site: Site, per_gpu_w: Floats, idle_w: float = IDLE_W) -> Floats:
    """Wall watts per domain when every GPU of a job draws `per_gpu_w` (J,) and every other one `idle_w`."""
    gpu_w = np.full(len(site.fleet.gpus), idle_w)
    in_job = site.layout.job_of >= 0
    gpu_w[in_job] = per_gpu_w[site.layout.job_of[in_job]]
    node_w = OVERHEAD_W + SLOPE * gpu_w.reshape(-1, GPUS_PER_NODE).sum(axis=1)
    total = np.zeros(len(site.fleet.domains))
    for row, domain in zip(site.fleet.node_domain, node_w, strict=True):
        total[row] += domain
    for row in reversed(range(len(total))):
        for parent in site.fleet.parents[row]:
            total[parent] += total[row]
    return total


def _tree(nodes: int) -> tuple[Domain, ...]:
    found = [Domain(id="site", kind="site", rating_w=1e9, target_window_s=1.0)]
    counts = [-(-nodes // FAN**depth) for depth in (4, 3, 2, 1)]
    above = "site"
    for kind, count in zip((*LEVELS, "node"), (*counts, nodes), strict=True):
        for i in range(count):
            parent = "site" if above == "site" else f"{above}{i // FAN}"
            found.append(Domain(id=f"{kind}{i}", kind=kind, parent=parent, rating_w=1e9, target_window_s=1.0))
        above = kind
    return tuple(found)


def _jobs(rng: np.random.Generator, nodes: int, jobs: int) -> list[Job]:
    """Log-uniform sizes up to 2,048 GPUs, laid side by side; a fifth of the nodes is scattered."""
    gpus = nodes * GPUS_PER_NODE
    sizes = np.exp(rng.uniform(0.0, np.log(2048.0), jobs))
    sizes = np.maximum(1, np.floor(sizes / sizes.sum() * gpus * 0.97)).astype(int)
    place = np.arange(nodes)
    loose = np.flatnonzero(rng.random(nodes) < 0.2)
    place[loose] = rng.permutation(loose)
    rows = (place[:, None] * GPUS_PER_NODE + np.arange(GPUS_PER_NODE)).ravel()
    ends = np.cumsum(sizes)
    return [
        Job(
            id=f"j{j}",
            gpus=tuple(rows[end - size : end].tolist()),
            weight=float(rng.choice([1.0, 2.0, 4.0])),
            max_slowdown=MAX_SLOWDOWN,
            mode="enforce",
            started_s=0.0,
        )
        for j, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]


def _services(rng: np.random.Generator, nodes: int) -> list[Job]:
    """Every GPU works for itself: a replica of one of 40 services, one or two services a node."""
    weight = rng.choice([1.0, 2.0, 4.0], 40)
    first, second = rng.integers(0, 40, nodes), rng.integers(0, 40, nodes)
    cut = rng.integers(1, GPUS_PER_NODE + 1, nodes)
    return [
        Job(
            id=f"n{node}g{gpu}",
            gpus=(node * GPUS_PER_NODE + gpu,),
            type_key=str(first[node] if gpu < cut[node] else second[node]),
            weight=float(weight[first[node] if gpu < cut[node] else second[node]]),
            max_slowdown=MAX_SLOWDOWN,
            mode="enforce",
            started_s=0.0,
        )
        for node in range(nodes)
        for gpu in range(GPUS_PER_NODE)
    ]


def _targets(rng: np.random.Generator, fleet: Fleet, placed: Layout, peak_w: Floats) -> Floats:
    """Budgets as shares of demand above what stands there anyway; no domain below what its floors need."""
    draft = Site(fleet=fleet, layout=placed, peak_w=peak_w, busy=peak_w, target_w=peak_w, hard_w=peak_w)
    standing_w, full_w = wall_w(draft, np.zeros(len(peak_w))), wall_w(draft, peak_w)
    needed_w = wall_w(draft, 0.64 * peak_w)
    want_w = full_w - standing_w
    room_w = np.zeros(len(full_w))
    below_w = np.zeros(len(full_w))  # room of a domain's parts
    for row in reversed(range(len(room_w))):
        kind = fleet.domain_records[row].kind
        if kind == "node":
            room_w[row] = want_w[row] * rng.uniform(*NODE_SHARES)
        elif kind == "rack":
            room_w[row] = want_w[row] * rng.uniform(*RACK_SHARES)
        else:
            room_w[row] = below_w[row] * rng.uniform(*PART_SHARES)
        for parent in fleet.parents[row]:
            below_w[parent] += room_w[row]
    return np.maximum(standing_w + room_w, needed_w)
