"""How far each scope has come on its way from `observe` to `enforce`."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from easyrider.tree import Mode
from easyrider_policy_api.house import answer, house_of
from easyrider_policy_api.routes.callers import Viewer
from easyrider_policy_api.routes.told import READS, Told, problems

router = APIRouter(tags=["modes"])


class CheckTold(BaseModel):
    """One number of a gate."""

    name: str = Field(examples=["shadow_days"])
    seen: float | None = Field(description="null: nothing was there to judge")
    wanted: float
    met: bool


class StageTold(Told):
    """What was seen of a scope in one mode. Shares are null where there was nothing to share."""

    days: float = Field(description="in which its GPUs were read and planned for")
    trusted_ratio: float | None = Field(description="share of these in which forecasts were trusted")
    job_hours: float
    capped_job_hours: float = Field(description="in which a limit that nobody wrote would have slowed a job")
    false_cap_ratio: float | None = Field(description="share of these with no domain above near its target")
    peaks: int = Field(description="excesses of domains above its jobs")
    missed_peaks: int = Field(description="of these, what the limits would not have kept")
    lead_s: float | None = Field(description="mean time from the first cap that bound to the peak")
    foretold_slowdown: float | None
    compared_job_hours: float = Field(description="in which what happened is known too")
    happened_slowdown: float | None = Field(description="null in shadow: nothing was slowed")
    slowdown_error: float | None = Field(description="mean distance between both")


class TakenBackTold(BaseModel):
    """Why a scope has a lower mode than its rule says."""

    cause: str = Field(examples=["slowdown"])
    detail: str


class ScopeTold(Told):
    """The GPUs that one selector governs."""

    scope: str = Field(examples=["rack=rack-1"])
    selector: dict[str, list[str]] | None = Field(description="null: GPUs that no rule names")
    declared: Mode = Field(description="by its rule")
    mode: Mode = Field(description="in force")
    gpus: int
    taken_back: TakenBackTold | None
    next: Mode | None
    met: bool | None = Field(description="whether the next mode may be set; null: there is none")
    checks: list[CheckTold]
    stages: dict[str, StageTold] = Field(description="by mode")


class TrustTold(Told):
    """Every scope of the coordinator that leads."""

    age_s: float
    region: str
    version: int = Field(description="of the rules")
    gates: dict[str, Any] = Field(description="in force: section `gates` of the rules")
    scopes: list[ScopeTold]


@router.get("/trust", response_model=TrustTold, responses=problems(*READS))
async def read_trust(request: Request, _caller: Viewer) -> Response:
    """What was seen of each scope in its mode, and what the next mode asks for."""
    link = house_of(request).link
    snapshot = await link.trust()
    told: dict[str, Any] = snapshot.document if isinstance(snapshot.document, dict) else {}
    return answer(told | {"age_s": round(link.age_s(snapshot), 3)})
