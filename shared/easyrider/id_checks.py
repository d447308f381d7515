"""What every id of a rules document must be: one of its kind, and fit for a subject."""

from collections import Counter
from collections.abc import Iterable

from easyrider.records import Faults
from easyrider.subjects import BadToken, token


def check_ids(place: str, ids: Iterable[str], faults: Faults) -> None:
    """Adds a fault for each that stands twice or is no token."""
    every = list(ids)
    check_once(place, every, faults)
    for name in dict.fromkeys(every):
        check_token(f"{place}[{name}].id", name, faults)


def check_once(place: str, names: Iterable[str], faults: Faults) -> None:
    """Adds a fault for each that stands twice."""
    for name, count in Counter(names).items():
        if count > 1:
            faults.add(f"{place}[{name}]", f"stands {count} times")


def check_token(place: str, name: str, faults: Faults) -> None:
    """Adds a fault where the name cannot stand in a subject."""
    try:
        token(name)
    except BadToken as fault:
        faults.add(place, str(fault))
