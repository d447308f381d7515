"""What would free a limit that something other than a price holds, by the reason that is told for it."""

from dataclasses import dataclass
from typing import Literal

Act = Literal[
    "raise_target",
    "raise_hard_limit",
    "end_load_target",
    "shed_load",
    "clear_hold",
    "clear_node_hold",
    "change_mode",
    "restore_node",
    "restore_meter",
    "declare",
    "restore_supply",
    "look_at_board",
    "ask_region",
    "ask_parent",
    "wait",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One thing that would free it. `place`: the domain, node, hold or load target to turn to; `by_w` wall watts."""

    act: Act
    place: str
    says: str
    by_w: float | None = None


_PLAIN: dict[str, tuple[Act, str]] = {
    "stalled": ("wait", "its watts are lent while it waits, and come back at once when it wakes"),
    "pacing": ("wait", "limits move in small steps; the next ones bring it further"),
    "start": ("wait", "once its draw is known it is given what it takes"),
    "unplanned": ("wait", "the next plan counts it"),
    "floor": ("wait", "it is at the lowest speed its priority class accepts; others would have to yield"),
    "held": ("look_at_board", "a board of it is held lower by itself, as by heat, and sets the pace of all"),
    "held_lower": ("look_at_board", "the board enforces less than it was asked to hold"),
    "stuck": ("look_at_board", "the board takes no limit, so it is counted at its maximum"),
    "idle": ("wait", "it is in no job and held at its minimum; a job that starts on it is given watts at once"),
    "not_ours": ("change_mode", "in its present mode nothing is limited here: the limit was set by somebody else"),
    "take_over": ("wait", "a coordinator that has just begun to lead raises nothing until leases have run out"),
    "undeclared": ("declare", "a node below has no known maximum: declare it in the rules, or start its agents"),
    "least_step": ("wait", "the rest of the raise is smaller than a step"),
}  # fmt: skip
_PLACED: dict[str, tuple[Act, str]] = {
    "hold": ("clear_hold", "an operator lets nothing rise here until the hold is cleared"),
    "guardian_hold": ("clear_node_hold", "somebody told the guardian of this node to take no raise"),
    "load_target": ("end_load_target", "a load target lowers what may be drawn; it ends by itself, or is taken away"),
    "demand": ("wait", "a billed interval is held under its ceiling; it frees when the interval closes"),
    "ramp": ("wait", "limits below it open along its ramp, the job that weighs most first"),
    "infeasible": ("shed_load", "it is exceeded even at the lowest limits: move or stop load below it"),
    "loss": ("restore_supply", "it carries less until what was lost of its supply is back"),
    "silent": ("restore_node", "it says nothing, so it is counted at its worst until it speaks"),
    "leaving": ("restore_node", "it is leaving, and its baseline is booked"),
    "left": ("restore_node", "it has left; it is limited again when it comes back"),
    "unacked": ("wait", "lowers below it are not acknowledged yet"),
    "room": ("wait", "limits below it have to be lowered first, or its hard limit to rise"),
    "meter": ("restore_meter", "its meter is silent, and nothing rises on what nobody measures"),
    "region": ("ask_region", "that region plans the jobs there, within what it is lent here"),
    "lent": ("ask_parent", "that region lends no more here: ask it what binds there, and what else it lends"),
    "share": ("ask_parent", "no word of that region came in time: this is the guaranteed share until one does"),
    "open": ("restore_meter", "boards below it are not ours, and neither a meter nor a declaration bounds them"),
    "unfenced": ("restore_node", "a node below it has not acknowledged this coordinator yet"),
}  # fmt: skip


def ways_of(reason: str) -> tuple[Way, ...]:
    """Ways out of a reason told as `kind` or `kind:place`; none where a price explains it, or nothing binds."""
    kind, _, place = reason.partition(":")
    found = _PLACED.get(kind) if place else _PLAIN.get(kind)
    return () if found is None else (Way(act=found[0], place=place, says=found[1]),)
