"""Giving boards back as they were found, and letting them go."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.core.orders import Order
from easyrider_guardian.core.records import Baseline
from easyrider_guardian.core.repair import Cause, matches
from easyrider_guardian.core.vector import HELD
from easyrider_guardian.node import Node, needed

Permit = Callable[[int], str | None]


def restore(node: Node, uuids: Iterable[str], cause: Cause, permit: Permit) -> dict[str, str]:
    """Restore the baselines, lowers first, verified; a board restored is under control no more.

    What came in the way, by UUID; such a board keeps its baseline on file, and the rest of it. The last board
    restored disarms the guardian and removes the file.
    """
    node.crew.look_now()
    node.absorb()
    asked = list(dict.fromkeys(uuids))
    found = needed(node.baselines)
    targets = {uuid: found[uuid] for uuid in asked if uuid in found}
    refusals = {uuid: "no_baseline" for uuid in asked if uuid not in found}
    refusals |= _write(node, targets, cause, permit)
    _let_go(node, frozenset(targets) - frozenset(refusals))
    return refusals


def _write(node: Node, targets: dict[str, Baseline], cause: Cause, permit: Permit) -> dict[str, str]:
    now_ns = boot_ns()
    refusals: dict[str, str] = {}
    lowers: list[Order] = []
    raises: list[Order] = []
    for uuid, baseline in targets.items():
        reading = node.reading(uuid, now_ns)
        if reading is None:
            refusals[uuid] = "no_answer"
            continue
        target_w = round(min(max(baseline.requested_w, reading.min_w), reading.max_w), 3)
        if matches(target_w, reading):
            continue
        raised = reading.highest_w < target_w
        if raised and node.hold is not None:
            refusals[uuid] = HELD
            continue
        order = node.order(uuid, target_w, raised, cause, permit)
        (raises if raised else lowers).append(order)
    _hold(node, [*lowers, *raises])
    fallen = node.carry_out(lowers)
    refusals |= {uuid: outcome.problem for uuid, outcome in fallen.items() if outcome.problem is not None}
    if refusals or not node.stored:
        why = "lower_unverified" if refusals else "cannot_store"
        return refusals | {order.uuid: why for order in raises}
    risen = node.carry_out(raises)
    return {uuid: outcome.problem for uuid, outcome in risen.items() if outcome.problem is not None}


def _hold(node: Node, orders: Iterable[Order]) -> None:
    """What is about to be written is what shall be held: a repair must not fight it, nor a restart undo it."""
    changed = {
        order.uuid: replace(held, present_w=order.limit_w)
        for order in orders
        if (held := node.standing.holdings.get(order.uuid)) is not None
    }
    if changed:
        node.keep(node.standing.with_holdings(changed))


def _let_go(node: Node, restored: frozenset[str]) -> None:
    if node.baselines is None or not restored:
        return
    left = {uuid: found for uuid, found in node.baselines.items() if uuid not in restored}
    node.keep(node.standing.without(restored))
    # If the file can not be written, a restart finds itself armed with nothing under control: it writes nothing.
    if node.keeper.keep_baselines(left):
        node.baselines = left or None
