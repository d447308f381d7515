"""How fast limits open: a job that starts or wakes along the ramps of its domains, all of them after a limit came back.

A cap cannot hold power up, and cannot slow what a job does below its limit. It can open slowly: below a domain with a
ramp, what limits allow to be drawn grows by no more than that, so that neither starts nor a release of many jobs
are a step for a generator. What is opened goes to the job that weighs most first, the others follow.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.layout import Layout
from easyrider_policy.core.weights import Loads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

RELEASE_PER_S: Final = 0.1
"""Of a target: so fast it comes back after a load target or a loss of supply, since the work of a fifth of it is lost
meanwhile: two seconds of it after a module. What an emergency took comes back more slowly by itself, as it decays."""
SAVED_S: Final = 1.0
"""So much of a ramp that was not used may be used at once: plans come about so often."""
NEARLY: Final = 0.95
WHOLE: Final = 1.0 - 1e-9


class Opened(NamedTuple):
    """Limits (J,) per board, what they take of each ramp (D,), and which domain slows each job (J,), -1: none."""

    limit_w: Floats
    taken_w: Floats
    slowed_by: Ints


def eased_w(before_w: Floats, target_w: Floats, ramp_w_per_s: Floats, elapsed_s: float) -> Floats:
    """Targets (D,) to plan by: they fall at once and come back by a part a second; `before_w` infinite: none before."""
    rises_w = np.minimum(RELEASE_PER_S * target_w, ramp_w_per_s) * elapsed_s
    return np.asarray(np.minimum(target_w, np.maximum(before_w, 0.0) + rises_w), dtype=np.float64)


def refilled_w(spare_w: Floats, ramp_w_per_s: Floats, elapsed_s: float, every_s: float) -> Floats:
    """What is saved of each ramp (D,) now, infinite where there is none. `every_s`: how often limits may change."""
    most_w = ramp_w_per_s * max(SAVED_S, every_s)
    more_w = np.where(np.isfinite(ramp_w_per_s), ramp_w_per_s * elapsed_s if elapsed_s > 0 else 0.0, np.inf)
    return np.asarray(np.minimum(spare_w + more_w, most_w), dtype=np.float64)


def usable_w(spare_w: Floats, ramp_w_per_s: Floats, every_s: float) -> Floats:
    """What of it may open now (D,): nothing until a whole step is saved, or limits would move with every plan."""
    whole_w = NEARLY * ramp_w_per_s * max(SAVED_S, every_s)
    return np.where(spare_w >= whole_w, spare_w, 0.0)


def opened(
    layout: Layout, loads: Loads, before_w: Floats, next_w: Floats, natural_w: Floats, usable_w: Floats
) -> Opened:
    """Raises from `before_w` (J,) shrunk to what ramps allow (D,), infinite where there is none."""
    none = np.full(layout.job_count, -1, dtype=np.int64)
    ramped = np.isfinite(usable_w)
    if not ramped.any() or not layout.job_count:
        return Opened(next_w, np.zeros(layout.domain_count), none)
    # A job draws no more than its nature: beyond it a limit opens nothing.
    grow_w = np.minimum(next_w, natural_w) - np.minimum(before_w, natural_w)
    pairs = np.flatnonzero(ramped[layout.pair_domain])
    domain, job = layout.pair_domain[pairs], layout.pair_job[pairs]
    watts = loads.normal[pairs] * grow_w[job]
    left_w = np.where(ramped, usable_w, 0.0)
    np.add.at(left_w, domain, np.maximum(-watts, 0.0))  # what falls makes way for what rises
    turn = np.empty(layout.job_count, dtype=np.int64)
    turn[np.lexsort((layout.started_s, -layout.weight))] = np.arange(layout.job_count)
    order = np.lexsort((turn[job], domain))
    order = order[watts[order] > 0]
    share, slowed_by = np.ones(layout.job_count), none
    if len(order):
        domain, job, watts = domain[order], job[order], watts[order]
        total_w = np.cumsum(watts)
        first = np.flatnonzero(np.diff(domain, prepend=-1))
        ahead_w = (
            total_w - watts - np.repeat((total_w - watts)[first], np.diff(np.append(first, len(domain))))
        )
        part = np.clip((left_w[domain] - ahead_w) / watts, 0.0, 1.0)
        np.minimum.at(share, job, part)
        binds = (part <= share[job] + 1e-12) & (part < WHOLE)
        slowed_by[job[binds]] = domain[binds]
    limit_w = np.where(share > WHOLE, next_w, before_w + share * np.maximum(grow_w, 0.0))
    limit_w = np.where(next_w < before_w, next_w, limit_w)
    taken_w = np.zeros(layout.domain_count)
    grown_w = np.minimum(limit_w, natural_w) - np.minimum(before_w, natural_w)
    np.add.at(taken_w, layout.pair_domain[pairs], loads.normal[pairs] * grown_w[layout.pair_job[pairs]])
    return Opened(limit_w, np.maximum(taken_w, 0.0), slowed_by)
