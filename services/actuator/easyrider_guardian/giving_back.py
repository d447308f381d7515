"""`easyrider-guardian --restore`: put back what was found where no guardian runs, and end."""

import time

from easyrider import log
from easyrider_guardian.adapters.clocks import boot_ns
from easyrider_guardian.node import Node, needed
from easyrider_guardian.restoring import restore

DRIVER_S = 5.0
LOOK_S = 0.1


def give_back(node: Node) -> bool:
    """Whether every board holds what it was found with. The operator answers for the sum of limits."""
    logger = log.get("restore")
    if not node.armed:
        logger.info("nothing to restore: no limit was written by a guardian of this folder")
        return True
    if node.hold is not None:
        logger.warning("the hold of this node ends with what is put back", reason=node.hold.reason)
        node.hold = None
        node.keeper.keep_hold(None)
    until_ns = boot_ns() + round(DRIVER_S * 1e9)
    while boot_ns() < until_ns and not _all_seen(node):
        node.crew.tend(boot_ns())
        node.crew.look_now()
        node.absorb()
        time.sleep(LOOK_S)
    refusals = restore(node, list(needed(node.baselines)), "restore", lambda _now_ns: None)
    for uuid, why in refusals.items():
        logger.error("not restored", gpu=uuid, why=why)
    if not node.armed:
        logger.info("restored and disarmed")
    return not node.armed


def _all_seen(node: Node) -> bool:
    now_ns = boot_ns()
    return all(node.reading(uuid, now_ns) is not None for uuid in needed(node.baselines))
