"""A stack of three coordinators: the rack in two rows, a region each, and the site that lends them watts."""

from typing import Any

import msgspec

from easyrider_cli.site import fallback_per_gpu_w
from easyrider_cli.stack_children import REGION, Scopes
from easyrider_twin.world import PDU_CURVE, Domain, World

ROWS = ("row-a", "row-b")
SPARE = 1.02
"""Of what a row's fallbacks add up to: what it keeps whatever happens."""
LOOSER = 1.3
"""Of its half of the PDU: what a row carries, so that one may have what the other leaves."""


def in_rows(world: World) -> World:
    """The same rack, its nodes below two rows of their PDU."""
    (pdu,) = {node.domain for node in world.nodes}
    above = next(domain for domain in world.domains if domain.id == pdu)
    row_w = LOOSER * above.hard_limit_w / len(ROWS)
    rows = tuple(
        Domain(
            id=row,
            kind="row",
            parent=pdu,
            rating_w=row_w,
            hard_limit_w=row_w,
            target_w=row_w,
            curve=PDU_CURVE,
        )
        for row in ROWS
    )
    nodes = tuple(
        msgspec.structs.replace(node, domain=ROWS[k * len(ROWS) // len(world.nodes)])
        for k, node in enumerate(world.nodes)
    )
    return msgspec.structs.replace(world, domains=(*world.domains, *rows), nodes=nodes)


def scopes_of(world: World) -> Scopes:
    """Each node with the coordinator of its row."""
    return Scopes({node.id: node.domain for node in world.nodes})


def regions_of(world: World) -> list[dict[str, Any]]:
    """The section `regions` of its rules: the site, and each row with what the fallbacks of its nodes need."""
    fallback_w = fallback_per_gpu_w(world)
    found: list[dict[str, Any]] = [{"id": REGION}]
    for row in ROWS:
        least_w = sum(
            node.overhead_w + node.overhead_slope * fallback_w * node.gpus
            for node in world.nodes
            if node.domain == row
        )
        found.append({"id": row, "parent": REGION, "domain": row, "guaranteed_w": round(SPARE * least_w, 1)})
    return found
