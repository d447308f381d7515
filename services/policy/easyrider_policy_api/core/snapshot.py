"""What a coordinator answers to `state` and `jobs`, as far as the API reads it; what is not there is unknown.

`boards`: uuid, node, min_w, max_w, settable, limit_w. `jobs`: job, gpus (UUIDs), tenant, queue, priority_class,
limit_w, demand_w, slowdown, reason, busy_ratio, duty_ratio. `domains`: domain, hard_limit_w, target_w, unmanaged_w,
observed_w.
Watts are per board in boards and jobs, wall watts in domains.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from easyrider_policy.core.fleet import Board


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    """One job as it was seen. Watts per board; NaN is unknown. `demand_w`: its peak, as if it were not limited."""

    id: str
    gpus: tuple[str, ...]
    tenant: str
    queue: str
    priority_class: str
    demand_w: float
    busy_ratio: float
    duty_ratio: float = 1.0  # its highest mean over ten seconds, of that peak


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDomain:
    """One domain as it was seen. Wall watts; NaN is unknown."""

    hard_limit_w: float
    target_w: float
    unmanaged_w: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that a dry run rests on."""

    boards: tuple[Board, ...] = ()
    limit_w: dict[str, float] = field(default_factory=dict)
    jobs: tuple[SeenJob, ...] = ()
    domains: dict[str, SeenDomain] = field(default_factory=dict)
    left_out: int = 0  # boards that the answer had no room for

    @classmethod
    def read(cls, document: Any) -> "Snapshot":
        """What of a `state` answer can be read; rows without what names them are left out."""
        rows = _rows(document, "boards")
        boards = [
            Board(
                uuid=row["uuid"],
                node=row["node"],
                min_w=_watts(row.get("min_w"), 0.0),
                max_w=_watts(row["max_w"], 0.0),
                settable=row.get("settable") is not False,
            )
            for row in rows
            if _named(row, "uuid") and _named(row, "node") and _watts(row.get("max_w")) > 0
        ]
        return cls(
            boards=tuple(boards),
            limit_w={row["uuid"]: _watts(row.get("limit_w")) for row in rows if _named(row, "uuid")},
            jobs=tuple(_job(job) for job in jobs_of(document)),
            domains={
                row["domain"]: SeenDomain(
                    hard_limit_w=_watts(row.get("hard_limit_w")),
                    target_w=_watts(row.get("target_w")),
                    unmanaged_w=_watts(row.get("unmanaged_w")),
                )
                for row in _rows(document, "domains")
                if _named(row, "domain")
            },
            left_out=left_out(document, "boards"),
        )


def jobs_of(document: Any) -> list[dict[str, Any]]:
    """The jobs of an answer, each with its id under `job`."""
    return [
        {**row, "job": row.get("job", row.get("id"))}
        for row in _rows(document, "jobs")
        if _named(row, "job") or _named(row, "id")
    ]


def left_out(document: Any, section: str) -> int:
    """Rows of a section that the answer had no room for."""
    found = document.get("left_out", 0) if isinstance(document, dict) else 0
    if isinstance(found, dict):
        found = found.get(section, 0)
    return found if isinstance(found, int) else 0


def _job(row: dict[str, Any]) -> SeenJob:
    gpus = row.get("gpus")
    return SeenJob(
        id=row["job"],
        gpus=tuple(gpu for gpu in gpus if isinstance(gpu, str)) if isinstance(gpus, list) else (),
        tenant=str(row.get("tenant") or ""),
        queue=str(row.get("queue") or ""),
        priority_class=str(row.get("priority_class") or ""),
        demand_w=_watts(row.get("demand_w")),
        busy_ratio=_ratio(row.get("busy_ratio")),
        duty_ratio=_ratio(row.get("duty_ratio")),
    )


def _rows(document: Any, name: str) -> list[dict[str, Any]]:
    rows = document.get(name) if isinstance(document, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _named(row: dict[str, Any], key: str) -> bool:
    return isinstance(row.get(key), str) and bool(row[key])


def _ratio(value: Any) -> float:
    """At most 1, which is also what the unknown counts as."""
    return min(1.0, _watts(value, 1.0))


def _watts(value: Any, unknown: float = math.nan) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) and value >= 0 else unknown
