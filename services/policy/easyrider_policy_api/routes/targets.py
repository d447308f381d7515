"""Load targets: what a domain may draw between two moments, below its own target."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import AfterValidator, Field
from starlette.responses import Response

from easyrider.moments import unix_s
from easyrider.records import write_record
from easyrider.tree import RAMP_S, LoadTarget, Strategy
from easyrider_policy_api.core import edits
from easyrider_policy_api.house import answer, house_of, new_id
from easyrider_policy_api.routes.callers import Operator, Viewer
from easyrider_policy_api.routes.modes import edited
from easyrider_policy_api.routes.told import (
    READS,
    SAVED,
    WRITES,
    Asked,
    EditedTold,
    Told,
    parameters,
    problems,
    takes,
)

router = APIRouter(tags=["targets"])
Id = Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]
MOMENT = Field(
    max_length=40,
    json_schema_extra={"format": "date-time"},
    description="RFC 3339 with its offset from UTC",
    examples=["2027-01-15T17:00:00+01:00"],
)


def _moment(text: str) -> str:
    unix_s(text)  # raises `BadMoment`, a `ValueError`
    return text


class TargetAsked(Asked):
    """One load target."""

    domain: str = Field(min_length=1, max_length=128, examples=["feed"])
    begins: Annotated[str, AfterValidator(_moment), MOMENT]
    ends: Annotated[str, AfterValidator(_moment), MOMENT]
    target_w: float = Field(
        gt=0, le=1e12, description="wall watts, as a mean over the domain's window", examples=[9000.0]
    )
    reason: str = Field(default="", max_length=500, examples=["grid operator asks for 10 % less"])
    strategy: Strategy = Field(
        default="ramp",
        description="ramp: evenly over ramp_s before it begins; step: at once; soft: no further than max_slowdown",
        examples=["ramp"],
    )
    ramp_s: float = Field(
        default=RAMP_S,
        gt=0,
        le=86_400,
        description="how long it comes down before it begins",
        examples=[60.0],
    )
    id: Id | None = Field(default=None, description="default: made here", examples=["grid-2027-01-15"])


class TargetTold(Told):
    """One load target as it stands in the rules."""

    id: str
    domain: str
    begins: str
    ends: str
    target_w: float
    reason: str
    by: str
    strategy: Strategy = "ramp"
    ramp_s: float = RAMP_S


class TargetsTold(Told):
    """Every load target, past ones too until they are taken away."""

    version: int
    targets: list[TargetTold]


class TargetEditedTold(EditedTold):
    """What adding came to."""

    id: str


@router.get("/targets", response_model=TargetsTold, responses=problems(*READS, 404))
async def read_targets(request: Request, _caller: Viewer) -> Response:
    """Every load target."""
    rules = await house_of(request).rules.held()
    return answer({"version": rules.version, "targets": write_record(rules.targets)}, version=rules.version)


@router.post(
    "/targets",
    status_code=201,
    response_model=TargetEditedTold,
    responses=problems(*WRITES)
    | {202: {"model": TargetEditedTold, "description": "saved, not in force yet"}},
    openapi_extra=takes(TargetAsked, key=True, match="allowed"),
)
async def post_target(request: Request, caller: Operator) -> Response:
    """Add a load target."""
    asked = await house_of(request).record(request, TargetAsked)
    target = LoadTarget(
        id=asked.id or new_id("target", request),
        domain=asked.domain,
        begins=asked.begins,
        ends=asked.ends,
        target_w=asked.target_w,
        reason=asked.reason,
        by=caller.name,
        strategy=asked.strategy,
        ramp_s=asked.ramp_s,
    )
    return await house_of(request).once_only(
        request,
        lambda: edited(request, lambda rules: edits.with_target(rules, target), status=201, id=target.id),
    )


@router.delete(
    "/targets/{target_id}",
    response_model=EditedTold,
    responses=problems(*WRITES) | SAVED,
    openapi_extra=parameters(match="allowed"),
)
async def delete_target(
    request: Request, _caller: Operator, target_id: Annotated[str, Path(max_length=128)]
) -> Response:
    """Take a load target away."""
    return await edited(request, lambda rules: edits.without_target(rules, target_id))
