"""A sample of the running rack in words: what a person is shown while it runs."""

from collections.abc import Mapping
from typing import Any

from easyrider_cli.progress import DomainNow, Moment
from easyrider_twin.world import World


def moment(world: World, sample: Mapping[str, Any], counts: Mapping[str, int], total_s: float) -> Moment:
    """One line of the twin's truth and the journal's counts so far, as progress shows them."""
    return Moment(
        phase=phase(world, sample),
        elapsed_s=sample["t_s"],
        total_s=total_s,
        domains=tuple(
            DomainNow(
                domain=domain.id,
                wall_w=sample["wall_w"][domain.id],
                hard_w=sample["hard_w"][domain.id],
                target_w=sample["target_w"][domain.id],
            )
            for domain in world.domains
        ),
        acks=counts.get("ack", 0),
        raises_waited=counts.get("raise_waited", 0),
        tripped=tuple(sample["tripped"]),
    )


def phase(world: World, sample: Mapping[str, Any]) -> str:
    """Where the run stands: before, during or after the failure of supply modules."""
    for domain in world.domains:
        if not domain.modules:
            continue
        missing = round(domain.modules * (1 - sample["capacity_w"][domain.id] / domain.rating_w))
        if missing > 0:
            some = "module" if missing == 1 else "modules"
            return f"with EasyRider: {missing} {some} of {domain.modules} of {domain.id} failed"
        if any(f.domain == domain.id and f.at_s + f.for_s <= sample["t_s"] for f in world.failures):
            return f"with EasyRider: all modules of {domain.id} work again"
    return "with EasyRider"
