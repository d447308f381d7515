"""A PDU on two feeds that meters tell of, and what they may tell."""

from easyrider.messages import MeterReading
from easyrider.tree import Contingency, Domain, Feeds, Node, NodeClass, Rules
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import build

BATTERY = Contingency(
    name="battery", when="on_battery", hard_limit_w=8000.0, target_w=5000.0, runtime_s=600.0
)
HOT = Contingency(name="hot", when="cooling_lost", hard_limit_w=9000.0, above_c=32.0)
NO_A = Contingency(name="without_a", when="feed_lost", feed="feed-a", hard_limit_w=7000.0)
BOX = NodeClass(overhead_w=100.0, overhead_slope=1.0)
METERS = {"pdu": ("m", "m2"), "feed-a": ("fm", "fm2"), "ups": ("m", "m2")}
"""Meters of each domain: none tells of two."""


def supply(*losses: Contingency) -> Rules:
    """A PDU on two feeds, the planned losses being its own."""
    domains = (
        Domain(id="feed-a", kind="feed", rating_w=20_000.0, voltage_v=400.0, meters=METERS["feed-a"]),
        Domain(id="feed-b", kind="feed", rating_w=20_000.0),
        Domain(
            id="pdu", kind="pdu", feeds=Feeds(A="feed-a", B="feed-b"), rating_w=10_000.0,
            meters=METERS["pdu"], contingencies=losses, limit_a=16.0,
        ),
    )  # fmt: skip
    nodes = (Node(id="n", domain="pdu", node_class="b", fallback_w_per_gpu=100.0),)
    return Rules(id="s", version=1, domains=domains, classes={"b": BOX}, nodes=nodes)


def facility(*losses: Contingency) -> Facility:
    """What is known of it before any meter has told."""
    return Facility(build(supply(*losses), []))


def told(
    domain: str = "pdu", *, meter: str = "", quality: str = "good", gated: bool = True, **said
) -> MeterReading:
    """One reading of a domain's meter, of its first where none is named."""
    return MeterReading(
        region="r", meter=meter or METERS[domain][0], domain=domain, boot_id="b", seq=1, t_ns=0, mono_ns=0,
        period_s=1.0, device="ups", quality=quality, gated=gated, **said,
    )  # fmt: skip


def limits(of: Facility, domain: str = "pdu") -> tuple[float, float]:
    """Hard limit and target of a domain."""
    row = of.fleet.domain_index[domain]
    return float(of.hard_w[row]), float(of.target_w[row])
