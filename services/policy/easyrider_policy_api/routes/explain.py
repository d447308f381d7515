"""Why a GPU, a job or a domain is limited: which limit binds, what it costs, and what would free it."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from easyrider_policy_api import regional
from easyrider_policy_api.core import owner
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.house import answer, house_of
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Anyone, Viewer
from easyrider_policy_api.routes.jobs import OwnerTold
from easyrider_policy_api.routes.told import READS, Region, Told, problems

router = APIRouter(prefix="/explain", tags=["explain"])


class BindingTold(Told):
    """One domain that binds. Watts are at the wall."""

    domain: str
    limit: str = Field(description="target: what is drawn; hard: what could be drawn", examples=["target"])
    price: float = Field(
        description="what one more watt there is worth: GPUs' worth of full speed, weighted by priority"
    )
    rise_w: float = Field(description="by which it would have to rise until it binds no longer")


class WayTold(Told):
    """One thing that would free it."""

    act: str = Field(examples=["raise_target"])
    place: str = Field(description="domain, node, hold or load target to turn to", examples=["ups"])
    says: str
    by_w: float | None = Field(description="wall watts, where watts free it")


class CostTold(Told):
    """What is lost and taken."""

    slowdown: float = Field(description="expected, 0 to 1")
    lost_boards: float = Field(description="the same in GPUs' worth of full speed")
    taken_board_w: float = Field(description="limit below what would be drawn, over all GPUs")
    taken_wall_w: float = Field(description="the same at the wall")
    speed_per_board_w: float = Field(description="speed that one more watt on each GPU gives, 0 to 1")


class JobExplainedTold(Told):
    """One job: its row as under `/v1/jobs`, and why its limit is what it is."""

    job: str
    owner: OwnerTold
    binds: list[BindingTold] = Field(description="dearest first; empty: no domain binds it")
    cost: CostTold | None
    frees: list[WayTold]


class GpuExplainedTold(Told):
    """One GPU: its own state, and the answer of the job on it."""

    gpu: str
    node: str
    domains: list[str] = Field(description="above it, nearest first")
    mode: str
    reason: str
    waiting_for: str = Field(description="why a raise waits; empty: none does")
    frees: list[WayTold]
    job: JobExplainedTold | None


class BoundJobTold(BaseModel):
    """A job that a domain binds."""

    job: str
    slowdown: float
    taken_wall_w: float = Field(description="it would draw so much more there")


class DomainExplainedTold(Told):
    """One domain: its row as in `/v1/state`, whom it binds, at what cost, and how far it would have to rise."""

    domain: str
    binds: BindingTold | None = Field(description="null: it binds nobody")
    bound_jobs: int | None = None
    jobs: list[BoundJobTold] | None = Field(default=None, description="the twenty that lose most watts")
    lost_boards: float | None = None
    lost_weighted: float | None = None
    taken_wall_w: float | None = None
    missing_w: float | None = None
    frees: list[WayTold]


Kind = Literal["explain_gpu", "explain_job", "explain_domain"]


@router.get("/gpus/{uuid:path}", response_model=GpuExplainedTold, responses=problems(*READS, 404))
async def explain_gpu(
    request: Request, caller: Anyone, uuid: Annotated[str, Path(max_length=128)], region: Region = ""
) -> Response:
    """One GPU; a tenant's token sees those of that tenant's jobs."""
    found = await _explained(request, "explain_gpu", uuid, region)
    if found is None or not _may_see(caller, found.get("job")):
        raise Problem(404, "no-gpu", f"No GPU {uuid[:64]!r} is here that you may see.")
    job = found.get("job")
    return answer({**found, "job": None if job is None else _told(job)})


@router.get("/jobs/{job_id:path}", response_model=JobExplainedTold, responses=problems(*READS, 404))
async def explain_job(
    request: Request, caller: Anyone, job_id: Annotated[str, Path(max_length=256)], region: Region = ""
) -> Response:
    """One job; a tenant's token sees that tenant's."""
    found = await _explained(request, "explain_job", job_id, region)
    if found is None or not _may_see(caller, found):
        raise Problem(404, "no-job", f"No job {job_id[:64]!r} runs here that you may see.")
    return answer(_told(found))


@router.get("/domains/{domain_id:path}", response_model=DomainExplainedTold, responses=problems(*READS, 404))
async def explain_domain(
    request: Request, _caller: Viewer, domain_id: Annotated[str, Path(max_length=128)], region: Region = ""
) -> Response:
    """One domain of the power tree."""
    found = await _explained(request, "explain_domain", domain_id, region)
    if found is None:
        raise Problem(404, "no-domain", f"The coordinator knows no domain {domain_id[:64]!r}.")
    return answer(found)


async def _explained(request: Request, kind: Kind, name: str, region: str) -> dict[str, Any] | None:
    """What the leader that has it answers; None where nobody knows the one that is named."""
    if not name:
        return None
    house = house_of(request)
    return await regional.explained(house.rules, house.link, kind, name, region)


def _may_see(caller: Caller, job: Any) -> bool:
    return not caller.tenant or (isinstance(job, dict) and job.get("tenant") == caller.tenant)


def _told(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "owner": owner.answer(job)}
