"""What a release would come to, foretold from the leader's own state before anybody is asked to change anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from easyrider.scopes import children, line_of, whole_of
from easyrider.tree import Rules
from easyrider_policy.core.fleet import Board, Fleet, Floats, build
from easyrider_policy.core.foretold import lacking_w
from easyrider_policy.core.modes import Labels, managed, modes
from easyrider_policy.core.unforetold import Unforetold

State = Mapping[str, Any]
_RESTS_ON = {"boards": "GPUs", "jobs": "jobs", "domains": "domains", "nodes": "nodes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """`gpus` boards on `nodes` would be let go; `lacking_w`: wall watts that domains lack; `holds`: what stops it."""

    gpus: int
    nodes: tuple[str, ...]
    lacking_w: Mapping[str, float] = field(default_factory=dict)
    holds: tuple[str, ...] = ()


def foretell(before: Rules, after: Rules, state: State, region: str) -> Foretold:
    """What `after` lets go of `before`, by a `state` that tells of every board of the scope and of those below it.

    Raises `Unforetold` where rows stayed out of the state, or nobody knows what room there is above a board that goes.
    """
    _whole(state)
    rows = {row["uuid"]: row for row in state["boards"] if row.get("controlled")}
    fleet = build(whole_of(before, region), [_board(row) for row in state["boards"]])
    labels = [_labels(job, fleet) for job in state["jobs"]]
    held = np.array([uuid in rows for uuid in fleet.gpus], dtype=np.bool_)
    ours = held & managed(modes(before.modes, fleet, labels))
    leaves = ours & ~managed(modes(after.modes, fleet, labels))
    if not leaves.any():
        return Foretold(gpus=0, nodes=())
    nodes = tuple(fleet.nodes[row] for row in np.unique(fleet.gpu_node[leaves]).tolist())
    above = {row for row in fleet.node_ancestors[fleet.gpu_node[leaves]].ravel().tolist() if row >= 0}
    told = {row["domain"]: row for row in state["domains"]}
    room_w = np.array([_watts(told.get(name, {}).get("room_w")) for name in fleet.domains], dtype=np.float64)
    _counted(fleet, above, told, room_w)
    holds = _holds(above, fleet, told, state, nodes)
    baseline_w = _column(fleet, rows, "baseline_w")
    # Where nobody knows what was found, it may have been the most.
    leaving_w = np.where(leaves, np.where(np.isnan(baseline_w), fleet.max_w, baseline_w), np.nan)
    counted_w = np.nan_to_num(_column(fleet, rows, "counted_w"), nan=0.0)
    overshoot = np.nan_to_num(_column(fleet, rows, "overshoot"), nan=1.0)
    shares = _shares(before, region, fleet, told)
    lacks = lacking_w(fleet, counted_w, overshoot, leaving_w, ours & fleet.settable, room_w, shares)
    return Foretold(gpus=int(leaves.sum()), nodes=nodes, lacking_w=lacks, holds=holds)


def _whole(state: State) -> None:
    left_out = state.get("left_out") or {}
    if lacks := [f"{left_out[name]} {what}" for name, what in _RESTS_ON.items() if left_out.get(name)]:
        raise Unforetold(f"{', '.join(lacks)} fit no answer")


def _counted(fleet: Fleet, above: set[int], told: Mapping[str, State], room_w: Floats) -> None:
    unknown = [fleet.domains[row] for row in sorted(above) if np.isnan(room_w[row])]
    if untold := [name for name in unknown if name not in told]:
        raise Unforetold(f"the state tells nothing of {', '.join(untold)}, which may be held")
    if unknown:
        raise Unforetold(f"{', '.join(unknown)} is not counted yet: ask again in some seconds")


def _shares(
    rules: Rules, scope: str, fleet: Fleet, told: Mapping[str, State]
) -> dict[int, tuple[float, float]]:
    """What regions below are guaranteed and what is counted there, by the row of their domain."""
    found = {}
    for region in (below for name in line_of(rules, scope) for below in children(rules, name)):
        row, domain = fleet.domain_index.get(str(region.domain)), told.get(str(region.domain), {})
        if row is not None and region.guaranteed_w:
            used_w = _watts(domain.get("hard_limit_w")) - _watts(domain.get("room_w"))
            if np.isnan(used_w):
                raise Unforetold(
                    f"{region.domain} is not counted yet, of which region {region.id} keeps a share: ask again in "
                    "some seconds"
                )
            found[row] = (region.guaranteed_w, used_w)
    return found


def _board(row: State) -> Board:
    return Board(
        uuid=row["uuid"], node=row["node"], min_w=row["min_w"], max_w=row["max_w"], settable=row["settable"]
    )


def _labels(job: State, fleet: Fleet) -> Labels:
    rows = [fleet.gpu_index[gpu] for gpu in job["gpus"] if gpu in fleet.gpu_index]
    return Labels(job=job["job"], tenant=job["tenant"], queue=job["queue"], gpus=rows)


def _holds(
    above: Iterable[int], fleet: Fleet, told: Mapping[str, State], state: State, nodes: tuple[str, ...]
) -> tuple[str, ...]:
    """Ids of holds above these boards, and nodes of theirs whose guardian holds. Raises `Unforetold`."""
    ids = {hold for row in above for hold in told[fleet.domains[row]].get("held", ())}
    if untold := set(nodes) - {row["node"] for row in state["nodes"]}:
        raise Unforetold(
            f"the state tells nothing of node {', '.join(sorted(untold))}, whose guardian may hold"
        )
    guarded = {row["node"] for row in state["nodes"] if row.get("held") and row["node"] in nodes}
    return tuple(sorted(ids | {f"the guardian of {node}" for node in guarded}))


def _column(fleet: Fleet, rows: Mapping[str, State], name: str) -> Floats:
    return np.array([_watts(rows.get(uuid, {}).get(name)) for uuid in fleet.gpus], dtype=np.float64)


def _watts(value: Any) -> float:
    return float("nan") if value is None else float(value)
