"""How the standing changes: a grant, a vector, what came of its writes, a board let go."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from easyrider_guardian.core.fence import Command, Lease
from easyrider_guardian.core.records import Baseline, Holding, Reading, Standing
from easyrider_guardian.core.vector import HELD, Entry


def granted(standing: Standing, command: Command, lease: Lease) -> Standing:
    """Fence everything older and restart the dead-man at the mint of the echoed nonce."""
    return replace(
        standing,
        epoch=command.epoch,
        seq=command.seq,
        grant_ns=max(standing.grant_ns, lease.mint_ns),
        ttl_s=command.ttl_s,
        stage=0,
    )


def held(standing: Standing, entries: Iterable[Entry]) -> Standing:
    """Hold what a vector asks. A refused entry changes nothing, one without watts ends the control.

    Of one refused for an operator's hold the fallback is taken, which is not above the one before.
    """
    changed: dict[str, Holding] = {}
    for entry in entries:
        before = standing.holdings.get(entry.uuid)
        if entry.refused == HELD and before is not None and before.controlled:
            changed[entry.uuid] = replace(before, fallback_w=entry.fallback_w)
        if entry.refused is not None:
            continue
        if entry.limit_w is not None:
            changed[entry.uuid] = Holding(present_w=entry.limit_w, fallback_w=entry.fallback_w)
        elif before is not None:
            changed[entry.uuid] = replace(before, controlled=False)
    return standing.with_holdings(changed)


def not_raised(standing: Standing, before: Standing, uuids: Iterable[str]) -> Standing:
    """The standing after raises that were not written: such a board holds no more than it held before."""
    changed: dict[str, Holding] = {}
    for uuid in uuids:
        now, then = standing.holdings[uuid], before.holdings.get(uuid)
        if then is not None:
            changed[uuid] = replace(now, present_w=min(now.present_w, then.present_w))
    return standing.with_holdings(changed)


def first_found(
    known: Mapping[str, Baseline], entries: Iterable[Entry], readings: Mapping[str, Reading | None]
) -> dict[str, Baseline]:
    """The baselines with those boards added that are controlled for the first time; none is ever replaced.

    A refused entry takes no board under control: a node that accepted no watts stays unarmed.
    """
    found = dict(known)
    for entry in entries:
        reading = readings.get(entry.uuid)
        if entry.refused is not None or entry.limit_w is None or entry.uuid in found or reading is None:
            continue
        found[entry.uuid] = Baseline(
            requested_w=reading.requested_w,
            enforced_w=reading.enforced_w,
            min_w=reading.min_w,
            max_w=reading.max_w,
            default_w=reading.default_w,
        )
    return found
