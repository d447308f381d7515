"""How right the forecasts of each job were."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider import accuracy
from easyrider.accuracy import Accuracy, AccuracyUnreadable
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider_policy_api import regional
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.house import House, answer, house_of, written
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Anyone
from easyrider_policy_api.routes.told import READS, Region, Told, problems

router = APIRouter(tags=["jobs"])
Limit = Annotated[int, Query(ge=1, le=1000, description="rows at most, newest first")]
JobId = Annotated[str, Path(min_length=1, max_length=256)]


class ScoreTold(Told):
    """Watts are of one GPU; null: nothing was judged."""

    windows: float = Field(
        description="that were judged; of late, older ones count in part", examples=[3412.0]
    )
    mae_w: float | None = Field(description="mean absolute error of the mean", examples=[14.2])
    bias_w: float | None = Field(description="mean said less mean seen", examples=[-0.6])
    mase: float | None = Field(
        description="error over that of 'the last second goes on', same windows; null: that was never wrong",
        examples=[0.41],
    )
    peak_mae_w: float | None = Field(description="of the highest 0.1 s", examples=[17.0])
    pinball50_w: float | None = Field(description="loss of the peak's median", examples=[8.5])
    pinball90_w: float | None = Field(description="loss of its 0.90 bound", examples=[4.1])
    pinball99_w: float | None = Field(description="loss of its 0.99 bound", examples=[1.3])
    coverage90: float | None = Field(description="share of peaks below the 0.90 bound", examples=[0.93])
    coverage99: float | None = Field(description="share of peaks below the 0.99 bound", examples=[0.991])
    slack_w: float | None = Field(description="0.99 bound less peak", examples=[38.5])


class HorizonTold(Told):
    """One length of window."""

    horizon_s: int = Field(examples=[10])
    run: ScoreTold = Field(description="of the whole run")
    lately: ScoreTold = Field(description="of about the last ten minutes")
    gaps: int = Field(description="windows left out because samples were missing", examples=[2])
    hidden: int = Field(
        description="windows left out because a limit hid what was wanted, or moved", examples=[0]
    )
    assumed: int = Field(
        description="windows left out because nothing was known but the nameplate", examples=[12]
    )


class RisesTold(Told):
    """Rises from low to high power, and what `next_rise_s` had said of them."""

    seen: int = Field(examples=[240])
    foretold: int = Field(examples=[221])
    lead_s: float | None = Field(description="median of the last fifteen", examples=[4.8])
    false: int = Field(description="announced, and none came", examples=[3])
    withdrawn: int = Field(description="announced, and taken back before they were due", examples=[7])


class AccuracyRowTold(Told):
    """One job in one region."""

    job: str = Field(examples=["llama-70b-7"])
    region: str = Field(examples=["local"])
    tenant: str = Field(examples=["team-a"])
    type_key: str = Field(examples=["llama-70b-pretrain"])
    gpu_count: int = Field(examples=[64])
    updated_unix_s: float = Field(
        description="a job that runs is written every ten seconds", examples=[1.8e9]
    )
    seconds: int = Field(description="since its forecasts are kept", examples=[3600])
    draw: list[HorizonTold] = Field(description="what was said to be drawn under the limits in force")
    demand: list[HorizonTold] = Field(description="what was said to be wanted; judged where no limit hid it")
    rises: RisesTold


class AccuraciesTold(Told):
    """Jobs that run, and those that ended within a week."""

    jobs: list[AccuracyRowTold]
    left_out: int = Field(description="older ones beyond the limit", examples=[0])
    unreadable: int = Field(description="records that are none; replaced while their job runs", examples=[0])


class PointTold(Told):
    """Ten seconds of one GPU's draw: what was said before they began, and what came."""

    mean_w: float | None = Field(examples=[512.0])
    q99_w: float | None = Field(examples=[655.0])
    seen_mean_w: float | None = Field(examples=[508.3])
    seen_peak_w: float | None = Field(examples=[640.1])


class AccuracyTold(AccuracyRowTold):
    """One job, and the last six minutes beside what was said of them."""

    trail_ends_unix_s: float | None = Field(description="end of the newest point", examples=[1.8e9])
    trail_step_s: float = Field(examples=[10.0])
    trail: list[PointTold] = Field(description="oldest first")


@router.get("/accuracy", response_model=AccuraciesTold, responses=problems(*READS))
async def read_accuracies(request: Request, caller: Anyone, limit: Limit = 100) -> Response:
    """How right the forecasts of each job were, newest first; a tenant's token sees that tenant's jobs."""
    house = house_of(request)
    try:
        held = await house.store.load_accuracies(house.tree)
    except (StoreSilent, StoreRefused) as fault:
        raise _silent(fault) from fault
    return written(await asyncio.to_thread(_listed, held, caller, limit))


@router.get("/accuracy/{job_id:path}", response_model=AccuracyTold, responses=problems(*READS, 404))
async def read_accuracy(request: Request, caller: Anyone, job_id: JobId, region: Region = "") -> Response:
    """One job: by horizon, its rises, and the last minutes beside what was said of them.

    Of a job that crosses regions, that of the region named, else of the one that wrote last.
    """
    house = house_of(request)
    if region:
        names: tuple[str, ...] = (await regional.checked(house.rules, house.link, region),)
    else:
        names = (house.region, *await regional.below(house.rules, house.link))
    found = [one for name in names if (one := await _of_job(house, job_id, name)) and _may_see(caller, one)]
    if not found:
        raise Problem(404, "no-accuracy", f"Nothing is kept of a job {job_id[:64]!r} that you may see.")
    return answer(accuracy.told(max(found, key=lambda one: one.updated_unix_s)))


async def _of_job(house: House, job_id: str, region: str) -> Accuracy | None:
    kept_id = accuracy.kept_id(region, job_id)
    try:
        held = await house.store.load_accuracy(house.tree, kept_id)
        return None if held is None else accuracy.decode(kept_id, held[1])
    except (StoreSilent, StoreRefused) as fault:
        raise _silent(fault) from fault
    except AccuracyUnreadable:  # the forecaster replaces it; until then nothing is known
        return None


def _listed(held: dict[str, tuple[int, bytes]], caller: Caller, limit: int) -> bytes:
    """The whole answer: of ten thousand jobs it takes long enough for others to wait."""
    found, unreadable = _decoded(held, caller)
    rows = [_row(one) for one in found[:limit]]
    return msgspec.json.encode({"jobs": rows, "left_out": len(found) - len(rows), "unreadable": unreadable})


def _decoded(held: dict[str, tuple[int, bytes]], caller: Caller) -> tuple[list[Accuracy], int]:
    """Those that can be read and seen, newest first, and how many cannot be read; nobody's are a tenant's."""
    found, unreadable = [], 0
    for kept_id, (_moment, data) in held.items():
        try:
            found.append(accuracy.decode(kept_id, data))
        except AccuracyUnreadable:
            unreadable += not caller.tenant
    seen = [one for one in found if _may_see(caller, one)]
    return sorted(seen, key=lambda one: (-one.updated_unix_s, one.id)), unreadable


def _may_see(caller: Caller, one: Accuracy) -> bool:
    return not caller.tenant or one.tenant == caller.tenant


def _row(one: Accuracy) -> dict[str, Any]:
    told = accuracy.told(one)
    return {name: told[name] for name in AccuracyRowTold.model_fields}


def _silent(fault: StoreSilent | StoreRefused) -> Problem:
    return Problem(503, "store-silent", f"{fault}; forecasts go on without it.", retry_after_s=1.0)
