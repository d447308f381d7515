"""What holds and load targets must say: ids once, domains that exist, moments that are some, watts above 0."""

from collections.abc import Iterable

from easyrider.id_checks import check_ids
from easyrider.moments import BadMoment, unix_s
from easyrider.records import Faults
from easyrider.tree import HoldRule, LoadTarget


def check_holds(holds: Iterable[HoldRule], domain_ids: set[str], faults: Faults) -> None:
    """Adds every fault of the holds."""
    rows = list(holds)
    check_ids("holds", (hold.id for hold in rows), faults)
    for hold in rows:
        place = f"holds[{hold.id}]"
        for domain in hold.domains:
            if domain not in domain_ids:
                faults.add(f"{place}.domains", f"names {domain!r}, which is no domain")
        if hold.since:
            _moment(f"{place}.since", hold.since, faults)


def check_targets(targets: Iterable[LoadTarget], domain_ids: set[str], faults: Faults) -> None:
    """Adds every fault of the load targets."""
    rows = list(targets)
    check_ids("targets", (target.id for target in rows), faults)
    for target in rows:
        place = f"targets[{target.id}]"
        if target.domain not in domain_ids:
            faults.add(f"{place}.domain", f"names {target.domain!r}, which is no domain")
        begins_s = _moment(f"{place}.begins", target.begins, faults)
        ends_s = _moment(f"{place}.ends", target.ends, faults)
        if begins_s is not None and ends_s is not None and ends_s <= begins_s:
            faults.add(place, f"ends at {target.ends}, not after it begins at {target.begins}")
        if target.target_w <= 0:
            faults.add(f"{place}.target_w", f"is {target.target_w:g}, not above 0")
        if target.ramp_s <= 0:
            faults.add(f"{place}.ramp_s", f"is {target.ramp_s:g}, not above 0")


def _moment(place: str, text: str, faults: Faults) -> float | None:
    try:
        return unix_s(text)
    except BadMoment as fault:
        faults.add(place, str(fault))
        return None
