"""Boards on their way back to what they were found with: what each waits for, and whether it waits in vain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.control import Control
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.leaving import Request

SLACK_W = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Boards of one node that wait for their baseline. Watts of `missing_w` and `forbidden_w` are wall watts.

    `missing_w`: what every waiting baseline together lacks now, by domain above the node; `forbidden_w`: what it
    would lack with every other board of ours at its least, so that waiting is in vain.
    """

    node: str
    gpus: tuple[str, ...]
    whole: bool  # the node itself asks; else a mode that changed
    baseline_w: float  # board watts
    for_s: float
    missing_w: Mapping[str, float]
    forbidden_w: Mapping[str, float]
    why: str  # what it waits for now


def partings(now_s: float, control: Control, sums: Sums, managed: Bools) -> tuple[Parting, ...]:
    """Every request that was not granted yet, by node. `sums` as of now; `managed` (G,)."""
    leavings, ledger, fleet = control.leavings, control.ledger, control.fleet
    if not leavings.waiting:
        return ()
    counted_w = ledger.counted_w(now_s)
    needs_w = leavings.needs_w(now_s, ledger, counted_w)
    leaves = np.zeros(len(fleet.gpus), dtype=np.bool_)
    for request in leavings.waiting.values():
        leaves[request.rows] = True
    able = (control.commands.based & ~leavings.away())[fleet.gpu_node] & ~ledger.stuck
    lowerable = managed & able & ~leaves
    # A board that is lowered as far as it goes still counts its fallback.
    back_w = np.clip(fleet.fallback_w[fleet.gpu_node], fleet.min_w, fleet.max_w)
    least_w = np.where(lowerable, np.minimum(counted_w, back_w * ledger.overshoot), counted_w)
    short_w = needs_w - sums.room_w
    vain_w = short_w - fleet.slope_w(counted_w - least_w)
    quiet = ledger.roll.quiet(now_s)
    found = []
    for node, request in sorted(leavings.waiting.items()):
        above = fleet.ancestors(node)
        found.append(
            Parting(
                node=fleet.nodes[node],
                gpus=tuple(fleet.gpus[row] for row in request.rows.tolist()),
                whole=request.whole,
                baseline_w=float(request.baseline_w.sum()),
                for_s=max(0.0, now_s - request.asked_s),
                missing_w=dict(_above_0(fleet.domains, above, short_w)),
                forbidden_w=dict(_above_0(fleet.domains, above, vain_w)),
                why=_why(control, sums, node, request, (short_w, vain_w), bool(quiet[node])),
            )
        )
    return tuple(found)


def _above_0(names: tuple[str, ...], rows: NDArray[np.int64], watts: Floats) -> Iterator[tuple[str, float]]:
    for row in rows.tolist():
        if watts[row] > SLACK_W:
            yield names[row], float(watts[row])


def _why(
    control: Control, sums: Sums, node: int, request: Request, watts: tuple[Floats, Floats], quiet: bool
) -> str:
    fleet = control.fleet
    held = [row for row in request.rows.tolist() if control.holds.boards[row]]
    if held:
        return control.holds.why(held[0])
    if quiet:
        return f"silent:{fleet.nodes[node]}"
    short_w, vain_w = watts
    above = fleet.ancestors(node).tolist()
    for row in above:
        if vain_w[row] > SLACK_W:
            return f"forbidden:{fleet.domains[row]}"
    for row in above:
        if row in sums.blocked:
            return sums.blocked[row]
    for row in above:
        if short_w[row] > SLACK_W:
            return f"room:{fleet.domains[row]}"
    return "grant"
