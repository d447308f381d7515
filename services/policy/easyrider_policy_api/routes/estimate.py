"""What a job will draw, asked before it starts."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from easyrider import log
from easyrider.fingerprints import Fingerprint, FingerprintUnreadable, decode, ids
from easyrider.job_types import JobType
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_estimator.core.estimates import LEAST_MAX_W, MOST_MAX_W, Estimate, estimate
from easyrider_estimator.core.model import ModelUnreadable, Ready
from easyrider_estimator.core.same_type import of_runs
from easyrider_policy_api.house import House, answer, house_of
from easyrider_policy_api.problems import FieldFault, Problem, not_valid
from easyrider_policy_api.routes.callers import Anyone
from easyrider_policy_api.routes.told import READS, Asked, Told, problems, takes

router = APIRouter(tags=["jobs"])
_LOG = log.get("policy-api")
_NO_FILE = "this API was given no model: ESTIMATOR_FILE is not set"


class EstimateAsked(Asked):
    """What a job says of itself, as it will when it runs."""

    name: str = Field(default="", max_length=256, description="its type", examples=["llama-70b-pretrain"])
    image: str = Field(default="", max_length=256, examples=["registry.example/llama:1.4"])
    configuration: str = Field(
        default="", max_length=256, description="settings by comma", examples=["batch=32,precision=bf16"]
    )
    gpu_model: str = Field(
        max_length=256, description="as its driver names it", examples=["NVIDIA H100 80GB HBM3"]
    )
    gpu_count: int = Field(ge=1, le=1_000_000, description="GPUs of the job in all", examples=[64])
    gpu_max_w: float | None = Field(
        default=None,
        ge=LEAST_MAX_W,
        le=MOST_MAX_W,
        description="nameplate of one of them; null: as it is known",
        examples=[700.0],
    )


class IntervalTold(BaseModel):
    """What is expected, and the range that holds `coverage` of jobs like it; null is unknown."""

    expected: float | None
    low: float | None
    high: float | None


class PowerTold(BaseModel):
    """Of one GPU, or of all of the job."""

    mean_w: IntervalTold = Field(description="without its start")
    p99_w: IntervalTold = Field(description="0.99 quantile of means over 0.1 s")


class StepTold(BaseModel):
    """A stretch of the start."""

    from_s: float
    to_s: float
    mean_w: IntervalTold = Field(description="of one GPU")


class StartTold(BaseModel):
    """The shape of the start; without steps it is not known."""

    settles_s: IntervalTold = Field(description="until it first draws nine tenths of its usual power")
    steps: list[StepTold]


class ModelTold(Told):
    """The model that was asked."""

    version: str = Field(examples=["3f0c9a12b4de"])
    sha256: str
    made_unix_s: float
    fingerprints: int = Field(description="that it learned from")
    note: str = Field(description="of whoever trained it")


class EstimateTold(Told):
    """What a job will draw. `why`: what that rests on, or why it is the nameplate."""

    basis: str = Field(
        description="model, fingerprint (runs of its very type), or nameplate", examples=["model"]
    )
    why: list[str] = Field(examples=[["212 known jobs on 'NVIDIA H100 80GB HBM3' span what this one says"]])
    gpu_count: int
    gpu_max_w: float | None = Field(description="device maximum; null: not known", examples=[700.0])
    reserve_w: float | None = Field(
        description="to keep free: upper end of its p99, the most its runs drew, or its nameplate; null: unknown",
        examples=[38_912.0],
    )
    coverage: float | None = Field(
        description="share of jobs that intervals hold; null: none is claimed", examples=[0.9]
    )
    gpu: PowerTold
    job: PowerTold
    startup: StartTold
    store: str = Field(
        description="whether runs of its very type were looked up: asked; silent, so that they may be there; "
        "not-asked, where a model answered or they may not be told",
        examples=["not-asked"],
    )
    model: ModelTold | None


@router.post(
    "/estimate",
    response_model=EstimateTold,
    responses=problems(*READS, 408, 413, 415),
    openapi_extra=takes(EstimateAsked),
)
async def ask_estimate(request: Request, caller: Anyone) -> Response:
    """Mean, 0.99 quantile and start of a job before it starts, with intervals; for schedulers.

    Where no job like it is known, or no model is there, `basis` is `fingerprint` if jobs of its very type ran before,
    else `nameplate`, and `why` says why. While the store is silent nobody knows whether such jobs ran: `store` says so,
    and where no nameplate is known either the answer is 503. Nothing is changed and nothing audited. A tenant's token
    may ask too: answers name no other job, and what runs of a type drew, which may be another's, is not told to it.
    """
    house = house_of(request)
    asked = await house.record(request, EstimateAsked)
    said = asked.model_dump(exclude={"gpu_max_w"})
    try:
        job = msgspec.convert(said, JobType)
    except msgspec.ValidationError as fault:
        place = str(fault).partition("`$.")[2].rstrip("`")
        raise not_valid([FieldFault(place, "holds characters that are never shown")]) from fault
    told, ready = await asyncio.to_thread(_estimate, house.model_file, job, asked.gpu_max_w)
    store = "not-asked"
    if told.basis == "nameplate" and job.told and not caller.tenant:
        known = await _known(house, job)
        store = "silent" if known.silent else "asked"
        why = (*told.why, *known.faults)
        told = of_runs(job, known.found, why) or msgspec.structs.replace(told, why=why)
        if known.silent and told.reserve_w is None:
            raise _nothing_left(told.why)
    model = None if ready is None else _model(ready)
    return answer({**msgspec.to_builtins(told), "store": store, "model": model})


def _nothing_left(why: Sequence[str]) -> Problem:
    """503: what no model and no nameplate tells, the store might."""
    detail = f"Nothing is left to estimate from, and the state store does not answer: {'; '.join(why)}."
    return Problem(503, "store-silent", detail, retry_after_s=2.0)


def _estimate(file: ModelFile | None, job: JobType, gpu_max_w: float | None) -> tuple[Estimate, Ready | None]:
    if file is None:
        return estimate(None, job, gpu_max_w, _NO_FILE), None
    try:
        ready = file.read()
    except ModelUnreadable as fault:
        return estimate(None, job, gpu_max_w, str(fault)), None
    return estimate(ready, job, gpu_max_w), ready


@dataclass(slots=True)
class _Known:
    """What the store remembers of a type, and in sentences what it could not tell. `silent`: why it said nothing."""

    found: list[Fingerprint] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    silent: str = ""


async def _known(house: House, job: JobType) -> _Known:
    known = _Known()
    for kept_id in ids(job):
        try:
            kept = await house.store.load_fingerprint(house.tree, kept_id)
            if kept is not None:
                known.found.append(decode(kept_id, kept[1]))
        except FingerprintUnreadable as fault:
            known.faults.append(str(fault))
        except (StoreSilent, StoreRefused) as fault:  # what one question found out is asked no second time
            known.silent = fault.why
            known.faults.append(f"whether this very type ran before is not known: {fault}")
            break
    for why in known.faults:
        log.bounded(_LOG, "fingerprint", 60.0).warning("a fingerprint is left aside", why=why)
    return known


def _model(ready: Ready) -> dict[str, object]:
    return {
        "version": ready.version,
        "sha256": ready.sha256,
        "made_unix_s": ready.model.made_unix_s,
        "fingerprints": ready.model.fingerprints,
        "note": ready.model.note,
    }
