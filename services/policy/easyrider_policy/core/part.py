"""Some jobs of a layout below the same domains, so that what concerns a few does not cost what the whole site does."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.weights import Loads

Ints = NDArray[np.int64]


class Part(NamedTuple):
    """The layout of these jobs alone, and which rows of the whole its jobs, pairs, leaf pairs and seats are."""

    layout: Layout
    jobs: Ints
    pairs: Ints
    leaves: Ints
    seats: Ints  # places in `seat` of the whole, job after job

    def loads(self, whole: Loads) -> Loads:
        """What these jobs weigh."""
        return Loads(
            at_leaf=whole.at_leaf[self.leaves],
            normal=whole.normal[self.pairs],
            worst=whole.worst[self.pairs],
            per_job=whole.per_job[self.jobs],
        )


def part(layout: Layout, jobs: Ints) -> Part:
    """Of these jobs, rows in ascending order; boards and domains keep their rows."""
    row_of = np.full(layout.job_count, -1, dtype=np.int64)
    row_of[jobs] = np.arange(len(jobs))
    pairs = np.flatnonzero(row_of[layout.pair_job] >= 0)
    leaves = np.flatnonzero(row_of[layout.leaf_job] >= 0)
    links = np.flatnonzero(row_of[layout.leaf_job[layout.link_leaf]] >= 0)
    seats, begin = layout.places_of(jobs)
    pair_domain, pair_job = layout.pair_domain[pairs], row_of[layout.pair_job[pairs]]
    starts = np.flatnonzero(np.diff(pair_domain, prepend=-1))
    count = np.bincount(pair_job, minlength=len(jobs))
    seat, seat_job = layout.seat[seats], row_of[layout.seat_job[seats]]
    job_of = np.full(len(layout.job_of), -1, dtype=np.int64)
    job_of[seat] = seat_job
    columns = (
        *("gpu_count", "weight", "max_slowdown", "least_speed", "untouched", "controlled", "pilot"),
        *("started_s", "min_w", "max_w", "known_peak_w", "fallback_w"),
    )
    groups = (row_of[group] for group in layout.yield_order)
    small = replace(
        layout,
        **{name: getattr(layout, name)[jobs] for name in columns},
        jobs=tuple(layout.jobs[job] for job in jobs.tolist()),
        job_of=job_of,
        seat=seat,
        seat_job=seat_job,
        job_start=begin,
        yield_order=tuple(rows for group in groups if (rows := group[group >= 0]).size),
        leaf_domain=layout.leaf_domain[leaves],
        leaf_job=row_of[layout.leaf_job[leaves]],
        seat_leaf=np.searchsorted(leaves, layout.seat_leaf[seats]),
        pair_domain=pair_domain,
        pair_job=pair_job,
        by_job=np.argsort(pair_job, kind="stable").astype(np.int64),
        job_pair_start=np.cumsum(count) - count,
        domain_pair_start=starts,
        pair_rows=pair_domain[starts],
        link_leaf=np.searchsorted(leaves, layout.link_leaf[links]),
        link_pair=np.searchsorted(pairs, layout.link_pair[links]),
        link_normal=layout.link_normal[links],
        link_worst=layout.link_worst[links],
    )
    return Part(small, jobs, pairs, leaves, seats)
