"""Who changed what, or was refused: from this instance's own fsynced journal."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider_policy_api.adapters.audit_file import newest_first
from easyrider_policy_api.house import answer, house_of
from easyrider_policy_api.routes.callers import Operator
from easyrider_policy_api.routes.told import READS, Told, problems

router = APIRouter(tags=["audit"])


class RecordTold(Told):
    """One change, or the refusal of one."""

    id: str
    line: int = Field(description="grows with each record of this instance")
    time: str
    act: str = Field(examples=["put /modes"])
    path: str
    who: str = Field(description="the token's name; empty: nobody we know")
    token: str
    role: str
    peer: str
    reason: str
    result: str = Field(description="done, refused, or unknown: it was begun and its end is not written down")
    status: int | None
    why: str
    before: str = Field(description="JSON of what was there, in the sections that changed")
    after: str
    version: int | None


class AuditTold(Told):
    """Newest first."""

    records: list[RecordTold]
    next_before: int | None = Field(description="ask for `before` this to read on; null: that was all")


@router.get("/audit", response_model=AuditTold, responses=problems(*READS))
async def read_audit(
    request: Request,
    _caller: Operator,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[int | None, Query(ge=0, le=2**53)] = None,
) -> Response:
    """Every change over this instance, newest first; those of all instances are in the stream of events."""
    path = house_of(request).auditor.path
    records, further = await asyncio.to_thread(newest_first, path, limit, before)
    return answer({"records": records, "next_before": further})
