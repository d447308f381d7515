"""An operator's hold on this node: nothing rises until it is cleared, whoever commands, and over every restart."""

from easyrider import log
from easyrider.guardian_link import REASON_LIMIT, Reply
from easyrider_guardian.core.records import HoldOrder
from easyrider_guardian.node import Node


def order_hold(node: Node, number: int, on: bool, body: bytes) -> Reply:
    """The reply to `hold` or `clear`. A hold that cannot be stored holds all the same, and its reply says so."""
    logger = log.get("hold")
    if not on:
        if not node.keeper.keep_hold(None):
            return Reply(id=number, kind="refused", why="cannot_store")  # it would be back with a restart
        node.hold = None
        logger.warning("the hold is cleared: raises are taken again")
        return Reply(id=number, kind="done")
    if len(body) > REASON_LIMIT:
        return Reply(id=number, kind="refused", why="reason_too_long")
    node.hold = HoldOrder(reason=body.decode(errors="replace"))
    stored = node.keeper.keep_hold(node.hold)
    logger.warning("an operator holds this node: nothing rises", reason=node.hold.reason, stored=stored)
    return Reply(id=number, kind="done" if stored else "refused", why="" if stored else "held_but_not_stored")
