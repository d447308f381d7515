"""Many that say the same at the same moment: some are named, and the last of these says how many more there are.

A large site that comes up, or loses a switch, has thousands of nodes, domains or jobs of which the same is true at
once. One event for each would keep the coordinator from what it is there for, and nobody reads them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from easyrider_policy.core.tidings import Tiding

NAMED: Final = 32
"""So many of a kind and way are named in one look; a site of as many nodes is told of each."""
WAYS: Final = {"node_silent": "silent", "meter_silent": "silent", "slowed": "beyond", "excursion": "above"}
"""The field that says whether a trouble began or ended; of `infeasible` it is whether watts are missing."""


def bounded(tidings: Iterable[Tiding]) -> Iterator[Tiding]:
    """The same news with no more than `NAMED` of a kind and way; of other kinds every one."""
    seen: dict[tuple[str, bool], list[Tiding]] = {}
    for tiding in tidings:
        way = _way(tiding)
        if way is None:
            yield tiding
            continue
        crowd = seen.setdefault((tiding.kind, way), [])
        crowd.append(tiding)
        if len(crowd) < NAMED:
            yield tiding
    for crowd in seen.values():
        if len(crowd) >= NAMED:
            kind, data = crowd[NAMED - 1]
            others = len(crowd) - NAMED
            yield Tiding(kind, {**data, "others": others} if others else data)


def _way(tiding: Tiding) -> bool | None:
    if tiding.kind == "infeasible":
        return tiding.data["missing_w"] != 0.0
    return bool(tiding.data[WAYS[tiding.kind]]) if tiding.kind in WAYS else None
