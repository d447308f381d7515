"""Words that are left aside: each is counted by its reason, and told of so often that a log stays readable."""

from easyrider import log, metrics
from easyrider.bus_port import Arrival
from easyrider.messages import Leaving, LimitAck, NodeFrame, NodeState
from easyrider_policy.core.ages import Ages

_LOG = log.get("policy")
DROPPED = metrics.counter("policy_messages_dropped_total", "messages left aside, by reason", ["reason"])


def stranger(subject: bytes) -> None:
    """A frame of a node that no rules name: it is counted, and not read."""
    DROPPED.labels("unknown_node").inc()
    log.bounded(_LOG, "node", 30.0).warning(
        "a node that is not in the rules speaks", subject=subject.decode(errors="replace")
    )


def late(count: int) -> None:
    """So many samples came too late to be readings."""
    DROPPED.labels("late").inc(count)


def ahead(ages: Ages, word: NodeFrame | NodeState | Leaving | LimitAck, arrival: Arrival) -> bool:
    """Whether a node's word is left aside because its clock runs ahead of what its boot's is known to show.

    Nothing is believed of it, so what is counted of the node's boards stays as it is.
    """
    if not ages.ahead(word.node, word.boot_id, word.mono_ns, arrival.mono_ns):
        return False
    DROPPED.labels("clock_ahead").inc()
    log.bounded(_LOG, "ahead", 10.0).warning(
        "a node's clock runs ahead of what it showed before; its word is left aside",
        node=word.node,
        kind=type(word).__name__,
        mono_ns=word.mono_ns,
    )
    return True
