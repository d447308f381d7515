"""What is remembered of types of jobs."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider import fingerprints
from easyrider.fingerprints import Fingerprint, FingerprintUnreadable
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider_policy_api.house import House, answer, house_of
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Viewer
from easyrider_policy_api.routes.told import READS, Told, problems

router = APIRouter(tags=["jobs"])
_SHORT = (
    "variant",
    "revision",
    "runs",
    "seconds",
    "updated_unix_s",
    "mean_w",
    "peak_w",
    "hidden",
    "period_s",
)
Limit = Annotated[int, Query(ge=1, le=1000, description="rows at most, newest first")]
KeptId = Annotated[str, Path(pattern="^[0-9a-f]{32}-[0-9]$", description="its id, as the list tells it")]


class TypeTold(Told):
    """What jobs of the type say of themselves."""

    name: str = Field(examples=["llama-70b-pretrain"])
    image: str
    configuration: str = Field(examples=["batch=32,layers=80"])
    gpu_model: str
    gpu_count: int = Field(description="GPUs of the job in all", examples=[64])


class FingerprintRowTold(Told):
    """One behaviour of one type, in short. Watts are of one GPU; null is unknown."""

    id: str = Field(examples=["2b087e552629be3ef740777d921771b8-0"])
    type: TypeTold
    variant: int = Field(description="which of its type's behaviours")
    revision: int
    runs: int
    seconds: float = Field(description="measured in all runs, without start-up")
    updated_unix_s: float
    mean_w: float = Field(description="with pauses, without start-up")
    peak_w: float | None = Field(description="drawn free; null: never seen free")
    hidden: float = Field(description="share of samples that a limit hid")
    period_s: float | None = Field(description="of an iteration; null: none")


class FingerprintsTold(Told):
    """Types of jobs that ran."""

    fingerprints: list[FingerprintRowTold]
    left_out: int = Field(description="older ones beyond the limit")
    unreadable: int = Field(
        description="records that are no fingerprint; the next run of their type replaces them"
    )


class FingerprintTold(FingerprintRowTold):
    """One behaviour of one type, whole."""

    missed: int = Field(description="runs of its type since, that were like another variant")
    learned_unix_s: float
    max_w: float = Field(description="device maximum")
    idle_w: float
    calm_w: float | None = Field(description="mean outside pauses")
    spread_w: float = Field(description="standard deviation of one-second means outside pauses")
    p99_w: float
    period_spread: float
    usual_low_s: float | None = Field(description="length of the low part of an iteration")
    shape_w: list[float] = Field(description="over one iteration, 64 points; empty: none")
    startup: dict[str, Any] = Field(description="means over 2 s from the start on, and when it settled")
    pauses: dict[str, Any] = Field(description="cadence, length and depth of checkpoints; stalls an hour")
    points: list[dict[str, Any]] = Field(description="speed under limits that were seen to bind")
    trust: list[dict[str, Any]] = Field(description="how far each forecast lay behind the best, by horizon")


@router.get("/fingerprints", response_model=FingerprintsTold, responses=problems(*READS))
async def read_fingerprints(request: Request, _caller: Viewer, limit: Limit = 100) -> Response:
    """Every type of job that is remembered, newest first: its power before it runs again."""
    house = house_of(request)
    try:
        held = await house.store.load_fingerprints(house.tree)
    except (StoreSilent, StoreRefused) as fault:
        raise _silent(fault) from fault
    found, unreadable = await asyncio.to_thread(_decoded, held)
    rows = [_row(one) for one in found[:limit]]
    return answer({"fingerprints": rows, "left_out": len(found) - len(rows), "unreadable": unreadable})


@router.get("/fingerprints/{kept_id}", response_model=FingerprintTold, responses=problems(*READS, 404))
async def read_fingerprint(request: Request, _caller: Viewer, kept_id: KeptId) -> Response:
    """One fingerprint: shape of an iteration, start-up, pauses, speeds under limits."""
    one = await _one(house_of(request), kept_id)
    return answer({"id": one.id, **msgspec.to_builtins(one)})


async def _one(house: House, kept_id: str) -> Fingerprint:
    try:
        held = await house.store.load_fingerprint(house.tree, kept_id)
    except (StoreSilent, StoreRefused) as fault:
        raise _silent(fault) from fault
    if held is None:
        raise Problem(404, "no-fingerprint", f"No fingerprint {kept_id} is kept.")
    try:
        return fingerprints.decode(kept_id, held[1])
    except FingerprintUnreadable as fault:
        raise Problem(404, "fingerprint-unreadable", str(fault)) from fault


def _decoded(held: dict[str, tuple[int, bytes]]) -> tuple[list[Fingerprint], int]:
    """Those that can be read, newest first, and how many cannot."""
    found, unreadable = [], 0
    for kept_id, (_, data) in held.items():
        try:
            found.append(fingerprints.decode(kept_id, data))
        except FingerprintUnreadable:
            unreadable += 1
    return sorted(found, key=lambda one: (-one.updated_unix_s, one.id)), unreadable


def _row(one: Fingerprint) -> dict[str, Any]:
    told = {name: getattr(one, name) for name in _SHORT}
    return {"id": one.id, "type": msgspec.to_builtins(one.type), **told}


def _silent(fault: StoreSilent | StoreRefused) -> Problem:
    return Problem(503, "store-silent", f"{fault}; forecasts go on without it.", retry_after_s=1.0)
