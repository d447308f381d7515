"""Sites of three levels of coordinators for the hierarchy's bench: halls, rows, racks, and jobs that cross rows.

Everything is synthetic and comes from a seed. A row is a leaf coordinator's, a hall a middle one's, the site the top's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Domain, Node, NodeClass, Region, Rules
from easyrider_policy.core import curves
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.layout import Job, Layout, layout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GPUS_PER_NODE, NODES_PER_RACK = 8, 8
MIN_W, MAX_W = 200.0, 700.0
OVERHEAD_W, SLOPE = 1600.0, 1.23
LARGEST = 2048
NEAR_PCT = 0.5
HARD = 1.25
"""Hard limits by target."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Site:
    """The whole, as one flat coordinator would see it. `row_of` (N,): the leaf of each node."""

    rules: Rules
    boards: tuple[Board, ...]
    fleet: Fleet
    layout: Layout
    natural_w: Floats  # (J,) per GPU
    busy: Ints  # (J,) classes
    row_of: tuple[str, ...]

    @property
    def crossing_pct(self) -> float:
        """GPUs in jobs that stand in more than one row, of all GPUs."""
        placed = self.layout
        rows = np.array([self.row_of[node] for node in self.fleet.gpu_node])
        crossing = sum(len(job.gpus) for job in placed.jobs if len(set(rows[list(job.gpus)])) > 1)
        return 100.0 * crossing / len(self.fleet.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How large a site is to be, and how many of its GPUs are to be in jobs that cross rows.

    `deep`: nodes, racks, aisles, rows, halls and the site have limits; else racks, rows, halls and the site.
    """

    gpus: int
    leaves: int
    jobs: int
    crossing_pct: float
    deep: bool = True


def make(plan: Plan, seed: int) -> Site:
    """The lowest domains get 0.72-1.05 of what their jobs want, and higher ones 0.86-1 of their parts together."""
    rng = np.random.default_rng(seed)
    nodes, leaves = plan.gpus // GPUS_PER_NODE, plan.leaves
    row_of = tuple(f"row{node * leaves // nodes}" for node in range(nodes))
    halls = max(2, round(leaves**0.5))
    hall_of = {f"row{k}": f"hall{k * halls // leaves}" for k in range(leaves)}
    first = {row: row_of.index(row) for row in hall_of}
    rack_of = [f"{row}-rack{(node - first[row]) // NODES_PER_RACK}" for node, row in enumerate(row_of)]
    racks = dict(zip(rack_of, row_of, strict=True))
    parents: dict[str, str | None] = {"site": None}
    parents |= dict.fromkeys(hall_of.values(), "site") | hall_of
    aisles = {rack: f"{row}-aisle{int(rack.partition('-rack')[2]) // 8}" for rack, row in racks.items()}
    above = {aisle: racks[rack] for rack, aisle in aisles.items()}
    boxes = {f"n{i}-box": rack for i, rack in enumerate(rack_of)}
    parents |= above | aisles | boxes if plan.deep else racks
    lowest = list(boxes) if plan.deep else rack_of
    placed_jobs = _jobs(rng, row_of, plan)
    draft = _rules(parents, lowest, dict.fromkeys(parents, 1e9), {})
    boards = tuple(
        Board(uuid=f"n{i}g{g}", node=f"n{i}", min_w=MIN_W, max_w=MAX_W)
        for i in range(nodes)
        for g in range(GPUS_PER_NODE)
    )
    fleet = build(draft, boards)
    placed = layout(fleet, placed_jobs)
    natural_w = rng.uniform(420.0, 640.0, placed.job_count)
    target_w = _targets(rng, fleet, placed, natural_w)
    least_w = _wall_w(fleet, placed, np.full(placed.job_count, MIN_W), MIN_W)
    regions = {
        name: (parent, 0.999 * least_w[fleet.domain_index[name]])
        for name, parent in parents.items()
        if parent is not None and not name.partition("-")[2]
    }
    by_name = dict(zip(fleet.domains, target_w.tolist(), strict=True))
    rules = _rules(parents, lowest, by_name, regions)
    fleet = build(rules, boards)
    placed = layout(fleet, placed_jobs)
    return Site(
        rules=rules,
        boards=boards,
        fleet=fleet,
        layout=placed,
        natural_w=natural_w,
        busy=curves.busy_class(rng.uniform(0.6, 1.0, placed.job_count)),
        row_of=row_of,
    )


def _rules(
    parents: dict[str, str | None],
    lowest: list[str],
    target_w: dict[str, float],
    regions: dict[str, tuple[str, float]],
) -> Rules:
    return Rules(
        id="bench",
        version=1,
        domains=tuple(
            Domain(
                id=name,
                kind="rack" if "-" in name else "row",
                parent=parent,
                rating_w=HARD * target_w[name],
                target_w=target_w[name],
                target_window_s=1.0,
            )
            for name, parent in parents.items()
        ),
        classes={"box": NodeClass(overhead_w=OVERHEAD_W, overhead_slope=SLOPE)},
        nodes=tuple(
            Node(id=f"n{i}", domain=rack, node_class="box", fallback_w_per_gpu=MIN_W)
            for i, rack in enumerate(lowest)
        ),
        regions=(
            Region(id="site"),
            *(
                Region(id=name, parent=parent, domain=name, guaranteed_w=watts)
                for name, (parent, watts) in regions.items()
            ),
        )
        if regions
        else (),
    )


def _jobs(rng: np.random.Generator, row_of: tuple[str, ...], plan: Plan) -> list[Job]:
    """Sizes log-uniform over a factor of 2,048, side by side, 3 % idle; nodes change places until enough GPUs cross.

    Where side by side already brings more over the borders of rows, jobs end there.
    """
    nodes = len(row_of)
    gpus = nodes * GPUS_PER_NODE
    place, sizes = np.arange(nodes), _sizes(rng, row_of, plan)
    ends = np.cumsum(sizes)
    job_of = np.searchsorted(ends, np.arange(nodes) * GPUS_PER_NODE, side="right")

    def crossing() -> float:
        rows: dict[int, set[str]] = {}
        for at, node in enumerate(place.tolist()):
            rows.setdefault(int(job_of[at]), set()).add(row_of[node])
        wide = [job for job, names in rows.items() if len(names) > 1 and job < len(sizes)]
        return 100.0 * float(sizes[wide].sum()) / gpus

    while (before_pct := crossing()) < plan.crossing_pct - NEAR_PCT:
        one, other = rng.integers(0, nodes, 2)
        place[[one, other]] = place[[other, one]]
        if crossing() > max(before_pct, plan.crossing_pct + NEAR_PCT):
            place[[one, other]] = place[[other, one]]
    slots = (place[:, None] * GPUS_PER_NODE + np.arange(GPUS_PER_NODE)).ravel()
    return [
        Job(
            id=f"j{j}",
            gpus=tuple(slots[end - size : end].tolist()),
            weight=float(rng.choice([1.0, 2.0, 4.0])),
            max_slowdown=0.20,
            mode="enforce",
            started_s=0.0,
        )
        for j, (size, end) in enumerate(zip(sizes.tolist(), ends.tolist(), strict=True))
    ]


def _sizes(rng: np.random.Generator, row_of: tuple[str, ...], plan: Plan) -> Ints:
    """GPUs of each job from the first slot on; those that would cross a border beyond the wanted share end there."""
    gpus = len(row_of) * GPUS_PER_NODE
    names = np.array([row_of[node] for node in range(len(row_of)) for _ in range(GPUS_PER_NODE)])
    borders = np.append(np.flatnonzero(names[1:] != names[:-1]) + 1, gpus)
    raw = np.exp(rng.uniform(0.0, np.log(LARGEST), plan.jobs))
    wanted = np.maximum(1, np.floor(raw / raw.sum() * gpus * 0.97)).astype(int).tolist()
    found: list[int] = []
    at, crossed = 0, 0
    for size in wanted:
        border = int(borders[min(np.searchsorted(borders, at, side="right"), len(borders) - 1)])
        if at + size > border:
            if 100.0 * (crossed + size) / gpus > plan.crossing_pct:
                size = border - at
            else:
                crossed += size
        size = min(size, gpus - at)
        if size <= 0:
            break
        found.append(size)
        at += size
    return np.array(found, dtype=np.int64)


def _wall_w(fleet: Fleet, placed: Layout, per_gpu_w: Floats, idle_w: float) -> Floats:
    """(D,) wall watts when every GPU of a job draws `per_gpu_w` (J,) and every other one `idle_w`."""
    gpu_w = np.full(len(fleet.gpus), idle_w)
    in_job = placed.job_of >= 0
    gpu_w[in_job] = per_gpu_w[placed.job_of[in_job]]
    node_w = fleet.overhead_w + fleet.overhead_slope * np.bincount(fleet.gpu_node, weights=gpu_w)
    return fleet.weights.normal(node_w)


def _targets(rng: np.random.Generator, fleet: Fleet, placed: Layout, natural_w: Floats) -> Floats:
    """(D,) budgets as shares of demand above what stands there anyway; none below what its floors need."""
    none_w = np.zeros(placed.job_count)
    standing_w, full_w = _wall_w(fleet, placed, none_w, MIN_W), _wall_w(fleet, placed, natural_w, MIN_W)
    needed_w = _wall_w(fleet, placed, 0.66 * natural_w, MIN_W)
    room_w = np.zeros(len(full_w))
    children: dict[int, list[int]] = {}
    for row, above in enumerate(fleet.parents):
        for parent in above:
            children.setdefault(parent, []).append(row)
    for row in reversed(range(len(room_w))):
        if row in children:
            room_w[row] = sum(room_w[c] for c in children[row]) * rng.uniform(0.86, 1.0)
        else:
            room_w[row] = (full_w[row] - standing_w[row]) * rng.uniform(0.72, 1.05)
    return np.maximum(standing_w + room_w, needed_w)
