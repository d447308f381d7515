"""Jobs: each with its owner's answer."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from easyrider_policy_api import regional
from easyrider_policy_api.core import owner
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.core.snapshot import jobs_of, left_out
from easyrider_policy_api.house import answer, house_of, written
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Anyone
from easyrider_policy_api.routes.told import READS, Region, Told, problems

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
    silent_regions: list[str] = Field(default=[], description="regions below whose jobs are not in it")


@router.get("/jobs", response_model=JobsTold, responses=problems(*READS, 404))
async def read_jobs(request: Request, caller: Anyone, region: Region = "") -> Response:
    """Every running job, those of regions below too; a tenant's token sees that tenant's.

    A job that crosses regions has a row of each.
    """
    house = house_of(request)
    found = await regional.jobs(house.rules, house.link, region)
    if len(found.snapshots) > 1 or found.silent:
        return answer(_of_all(found, caller))
    (snapshot,) = found.snapshots.values()
    told = snapshot.made.get(caller.tenant)
    if told is None:
        jobs = [_told(job) for job in jobs_of(snapshot.document) if _may_see(caller, job)]
        told = msgspec.json.encode({"jobs": jobs, "left_out": left_out(snapshot.document, "jobs")})
        snapshot.made[caller.tenant] = told
    return written(told)


@router.get("/jobs/{job_id:path}", response_model=JobTold, responses=problems(*READS, 404))
async def read_job(
    request: Request, caller: Anyone, job_id: Annotated[str, Path(max_length=256)], region: Region = ""
) -> Response:
    """One job: capped by how much, why, and at what cost."""
    house = house_of(request)
    told = await regional.jobs(house.rules, house.link, region)
    for name, snapshot in told.snapshots.items():
        document = snapshot.document
        found = [job for job in jobs_of(document) if job["job"] == job_id]
        if not found and left_out(document, "jobs"):
            found = [job for job in jobs_of(await house.link.job(job_id, name)) if job["job"] == job_id]
        for job in found:
            if _may_see(caller, job):
                return answer(_told(job))
    if told.silent:
        raise regional.silent(job_id, told.silent)
    raise Problem(404, "no-job", f"No job {job_id[:64]!r} runs here that you may see.")


def _of_all(found: regional.Jobs, caller: Caller) -> dict[str, Any]:
    rows = [
        {**_told(job), "region": name}
        for name, snapshot in found.snapshots.items()
        for job in jobs_of(snapshot.document)
        if _may_see(caller, job)
    ]
    missing = sum(left_out(snapshot.document, "jobs") for snapshot in found.snapshots.values())
    return {"jobs": rows, "left_out": missing, "silent_regions": found.silent}


def _may_see(caller: Caller, job: dict[str, Any]) -> bool:
    return not caller.tenant or job.get("tenant") == caller.tenant


def _told(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "owner": owner.answer(job)}
