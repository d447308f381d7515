"""What goes wrong in the scenarios, as shares of a run's length so that a short run has it too."""

import numpy as np

from easyrider_bench.cases import WARM_UP_S, DeadTelemetry, Loss, Stranger, Swing

BEGIN, LENGTH = 0.25, 0.42
"""A supply is lost after a quarter of the run, for 250 s of 600."""
MODULE_SHARE = 0.8
BATTERY_SHARE = 0.8
BATTERY_MARGIN = 1.10
"""The battery carries the target in force on it for the whole outage, and so much more."""
NEIGHBOUR_SHARE = 0.06
"""Of the natural peak: the most that the unmanaged neighbour draws."""


def _span_s(seconds: float) -> tuple[float, float]:
    begin_s = WARM_UP_S + round(BEGIN * seconds, 1)
    return begin_s, begin_s + round(LENGTH * seconds, 1)


def module_lost(seconds: float) -> Loss:
    """One of five supply modules of the rack fails."""
    begin_s, end_s = _span_s(seconds)
    return Loss(domain=0, begin_s=begin_s, end_s=end_s, share=MODULE_SHARE, modules=1)


def on_battery(seconds: float, target_w: float) -> Loss:
    """Mains are lost; `target_w` is the rack's in normal operation."""
    begin_s, end_s = _span_s(seconds)
    held_j = BATTERY_MARGIN * BATTERY_SHARE * target_w * (end_s - begin_s)
    return Loss(domain=0, begin_s=begin_s, end_s=end_s, share=BATTERY_SHARE, battery_j=held_j)


def feed_lost(seconds: float, place: int) -> Loss:
    """One feed is lost whole and the other carries everything."""
    begin_s, end_s = _span_s(seconds)
    return Loss(domain=place, begin_s=begin_s, end_s=end_s, share=1.0, feed=True)


def neighbours(rng: np.random.Generator, seconds: float, most_w: float) -> list[Stranger]:
    """Load on both PDUs that jumps every few seconds to minutes, together at most `most_w`."""
    found = []
    for domain in (1, 2):
        begins_s, power_w, at_s = [0.0], [0.3 * most_w / 2], WARM_UP_S
        while at_s < WARM_UP_S + seconds:
            begins_s.append(round(at_s / 0.05) * 0.05)
            power_w.append(float(rng.uniform(0.0, 1.0)) * most_w / 2)
            at_s += float(rng.uniform(4.0, 45.0))
        power_w[1 + int(rng.integers(len(power_w) - 1))] = most_w / 2
        found.append(Stranger(domain=domain, begins_s=np.array(begins_s), power_w=np.array(power_w)))
    return found


def dead_telemetry(seconds: float) -> DeadTelemetry:
    """The third node is not heard for half of the run."""
    return DeadTelemetry(node=2, begin_s=WARM_UP_S + 0.25 * seconds, end_s=WARM_UP_S + 0.75 * seconds)


def swing() -> Swing:
    """A true swing of 9.6 Hz on half of the nodes, which a look every 0.1 s shows as a wave of seconds."""
    return Swing(hz=9.6, ratio=0.12, nodes=(0, 2, 4, 6))
