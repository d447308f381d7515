"""Jobs: each with its owner's answer."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from easyrider_policy_api.core import owner
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.core.snapshot import jobs_of, left_out
from easyrider_policy_api.house import answer, house_of, written
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Anyone
from easyrider_policy_api.routes.told import READS, Told, problems

router = APIRouter(tags=["jobs"])


class OwnerTold(Told):
    """Capped by how much, why, at what cost. Watts are per GPU; null is unknown."""

    capped: bool | None
    capped_by_w: float | None
    capped_by_ratio: float | None
    why: str
    reason: str
    slowdown: float | None = Field(description="expected, 0 to 1")
    sentence: str = Field(
        examples=[
            "Capped at 480 W of the 610 W per GPU it would draw (21 % less), and it is expected to run 6.0 % slower. "
            "feed is at the power it may draw (its target), and this job shares it."
        ]
    )


class JobTold(Told):
    """One job as the coordinator knows it, and its owner's answer."""

    job: str
    owner: OwnerTold


class JobsTold(Told):
    """Every job that the caller may see."""

    jobs: list[JobTold]
    left_out: int = Field(description="jobs beyond what one answer holds; ask for them by id")


@router.get("/jobs", response_model=JobsTold, responses=problems(*READS))
async def read_jobs(request: Request, caller: Anyone) -> Response:
    """Every running job; a tenant's token sees that tenant's."""
    snapshot = await house_of(request).link.jobs()
    told = snapshot.made.get(caller.tenant)
    if told is None:
        jobs = [_told(job) for job in jobs_of(snapshot.document) if _may_see(caller, job)]
        told = msgspec.json.encode({"jobs": jobs, "left_out": left_out(snapshot.document, "jobs")})
        snapshot.made[caller.tenant] = told
    return written(told)


@router.get("/jobs/{job_id:path}", response_model=JobTold, responses=problems(*READS, 404))
async def read_job(
    request: Request, caller: Anyone, job_id: Annotated[str, Path(max_length=256)]
) -> Response:
    """One job: capped by how much, why, and at what cost."""
    link = house_of(request).link
    document = (await link.jobs()).document
    found = [job for job in jobs_of(document) if job["job"] == job_id]
    if not found and left_out(document, "jobs"):
        found = [job for job in jobs_of(await link.job(job_id)) if job["job"] == job_id]
    for job in found:
        if _may_see(caller, job):
            return answer(_told(job))
    raise Problem(404, "no-job", f"No job {job_id[:64]!r} runs here that you may see.")


def _may_see(caller: Caller, job: dict[str, Any]) -> bool:
    return not caller.tenant or job.get("tenant") == caller.tenant


def _told(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "owner": owner.answer(job)}
