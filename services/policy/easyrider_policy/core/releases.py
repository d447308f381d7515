"""Boards on their way back to what they were found with: what each waits for, and whether it waits in vain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.control import Control
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.foretold import lacking_w
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
    leaving_w = np.full(len(fleet.gpus), np.nan)
    for request in leavings.waiting.values():
        leaving_w[request.rows] = request.baseline_w
    able = (control.commands.based & ~leavings.away())[fleet.gpu_node] & ~ledger.stuck
    short_w = leavings.needs_w(now_s, ledger, counted_w) - sums.room_w
    vain_w = lacking_w(fleet, counted_w, ledger.overshoot, leaving_w, managed & able, sums.room_w)
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
                forbidden_w={
                    name: vain_w[name] for row in above.tolist() if (name := fleet.domains[row]) in vain_w
                },
                why=_why(control, sums, node, request, short_w, vain_w, bool(quiet[node])),
            )
        )
    return tuple(found)


def _above_0(names: tuple[str, ...], rows: NDArray[np.int64], watts: Floats) -> Iterator[tuple[str, float]]:
    for row in rows.tolist():
        if watts[row] > SLACK_W:
            yield names[row], float(watts[row])


def _why(
    control: Control,
    sums: Sums,
    node: int,
    request: Request,
    short_w: Floats,
    vain_w: Mapping[str, float],
    quiet: bool,
) -> str:
    fleet = control.fleet
    held = [row for row in request.rows.tolist() if control.holds.boards[row]]
    if held:
        return control.holds.why(held[0])
    if quiet:
        return f"silent:{fleet.nodes[node]}"
    above = fleet.ancestors(node).tolist()
    for row in above:
        if fleet.domains[row] in vain_w:
            return f"forbidden:{fleet.domains[row]}"
    for row in above:
        if row in sums.blocked:
            return sums.blocked[row]
    for row in above:
        if short_w[row] > SLACK_W:
            return f"room:{fleet.domains[row]}"
    return "grant"
