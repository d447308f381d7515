"""The rules document of a simulated site: what its operator would declare about the same hardware."""

from typing import Any

from easyrider_twin.world import World

BUSY_PRIORITY = {"normal": {"weight": 1.0, "max_slowdown": 0.20, "flex_tier": 10}}


def rules_of(world: World, *, tree: str, mode: str) -> dict[str, Any]:
    """The document for a world, every GPU in `mode`, with the device minimum as fallback.

    A UPS of n modules plans for the loss of one. Overheads are declared as the node's own.
    """
    fallback_w = fallback_per_gpu_w(world)
    return {
        "tree": {"id": tree, "version": 1},
        "domains": [_domain(world, d.id) for d in world.domains],
        "classes": {
            key: {
                "overhead_w": node.overhead_w,
                "overhead_slope": node.overhead_slope,
                "gpu_max_w": world.models[node.model].max_limit_w,
                "gpu_min_w": world.models[node.model].min_limit_w,
                "gpu_count": node.gpus,
            }
            for key, node in _classes(world).items()
        },
        "nodes": [
            {
                "id": node.id,
                "domain": node.domain,
                "class": _class_key(world, node.id),
                "fallback_w_per_gpu": fallback_w,
                "boot_guard": True,
            }
            for node in world.nodes
        ],
        "modes": [{"selector": {"node": ["*"]}, "mode": mode, "reason": "simulated site", "since": ""}],
        "priorities": BUSY_PRIORITY,
    }


def fallback_per_gpu_w(world: World) -> float:
    """The highest device minimum: a fallback counts in the sums at every moment, so a higher one costs room."""
    return max(world.models[node.model].min_limit_w for node in world.nodes)


def _planned_hard_w(world: World, domain_id: str) -> float:
    domain = next(d for d in world.domains if d.id == domain_id)
    return (
        domain.hard_limit_w * (domain.modules - 1) / domain.modules if domain.modules else domain.hard_limit_w
    )


def _domain(world: World, domain_id: str) -> dict[str, Any]:
    domain = next(d for d in world.domains if d.id == domain_id)
    document: dict[str, Any] = {
        "id": domain.id,
        "kind": domain.kind,
        "rating_w": domain.rating_w,
        "hard_limit_w": domain.hard_limit_w,
        "target_w": domain.target_w,
        "curve": [{"multiple": m, "time_s": t} for m, t in domain.curve],
        "fixed_w": domain.fixed_w,
        "unmanaged_max_w": 0.0,
        "meters": [meter.id for meter in world.meters if meter.domain == domain.id],
    }
    if domain.parent is not None:
        document["parent"] = domain.parent
    if domain.modules:
        document["supply_modules"] = domain.modules
        document["contingencies"] = [
            {"name": "one_module_lost", "hard_limit_w": _planned_hard_w(world, domain.id)}
        ]
    return document


def _classes(world: World) -> dict[str, Any]:
    return {_class_key(world, node.id): node for node in world.nodes}


def _class_key(world: World, node_id: str) -> str:
    node = next(n for n in world.nodes if n.id == node_id)
    return f"{node.model}-{node.gpus}-{node.overhead_w:.0f}-{node.overhead_slope * 100:.0f}"
