"""Whether a protective device waits long enough for us, at the worst overload that can be.

The time a curve allows is linear in its logarithm between the curve's points. We need: dead-man (counted from a
nonce's mint), control period, meter delay, sensor window and actuation, in at most half of that time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from easyrider.tree import CurvePoint, Domain, Leases

SHARE = 0.5
"""Of the time a curve allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """The worst multiple of capacity in a domain, and what brings it about."""

    multiple: float
    cause: str


def allowed_s(curve: Sequence[CurvePoint], multiple: float) -> float:
    """Seconds a device carries a multiple of its capacity: for ever up to 1, none beyond its curve's last point.

    Between capacity and the first point it carries at least as long as at that point.
    """
    if multiple <= 1.0:
        return math.inf
    points = sorted(curve, key=lambda point: point.multiple)
    if not points or multiple > points[-1].multiple:
        return 0.0
    before = None
    for point in points:
        if multiple <= point.multiple:
            if before is None:
                return point.time_s
            share = (multiple - before.multiple) / (point.multiple - before.multiple)
            return math.exp((1 - share) * math.log(before.time_s) + share * math.log(point.time_s))
        before = point
    return 0.0


def need_s(leases: Leases) -> float:
    """Seconds from an overload's begin until limits surely hold it."""
    return (
        leases.dead_man_s
        + leases.control_period_s
        + leases.meter_delay_s
        + leases.sensor_window_s
        + leases.actuation_s
    )


def worst_overload(domain: Domain, start_w: float) -> Overload:
    """Worst over its planned contingencies, and over a start of every host at once, which draws `start_w`."""
    worst = Overload(multiple=_ratio(start_w, domain.carries_w), cause="a start of every host at once")
    for contingency in domain.contingencies:
        multiple = _ratio(domain.hard_w, contingency.hard_limit_w)
        if multiple > worst.multiple:
            worst = Overload(multiple=multiple, cause=contingency.name)
    return worst


def timing_fault(domain: Domain, leases: Leases, start_w: float) -> str | None:
    """Why the timing rule refuses a domain, with the numbers; None: it passes, or it has no curve to trip by."""
    if not domain.trip_points:
        return None
    worst, needed_s = worst_overload(domain, start_w), need_s(leases)
    holds_s = allowed_s(domain.trip_points, worst.multiple)
    if needed_s <= SHARE * holds_s:
        return None
    return (
        f"{domain.id}: {worst.cause} loads it to {worst.multiple:.3g} x its capacity, which its curve carries for "
        f"{holds_s:.3g} s; we need {needed_s:.3g} s and at most half of that time"
    )


def _ratio(load_w: float, capacity_w: float) -> float:
    return load_w / capacity_w if capacity_w > 0 else math.inf
