"""The demonstration rack: four nodes of eight boards behind a UPS of five supply modules, sized by one formula."""

from pathlib import Path

from easyrider_twin.world import World


def demo_world(seed: int, seconds: float, traces: Path | None = None) -> World:
    """Two nodes on recorded 8-GPU traces, two on one synthetic 16-GPU job; UPS `ups`, PDU `pdu` below it."""
    raise NotImplementedError


def static_cap_w(world: World) -> float:
    """The equal cap at which wall power meets the UPS's target with one supply module missing."""
    raise NotImplementedError
