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

    `why`: "take_over", "hold:<id>", "guardian_hold:<node>", "silent:<node>", "leaving:<node>", "unacked:<domain>"
    (lowers there are not verified yet), "room:<domain>", or what blocks the domain ("open:...", "meter:...",
    "unfenced:...", "undeclared").
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
    rows = np.flatnonzero(short)
    binding, group = admitted.binding[rows], step.group[rows]
    left_w = np.nan_to_num(step.target.limit_w[rows] - asked.limit_w[rows])
    # Of a job's boards the one that cannot rise says why, else one that a domain binds.
    rank = np.where(step.bound[rows], 0, np.where(binding >= 0, 1, 2))
    order = np.lexsort((rows, rank, group))
    begin = np.flatnonzero(np.diff(group[order], prepend=-1))
    most_w = np.maximum.reduceat(left_w[order], begin)
    first = np.minimum.reduceat(rows[order], begin)

    def why(row: int, domain: int) -> str:
        machine = int(fleet.gpu_node[row])
        if holding:
            return "take_over"
        if step.holds is not None and step.holds.boards[row]:
            return step.holds.why(row)
        if not step.free[machine]:
            return f"{'silent' if quiet[machine] else 'leaving'}:{fleet.nodes[machine]}"
        if domain < 0:
            return "least_step"
        if domain in sums.blocked:
            return sums.blocked[domain]
        return f"{'unacked' if unverified_w[domain] > 1.0 else 'room'}:{fleet.domains[domain]}"

    chosen = rows[order][begin]
    return tuple(
        Waiting(gpu, watts, why(row, domain))
        for gpu, watts, row, domain in zip(
            first.tolist(), most_w.tolist(), chosen.tolist(), admitted.binding[chosen].tolist(), strict=True
        )
    )
