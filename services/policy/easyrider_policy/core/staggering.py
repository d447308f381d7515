"""Start offsets for the jobs of every domain that binds or nearly does, out of what the planner has seen of them.

Advice alone. One job gets one offset: what was found for the domain that is pressed most stands for those after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.observe import Observation
from easyrider_policy.core.offsets import Group, Wave, groups
from easyrider_policy.core.weights import loads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEAR: Final = 0.85
"""A domain that draws this share of its target nearly binds."""
DOMAINS_MOST: Final = 8
JOBS_MOST: Final = 64
"""Of one domain, those that could draw most."""
NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A job that no offset is proposed for."""

    job: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Staggered:
    """One domain: what its jobs could avoid by offsets; `says` where that is nothing."""

    domain: str
    binds: bool
    used_share: float  # of its target, now
    avoided_w: float
    groups: tuple[Group, ...]
    left_out: tuple[LeftOut, ...]  # the first twenty
    left_out_count: int
    says: str


def pressed(observed_w: Floats, target_w: Floats, price: Floats) -> Ints:
    """Rows of domains that bind or nearly do, those that use most of their target first."""
    used = observed_w / np.maximum(target_w, 1e-9)
    tight = np.flatnonzero((price > 0) | (used >= NEAR))
    order = np.lexsort((tight, -np.nan_to_num(used[tight], nan=0.0), price[tight] <= 0))
    return np.asarray(tight[order][:DOMAINS_MOST], dtype=np.int64)


def staggered(
    observation: Observation, observed_w: Floats, target_w: Floats, price: Floats, now_s: float
) -> tuple[Staggered, ...]:
    """What each pressed domain could avoid. Wall watts (D,); `price` (D,) above 0: it binds."""
    layout = observation.layout
    if not layout.job_count:
        return ()
    weight = loads(layout, np.ones(len(layout.fleet.gpus))).normal
    stands: dict[str, float] = {}
    found = []
    for row in pressed(observed_w, target_w, price).tolist():
        pairs = np.flatnonzero(layout.pair_domain == row)
        waves, left_out = _waves(observation, pairs, weight[pairs], stands, now_s)
        window_s = layout.fleet.domain_records[row].target_window_s
        together, alone = groups(waves, window_s)
        stands.update((job.job, job.offset_s) for group in together for job in group.jobs)
        left_out += [
            LeftOut(job=job, why="no other job here keeps a period like its own; theirs drift apart")
            for job in alone
        ]
        avoided_w = sum(group.avoided_w for group in together)
        found.append(
            Staggered(
                domain=layout.fleet.domains[row],
                binds=bool(price[row] > 0),
                used_share=float(observed_w[row] / max(target_w[row], 1e-9)),
                avoided_w=avoided_w,
                groups=together,
                left_out=tuple(left_out[:NAMED]),
                left_out_count=len(left_out),
                says=_says(len(waves), together, avoided_w),
            )
        )
    return tuple(found)


def _waves(
    observation: Observation, pairs: Ints, weight: Floats, stands: dict[str, float], now_s: float
) -> tuple[list[Wave], list[LeftOut]]:
    layout, rhythms, peak_w = observation.layout, observation.rhythms, observation.peak_w
    jobs = layout.pair_job[pairs]
    most = np.argsort(-weight * peak_w[jobs], kind="stable")
    waves, left_out = [], []
    for place, at in enumerate(most.tolist()):
        row, name = int(jobs[at]), layout.jobs[jobs[at]].id
        why = rhythms.why_not(row, now_s)
        why = why or ("it is smaller than those that are looked at" if place >= JOBS_MOST else "")
        watts = None if why else rhythms.template(row, float(peak_w[row]))
        if watts is None:
            left_out.append(LeftOut(job=name, why=why or "too little of its period was seen"))
            continue
        waves.append(
            Wave(
                job=name,
                period_s=float(rhythms.period_s[row]),
                watts=weight[at] * watts,
                fixed_s=stands.get(name),
            )
        )
    return waves, left_out


def _says(waves: int, together: Sequence[Group], avoided_w: float) -> str:
    if avoided_w > 0:
        return ""
    if waves < 2:
        return "fewer than two jobs here have a period that is known: nothing to gain"
    if not together:
        return "periods drift apart: nothing to gain"
    return "peaks are as far apart as they can be: nothing to gain"
