"""What people are told where a node speaks with another boot id than it did before."""

from easyrider import log, metrics
from easyrider.messages import NodeFrame, NodeState
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
_BOOTS = metrics.counter(
    "policy_boots_total", "boots that nodes speak with, new or earlier ones again", ["what"]
)
_EARLIER = metrics.counter("policy_earlier_boot_total", "frames and states of a boot that was replaced")


def told(picture: Picture, node: int, word: NodeFrame | NodeState, before: bool | None) -> bool:
    """Whether a word that was judged is of the boot believed to run; `before`: what `Roll.boot_is` said until then."""
    roll = picture.safety.ledger.roll
    if roll.boot[node] != word.boot_id:
        _EARLIER.inc()
        log.bounded(_LOG, f"earlier boot {word.node}", 30.0).warning(
            "words of an earlier boot of a node are left aside; should the later one say nothing more, the earlier is "
            "believed again within seconds; should both go on, two hosts speak for one node",
            node=word.node,
            boot_id=word.boot_id,
            later=roll.boot[node],
        )
        return False
    if before is not True and roll.earlier_boots[node]:
        _BOOTS.labels("new" if before is None else "again").inc()
        log.bounded(_LOG, f"boot {word.node} {before}", 5.0).warning(
            "a node speaks with a new boot id: it counts its most until it acks a command"
            if before is None
            else "the boot before goes on, and what replaced it says nothing more: it is believed again, and counts "
            "its most until it acks a command",
            node=word.node,
            boot_id=word.boot_id,
        )
    return True
