"""Which nodes have lost the right to be controlled: their boards go back to `observe` until newer rules say otherwise.

An XID error of the hardware, or limits that somebody else keeps moving, mean that what is written there does not
hold or must not be touched. The boards leave as any board leaves: limits stay until the room for more is booked.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.modes import Labels

Ints = NDArray[np.int64]
Cause = Literal["xid", "drift"]

OF_PROGRAMS = frozenset({13, 31, 43, 45})
"""XIDs that a faulty program raises on a healthy board (NVIDIA, XID errors, table of causes)."""
DRIFTS, WITHIN_S = 3, 600.0
"""So many moves that no command asked for, within so long, are a quarrel about who sets limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demoted:
    """One node's boards back in `observe`, until rules above `version` are in force."""

    node: str
    cause: Cause
    detail: str
    version: int


class Demotions:
    """Who is demoted, and what speaks against whom so far.

    `standing`, kept from before a restart, stands until rules above `version` are in force too: what changed
    meanwhile may have been a hold alone, and that promotes nobody.
    """

    def __init__(self, standing: Iterable[Demoted] = (), version: int = 0) -> None:
        self.standing: dict[str, Demoted] = {
            demoted.node: replace(demoted, version=max(demoted.version, version)) for demoted in standing
        }
        self._drifts: dict[str, deque[float]] = {}

    def xid(self, node: str, gpu: str, xid: int, version: int) -> Demoted | None:
        """A board of a managed node reported an error."""
        if xid in OF_PROGRAMS:
            return None
        return self._demoted(node, "xid", f"XID {xid} of {gpu}", version)

    def drift(self, node: str, uuid: str, what: str, version: int, now_s: float) -> Demoted | None:
        """A limit of a managed node moved without a command; a cap from outside is no quarrel."""
        if what == "external_cap":
            return None
        times = self._drifts.setdefault(node, deque(maxlen=DRIFTS))
        times.append(now_s)
        if len(times) < DRIFTS or now_s - times[0] > WITHIN_S:
            return None
        self._drifts.pop(node)
        detail = f"{DRIFTS} moves without a command in {now_s - times[0]:.0f} s, the last {what} on {uuid}"
        return self._demoted(node, "drift", detail, version)

    def lifted(self, version: int) -> bool:
        """Whether rules of this version end any demotion; those ended are forgotten."""
        ended = [node for node, demoted in self.standing.items() if demoted.version < version]
        for node in ended:
            del self.standing[node]
        return bool(ended)

    def lowered(self, chosen: Ints, fleet: Fleet, jobs: Sequence[Labels]) -> Ints:
        """(G,) modes with every demoted board, and every board of a job that holds one, in `observe`."""
        rows = [fleet.node_index[node] for node in self.standing if node in fleet.node_index]
        if not rows:
            return chosen
        lowered = chosen.copy()
        for row in rows:
            lowered[fleet.gpus_of(row)] = 0
        of_demoted = np.isin(fleet.gpu_node, rows)
        for job in jobs:
            boards = np.array(job.gpus, dtype=np.int64)
            if len(boards) and of_demoted[boards].any():
                lowered[boards] = 0
        return lowered

    def _demoted(self, node: str, cause: Cause, detail: str, version: int) -> Demoted | None:
        if node in self.standing:
            return None
        self.standing[node] = Demoted(node=node, cause=cause, detail=detail, version=version)
        return self.standing[node]
