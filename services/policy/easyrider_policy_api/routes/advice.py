"""Advice that nobody has to follow: offsets that keep peaks of jobs apart, and how large a job could start where."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider.messages.asks import Question
from easyrider_policy_api import regional
from easyrider_policy_api.house import answer, house_of
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Viewer
from easyrider_policy_api.routes.told import READS, Region, Told, problems

router = APIRouter(prefix="/advice", tags=["advice"])


class OffsetTold(Told):
    """One job of a group."""

    job: str
    period_s: float
    offset_s: float = Field(description="delay it once by so much, within one period")
    checkpoint_s: float = Field(
        description="from now: its own low, in a period in which no other of its group pauses"
    )


class GroupTold(Told):
    """Jobs whose periods agree, or are long and drift apart slowly. Wall watts below the domain."""

    jobs: list[OffsetTold]
    peak_w: float = Field(description="of the sum of their waves, as they stand")
    peak_with_offsets_w: float
    avoided_w: float
    worst_w: float = Field(description="if all their peaks met")
    holds_s: float | None = Field(description="until periods have drifted by a tenth; null: they are equal")
    says: str


class LeftOutTold(Told):
    """A job without an offset."""

    job: str
    why: str


class StaggeredTold(Told):
    """One domain that binds or nearly does."""

    domain: str
    binds: bool
    used_share: float = Field(description="of its target, now")
    avoided_w: float
    groups: list[GroupTold]
    left_out: list[LeftOutTold] = Field(description="the first twenty")
    left_out_count: int
    says: str = Field(description="why nothing is to gain; empty where something is")


class OffsetsTold(Told):
    """Start offsets of jobs that share a domain."""

    age_s: float
    domains: list[StaggeredTold] = Field(
        description="pressed most first; a job has one offset in all of them"
    )
    says: str


class StartableTold(Told):
    """One domain with nodes of its own."""

    branch: str
    idle: int = Field(description="GPUs")
    gpus: int = Field(description="the largest job that could start in it now")
    binds: str = Field(description="what stops a larger one", examples=["target:pdu"])


class MoveTold(Told):
    """A running job, and the branch it fits in."""

    job: str
    to: str


class StepTold(Told):
    """What to do for a waiting job."""

    job: str = Field(examples=["asked"])
    act: str = Field(description="start, reorder, migrate, drain, night_queue or never")
    aged: float = Field(description="its priority, and once more for each hour it waited")
    starved: bool
    branches: list[str] = Field(description="where it starts then")
    moves: list[MoveTold] = Field(description="migrate: these jobs before")
    drains: list[str] = Field(description="drain: start nothing there, and let these jobs end")
    says: str


class FragmentationTold(Told):
    """How large a job could start now."""

    age_s: float
    peak_w: float | None = Field(description="per GPU")
    largest: int | None = Field(description="GPUs, in one branch; null: nothing is known yet")
    in_sum: int | None = Field(description="GPUs, over all branches together")
    index: float | None = Field(description="1 - largest / in_sum; null where nothing could start")
    branches: list[StartableTold]
    left_out: int = Field(description="branches that the answer has no room for")
    plan: list[StepTold]
    says: str


class DrainTold(Told):
    """One node to send less work to."""

    node: str
    boards: int = Field(description="GPUs that heat slows")
    hottest_c: float | None = Field(description="null: not read")
    to: list[str] = Field(description="nodes at least 8 degrees cooler with as many idle GPUs, coolest first")


class CoolingTold(Told):
    """Nodes that heat slows, the hottest first."""

    age_s: float
    nodes: list[DrainTold]
    left_out: int = Field(description="nodes that the answer has no room for")
    says: str = Field(description="why none is named; empty where some are")


@router.get("/offsets", response_model=OffsetsTold, responses=problems(*READS, 404))
async def read_offsets(request: Request, _caller: Viewer, region: Region = "") -> Response:
    """Offsets and checkpoint moments with which the peaks of jobs below one domain do not add up."""
    return await _advice(request, "advice_offsets", region)


@router.get("/cooling", response_model=CoolingTold, responses=problems(*READS, 404))
async def read_cooling(request: Request, _caller: Viewer, region: Region = "") -> Response:
    """Nodes with GPUs that heat slows, and cooler ones where as many are idle."""
    return await _advice(request, "advice_cooling", region)


@router.get("/fragmentation", response_model=FragmentationTold, responses=problems(*READS, 404))
async def read_fragmentation(
    request: Request,
    _caller: Viewer,
    gpus: Annotated[int | None, Query(ge=1, le=1_000_000, description="of a job that is to start")] = None,
    peak_w: Annotated[
        float | None,
        Query(
            gt=0,
            le=100_000,
            allow_inf_nan=False,
            description="per GPU; else the highest maximum of idle GPUs",
        ),
    ] = None,
    region: Region = "",
) -> Response:
    """The largest job that could start in each branch, and what would let one of so many GPUs start."""
    asked = {"gpus": gpus, "peak_w": peak_w}
    given = {name: value for name, value in asked.items() if value is not None}
    return await _advice(request, "advice_fragmentation", region, json.dumps(given) if given else "")


async def _advice(request: Request, kind: Question, region: str, name: str = "") -> Response:
    house = house_of(request)
    link = house.link
    if region:
        await regional.checked(house.rules, link, region)
    try:
        snapshot = await link.advice(kind, name, region)
    except Problem as problem:
        if problem.status == 404:  # nothing is named here: it cannot answer yet
            raise Problem(503, "coordinator-refused", problem.detail, retry_after_s=2.0) from problem
        raise
    told: dict[str, Any] = snapshot.document if isinstance(snapshot.document, dict) else {}
    return answer(told | {"age_s": round(link.age_s(snapshot), 3)})
