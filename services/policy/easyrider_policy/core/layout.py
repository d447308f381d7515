"""Jobs on the fleet as arrays: which boards a job holds, and what its watts weigh on each domain.

Built once per job event or change of the fleet. A *leaf pair* is one (nearest domain, job) that meet; a
*pair* is one (domain at any height, job). Pairs stand sorted by domain, so that sums per domain are one
`reduceat`; `by_job` brings them into the order of jobs, for the smallest value among a job's domains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import Mode
from easyrider_policy.core.fleet import Fleet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

AVERAGED_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One running job as the planner needs it."""

    id: str
    gpus: tuple[int, ...]  # rows of the fleet
    type_key: str = ""
    weight: float = 1.0
    max_slowdown: float = 0.20
    flex_tier: int = 10
    least_speed: float = 0.0
    mode: Mode = "observe"
    started_s: float = -1e9  # monotonic, when its start was heard; long ago if it ran before us
    known_peak_w: float | None = None  # per board, from the fingerprint of its type


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Level:
    """Domains of one depth, and the edges from them to their parents, sorted by parent."""

    rows: Ints
    edge_child: Ints
    edge_share: Floats
    parents: Ints
    edge_start: Ints


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Layout:
    """J jobs on G boards below D domains; L leaf pairs, P pairs."""

    fleet: Fleet
    jobs: tuple[Job, ...]
    job_of: Ints  # (G,) -1: idle
    seat: Ints  # (seats,) boards in jobs, sorted by job
    seat_job: Ints  # (seats,)
    job_start: Ints  # (J,) first seat of each job
    gpu_count: Floats  # (J,)
    weight: Floats  # (J,)
    max_slowdown: Floats  # (J,)
    least_speed: Floats  # (J,) of latency-critical jobs, else 0
    untouched: Bools  # (J,) nothing of theirs may be taken without asking
    controlled: Bools  # (J,) in pilot or enforce
    pilot: Bools  # (J,)
    started_s: Floats  # (J,)
    min_w: Floats  # (J,) highest device minimum among its boards
    max_w: Floats  # (J,) lowest device maximum
    known_peak_w: Floats  # (J,) NaN: none
    fallback_w: Floats  # (J,) mean among its boards: what a job counts at least, whatever its limit
    yield_order: tuple[Ints, ...]  # groups of jobs, first to yield first
    averaged: Bools  # (D,) the target is kept as a mean over ten seconds or more
    leaf_domain: Ints  # (L,)
    leaf_job: Ints  # (L,)
    seat_leaf: Ints  # (seats,) leaf pair of each seat
    pair_domain: Ints  # (P,)
    pair_job: Ints  # (P,)
    by_job: Ints  # (P,) order of pairs by job
    job_pair_start: Ints  # (J,)
    domain_pair_start: Ints  # of `pair_rows`
    pair_rows: Ints  # domains that have pairs
    link_leaf: Ints  # (links,) leaf pair of each link into pairs
    link_pair: Ints
    link_normal: Floats
    link_worst: Floats
    levels: tuple[Level, ...]  # deepest first

    @property
    def job_count(self) -> int:
        """J."""
        return len(self.jobs)

    @property
    def domain_count(self) -> int:
        """D."""
        return len(self.fleet.domains)

    def seats_of(self, jobs: Ints) -> tuple[Ints, Ints]:
        """Boards of these jobs, one job after the other, and where the boards of each begin."""
        places, begin = self.places_of(jobs)
        return self.seat[places], begin

    def places_of(self, jobs: Ints) -> tuple[Ints, Ints]:
        """The same as places in `seat`."""
        sizes = self.gpu_count[jobs].astype(np.int64)
        begin = np.cumsum(sizes) - sizes
        return np.arange(int(sizes.sum())) + np.repeat(self.job_start[jobs] - begin, sizes), begin


def layout(fleet: Fleet, jobs: Sequence[Job]) -> Layout:
    """Arrays of these jobs on this fleet; jobs without a board are left out, boards held twice go to the first."""
    seats, kept, job_of = _seats(fleet, jobs)
    seat = np.concatenate(seats).astype(np.int64) if seats else np.zeros(0, dtype=np.int64)
    sizes = np.array([len(s) for s in seats], dtype=np.int64)
    seat_job = np.repeat(np.arange(len(kept), dtype=np.int64), sizes)
    start = (np.cumsum(sizes) - sizes).astype(np.int64)
    leaf = _leaf_pairs(fleet, seat, seat_job, len(kept))
    links = _links(fleet, *leaf[:2], len(kept))
    by_job = np.argsort(links[1], kind="stable")
    pairs_per_job = np.bincount(links[1], minlength=len(kept))
    rows, row_start = np.unique(links[0], return_index=True)
    least = np.minimum.reduceat(fleet.max_w[seat], start) if kept else np.zeros(0)
    most = np.maximum.reduceat(fleet.min_w[seat], start) if kept else np.zeros(0)
    return Layout(
        fleet=fleet,
        jobs=tuple(kept),
        job_of=job_of,
        seat=seat,
        seat_job=seat_job,
        job_start=start,
        gpu_count=sizes.astype(np.float64),
        weight=_floats([job.weight for job in kept]),
        max_slowdown=_floats([job.max_slowdown for job in kept]),
        least_speed=_floats([job.least_speed for job in kept]),
        untouched=np.array([job.flex_tier == 0 for job in kept], dtype=np.bool_),
        controlled=np.array([job.mode in ("pilot", "enforce") for job in kept], dtype=np.bool_),
        pilot=np.array([job.mode == "pilot" for job in kept], dtype=np.bool_),
        started_s=_floats([job.started_s for job in kept]),
        min_w=most,
        max_w=np.maximum(least, most),
        known_peak_w=_floats([np.nan if job.known_peak_w is None else job.known_peak_w for job in kept]),
        fallback_w=_mean_fallback(fleet, seat, start, sizes),
        yield_order=_yield_order(kept),
        averaged=np.array([d.target_window_s >= AVERAGED_S for d in fleet.domain_records], dtype=np.bool_),
        leaf_domain=leaf[0],
        leaf_job=leaf[1],
        seat_leaf=leaf[2],
        pair_domain=links[0],
        pair_job=links[1],
        by_job=by_job.astype(np.int64),
        job_pair_start=(np.cumsum(pairs_per_job) - pairs_per_job).astype(np.int64),
        domain_pair_start=row_start.astype(np.int64),
        pair_rows=rows,
        link_leaf=links[2],
        link_pair=links[3],
        link_normal=links[4],
        link_worst=links[5],
        levels=_levels(fleet),
    )


