"""Start offsets for the jobs of every domain that binds or nearly does, out of what the planner has seen of them.

Advice alone. One job gets one offset: what was found for the domain that is pressed most stands for those after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.observe import Observation
from easyrider_policy.core.offsets import Group, Wave, groups
from easyrider_policy.core.weights import loads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Seen:
    """One pressed domain: waves of its jobs in wall watts, and the jobs that have none that is known."""

    domain: str
    window_s: float
    binds: bool
    used_share: float
    waves: tuple[Wave, ...]
    left_out: tuple[LeftOut, ...]


def seen(
    observation: Observation, observed_w: Floats, target_w: Floats, price: Floats, now_s: float
) -> tuple[Seen, ...]:
    """Waves below each pressed domain, as of now. Wall watts (D,); `price` (D,) above 0: it binds."""
    layout = observation.layout
    if not layout.job_count:
        return ()
    weight = loads(layout, np.ones(len(layout.fleet.gpus))).normal
    templates: dict[int, Floats | None] = {}
    found = []
    for row in pressed(observed_w, target_w, price).tolist():
        pairs = np.flatnonzero(layout.pair_domain == row)
        waves, left_out = _waves(observation, pairs, weight[pairs], templates, now_s)
        found.append(
            Seen(
                domain=layout.fleet.domains[row],
                window_s=layout.fleet.domain_records[row].target_window_s,
                binds=bool(price[row] > 0),
                used_share=float(observed_w[row] / max(target_w[row], 1e-9)),
                waves=tuple(waves),
                left_out=tuple(left_out),
            )
        )
    return tuple(found)


def staggered(domains: Sequence[Seen]) -> tuple[Staggered, ...]:
    """What each of these domains could avoid."""
    stands: dict[str, float] = {}
    found = []
    for one in domains:
        waves = [replace(wave, fixed_s=stands.get(wave.job)) for wave in one.waves]
        together, alone = groups(waves, one.window_s)
        stands.update((job.job, job.offset_s) for group in together for job in group.jobs)
        left_out = [
            *one.left_out,
            *(
                LeftOut(job=job, why="no other job here keeps a period like its own; theirs drift apart")
                for job in alone
            ),
        ]
        avoided_w = sum(group.avoided_w for group in together)
        found.append(
            Staggered(
                domain=one.domain,
                binds=one.binds,
                used_share=one.used_share,
                avoided_w=avoided_w,
                groups=together,
                left_out=tuple(left_out[:NAMED]),
                left_out_count=len(left_out),
                says=_says(len(waves), together, avoided_w),
            )
        )
    return tuple(found)


def _waves(
    observation: Observation,
    pairs: Ints,
    weight: Floats,
    templates: dict[int, Floats | None],
    now_s: float,
) -> tuple[list[Wave], list[LeftOut]]:
    layout, rhythms, peak_w = observation.layout, observation.rhythms, observation.peak_w
    jobs = layout.pair_job[pairs]
    most = np.argsort(-weight * peak_w[jobs], kind="stable")
    waves, left_out = [], []
    for place, at in enumerate(most.tolist()):
        row, name = int(jobs[at]), layout.jobs[jobs[at]].id
        why = rhythms.why_not(row, now_s)
        why = why or ("it is smaller than those that are looked at" if place >= JOBS_MOST else "")
        if not why and row not in templates:
            templates[row] = rhythms.template(row, float(peak_w[row]))
        watts = None if why else templates[row]
        if watts is None:
            left_out.append(LeftOut(job=name, why=why or "too little of its period was seen"))
            continue
        waves.append(Wave(job=name, period_s=float(rhythms.period_s[row]), watts=weight[at] * watts))
    return waves, left_out


def _says(waves: int, together: Sequence[Group], avoided_w: float) -> str:
    if avoided_w > 0:
        return ""
    if avoided_w < 0:
        return "offsets of a domain that is pressed more bring peaks together here"
    if waves < 2:
        return "fewer than two jobs here have a period that is known: nothing to gain"
    if not together:
        return "periods drift apart: nothing to gain"
    return "peaks are as far apart as they can be: nothing to gain"
