"""Which raises wait, and for what."""

from dataclasses import dataclass

import numpy as np

from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Fleet
from easyrider_policy.core.raises import Admitted
from easyrider_policy.core.steps import Asked, Step


@dataclass(frozen=True, slots=True)
class Waiting:
    """A raise, or the rest of one, that may not leave yet. `gpu`: row of the job's first such board.

    `why`: "take_over", "silent:<node>", "leaving:<node>", "unacked:<domain>" (lowers there are not verified yet),
    "room:<domain>", or what blocks the domain ("open:...", "meter:...", "unfenced:...", "undeclared").
    """

    gpu: int
    watts: float  # per board, the most of the job's boards
    why: str


def waiting(
    fleet: Fleet, step: Step, sums: Sums, admitted: Admitted, asked: Asked, quiet: Bools, holding: bool
) -> tuple[Waiting, ...]:
    """One entry a job or idle board. `quiet` (N,): without a fresh nonce. `holding`: after a take-over."""
    short = step.rises & (admitted.share < 1.0)
    if not short.any():
        return ()
    unverified_w = fleet.slope_w(
        np.maximum(0.0, step.counted_w - np.nan_to_num(asked.limit_w) * step.overshoot)
    )
    found: dict[int, Waiting] = {}
    for row in np.flatnonzero(short).tolist():
        node, domain = int(fleet.gpu_node[row]), int(admitted.binding[row])
        if holding:
            why = "take_over"
        elif not step.free[node]:
            why = f"{'silent' if quiet[node] else 'leaving'}:{fleet.nodes[node]}"
        elif domain < 0:
            why = ""  # another board of the job binds
        elif domain in sums.blocked:
            why = sums.blocked[domain]
        else:
            why = f"{'unacked' if unverified_w[domain] > 1.0 else 'room'}:{fleet.domains[domain]}"
        watts = float(np.nan_to_num(step.target.limit_w[row] - asked.limit_w[row]))
        key, first = int(step.group[row]), row
        before = found.get(key)
        if before is not None:
            first, watts, why = before.gpu, max(watts, before.watts), before.why or why
        found[key] = Waiting(first, watts, why)
    return tuple(found.values())