def _seats(fleet: Fleet, jobs: Sequence[Job]) -> tuple[list[Ints], list[Job], Ints]:
    job_of = np.full(len(fleet.gpus), -1, dtype=np.int64)
    seats: list[Ints] = []
    kept: list[Job] = []
    for job in jobs:
        rows = np.array(sorted(set(job.gpus)), dtype=np.int64)
        rows = rows[job_of[rows] < 0] if rows.size else rows
        if rows.size:
            job_of[rows] = len(kept)
            kept.append(job)
            seats.append(rows)
    return seats, kept, job_of


def _mean_fallback(fleet: Fleet, seat: Ints, start: Ints, sizes: Ints) -> Floats:
    if not len(start):
        return np.zeros(0)
    back_w = fleet.fallback_w[fleet.gpu_node[seat]]
    return np.asarray(np.add.reduceat(back_w, start) / sizes, dtype=np.float64)


def _leaf_pairs(fleet: Fleet, seat: Ints, seat_job: Ints, jobs: int) -> tuple[Ints, Ints, Ints]:
    key = fleet.node_domain[fleet.gpu_node[seat]] * max(jobs, 1) + seat_job
    unique, back = np.unique(key, return_inverse=True)
    return unique // max(jobs, 1), unique % max(jobs, 1), back.astype(np.int64)


def _links(
    fleet: Fleet, leaf_domain: Ints, leaf_job: Ints, jobs: int
) -> tuple[Ints, Ints, Ints, Ints, Floats, Floats]:
    """Pairs (domain, job) and how leaf pairs add up to them; shares are those of any node of the leaf domain."""
    mesh = fleet.weights.of_domains
    order = np.argsort(mesh.below, kind="stable")
    count = np.bincount(mesh.below, minlength=len(fleet.domains))
    first = np.cumsum(count) - count
    heights = count[leaf_domain]
    link_leaf = np.repeat(np.arange(len(leaf_domain), dtype=np.int64), heights)
    within = np.arange(len(link_leaf)) - np.repeat(np.cumsum(heights) - heights, heights)
    entry = order[first[leaf_domain[link_leaf]] + within]
    key = mesh.above[entry] * max(jobs, 1) + leaf_job[link_leaf]
    unique, back = np.unique(key, return_inverse=True)
    return (
        unique // max(jobs, 1),
        unique % max(jobs, 1),
        link_leaf,
        back.astype(np.int64),
        mesh.normal[entry],
        mesh.worst[entry],
    )


def _levels(fleet: Fleet) -> tuple[Level, ...]:
    depth = np.zeros(len(fleet.domains), dtype=np.int64)
    for row, parents in enumerate(fleet.parents):  # parents stand first
        depth[row] = 1 + max((depth[p] for p in parents), default=-1)
    found = []
    for level in range(int(depth.max(initial=-1)), -1, -1):
        rows = np.flatnonzero(depth == level)
        edges = sorted((p, int(row), 1 / len(fleet.parents[row])) for row in rows for p in fleet.parents[row])
        above = np.array([edge[0] for edge in edges], dtype=np.int64)
        parents_here, starts = np.unique(above, return_index=True)
        found.append(
            Level(
                rows=rows,
                edge_child=np.array([edge[1] for edge in edges], dtype=np.int64),
                edge_share=_floats([edge[2] for edge in edges]),
                parents=parents_here,
                edge_start=starts.astype(np.int64),
            )
        )
    return tuple(found)


def _yield_order(jobs: Sequence[Job]) -> tuple[Ints, ...]:
    """Ascending priority; among equals the more flexible first, what is only piloted last."""
    keys = [(job.mode == "pilot", job.weight, -job.flex_tier) for job in jobs]
    return tuple(
        np.array([i for i, other in enumerate(keys) if other == key], dtype=np.int64)
        for key in sorted(set(keys))
    )


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)
