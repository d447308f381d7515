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

State = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """`gpus` boards on `nodes` would be let go; `lacking_w`: wall watts that domains lack; `holds`: what stops it."""

    gpus: int
    nodes: tuple[str, ...]
    lacking_w: Mapping[str, float] = field(default_factory=dict)
    holds: tuple[str, ...] = ()


def foretell(before: Rules, after: Rules, state: State, region: str) -> Foretold:
    """What `after` lets go of `before`, by a `state` that tells of every board of the scope and of those below it."""
    rows = {row["uuid"]: row for row in state["boards"] if row.get("controlled")}
    fleet = build(whole_of(before, region), [_board(row) for row in state["boards"]])
    labels = [_labels(job, fleet) for job in state["jobs"]]
    held = np.array([uuid in rows for uuid in fleet.gpus], dtype=np.bool_)
    ours = held & managed(modes(before.modes, fleet, labels))
    leaves = ours & ~managed(modes(after.modes, fleet, labels))
    if not leaves.any():
        return Foretold(gpus=0, nodes=())
    nodes = tuple(fleet.nodes[row] for row in np.unique(fleet.gpu_node[leaves]).tolist())
    holds = _holds(fleet.node_ancestors[fleet.gpu_node[leaves]].ravel().tolist(), fleet, state, nodes)
    baseline_w = _column(fleet, rows, "baseline_w")
    # Where nobody knows what was found, it may have been the most.
    leaving_w = np.where(leaves, np.where(np.isnan(baseline_w), fleet.max_w, baseline_w), np.nan)
    room = {row["domain"]: row.get("room_w") for row in state["domains"]}
    room_w = np.array([_watts(room.get(name)) for name in fleet.domains], dtype=np.float64)
    counted_w = np.nan_to_num(_column(fleet, rows, "counted_w"), nan=0.0)
    overshoot = np.nan_to_num(_column(fleet, rows, "overshoot"), nan=1.0)
    shares = _shares(before, region, fleet, state)
    lacks = lacking_w(fleet, counted_w, overshoot, leaving_w, ours & fleet.settable, room_w, shares)
    return Foretold(gpus=int(leaves.sum()), nodes=nodes, lacking_w=lacks, holds=holds)


def _shares(rules: Rules, scope: str, fleet: Fleet, state: State) -> dict[int, tuple[float, float]]:
    """What regions below are guaranteed and what is counted there, by the row of their domain."""
    told = {row["domain"]: row for row in state["domains"]}
    found = {}
    for region in (below for name in line_of(rules, scope) for below in children(rules, name)):
        row, domain = fleet.domain_index.get(str(region.domain)), told.get(region.domain)
        if row is not None and domain is not None:
            used_w = _watts(domain.get("hard_limit_w")) - _watts(domain.get("room_w"))
            found[row] = (region.guaranteed_w or 0.0, used_w)
    return found


def _board(row: State) -> Board:
    return Board(
        uuid=row["uuid"], node=row["node"], min_w=row["min_w"], max_w=row["max_w"], settable=row["settable"]
    )


def _labels(job: State, fleet: Fleet) -> Labels:
    rows = [fleet.gpu_index[gpu] for gpu in job["gpus"] if gpu in fleet.gpu_index]
    return Labels(job=job["job"], tenant=job["tenant"], queue=job["queue"], gpus=rows)


def _holds(above: Iterable[int], fleet: Fleet, state: State, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of holds above these boards, and nodes of theirs whose guardian holds."""
    held = {row["domain"]: row.get("held", ()) for row in state["domains"]}
    ids = {hold for row in set(above) if row >= 0 for hold in held.get(fleet.domains[row], ())}
    guarded = {row["node"] for row in state.get("nodes", ()) if row.get("held") and row["node"] in nodes}
    return tuple(sorted(ids | {f"the guardian of {node}" for node in guarded}))


def _column(fleet: Fleet, rows: Mapping[str, State], name: str) -> Floats:
    return np.array([_watts(rows.get(uuid, {}).get(name)) for uuid in fleet.gpus], dtype=np.float64)


def _watts(value: Any) -> float:
    return float("nan") if value is None else float(value)
