"""Whether this API can do its work; the one question that needs no token."""

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from easyrider_policy_api.house import answer, house_of
from easyrider_policy_api.routes.told import Told, problems

router = APIRouter(tags=["health"])


class HealthTold(Told):
    """What works. Limits stay in force whatever this says."""

    ok: bool
    checks: dict[str, bool] = Field(examples=[{"bus": True, "store": True, "audit": True}])


@router.get(
    "/health",
    response_model=HealthTold,
    responses=problems(422, 429)
    | {503: {"model": HealthTold, "description": "something it needs is not there"}},
)
async def read_health(request: Request) -> Response:
    """200 while bus, store and audit journal work, else 503 with what does not."""
    checks = house_of(request).healthy()
    ok = all(checks.values())
    return answer({"ok": ok, "checks": checks}, status=200 if ok else 503)
