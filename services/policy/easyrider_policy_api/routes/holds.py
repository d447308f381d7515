"""The red button: no raise anywhere, or in some domains; and a controlled way back to what boards were found with."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from easyrider.records import write_record
from easyrider.tree import HoldRule, Rules
from easyrider_policy.core.foretelling import foretell
from easyrider_policy.core.unforetold import Unforetold
from easyrider_policy_api import regional
from easyrider_policy_api.core import edits
from easyrider_policy_api.core.releasing import Unclear, released
from easyrider_policy_api.house import answer, house_of, new_id, now_text
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Operator, Viewer
from easyrider_policy_api.routes.modes import SelectorAsked, checked, edited, of_known
from easyrider_policy_api.routes.targets import Id
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

router = APIRouter(tags=["holds"])


class HoldAsked(Asked):
    """No limit rises in these domains, in all where none is named."""

    domains: list[Annotated[str, Field(min_length=1, max_length=128)]] = Field(
        default=[], max_length=256, examples=[["rack-1"]]
    )
    reason: str = Field(default="", max_length=500, examples=["smoke in hall 2"])
    id: Id | None = Field(default=None, description="default: made here", examples=["hall-2"])


class HoldTold(Told):
    """One hold as it stands in the rules."""

    id: str
    domains: list[str]
    reason: str
    since: str
    by: str


class HoldsTold(Told):
    """Every hold."""

    version: int
    holds: list[HoldTold]


class HoldEditedTold(EditedTold):
    """What adding came to."""

    id: str


class ReleaseAsked(Asked):
    """What is to be given back."""

    scope: SelectorAsked
    reason: str = Field(default="", max_length=500, examples=["maintenance of rack 1"])
    override: str = Field(
        default="",
        max_length=500,
        description="why it is to be done though what it comes to cannot be foretold",
        examples=[""],
    )


@router.get("/holds", response_model=HoldsTold, responses=problems(*READS, 404))
async def read_holds(request: Request, _caller: Viewer) -> Response:
    """Every hold in the rules."""
    rules = await house_of(request).rules.held()
    return answer({"version": rules.version, "holds": write_record(rules.holds)}, version=rules.version)


@router.post(
    "/holds",
    status_code=201,
    response_model=HoldEditedTold,
    responses=problems(*WRITES) | SAVED,
    openapi_extra=takes(HoldAsked, key=True, match="allowed"),
)
async def post_hold(request: Request, caller: Operator) -> Response:
    """Stop every raise; lowers, grants and the dead-man go on."""
    asked = await house_of(request).record(request, HoldAsked)
    hold = HoldRule(
        id=asked.id or new_id("hold", request),
        domains=tuple(asked.domains),
        reason=asked.reason,
        since=now_text(),
        by=caller.name,
    )
    return await house_of(request).once_only(
        request, lambda: edited(request, lambda rules: edits.with_hold(rules, hold), status=201, id=hold.id)
    )


@router.delete(
    "/holds/{hold_id}",
    response_model=EditedTold,
    responses=problems(*WRITES) | SAVED,
    openapi_extra=parameters(match="allowed"),
)
async def delete_hold(
    request: Request, _caller: Operator, hold_id: Annotated[str, Path(max_length=128)]
) -> Response:
    """Let limits rise again."""
    return await edited(request, lambda rules: edits.without_hold(rules, hold_id))


@router.post(
    "/release",
    response_model=EditedTold,
    responses=problems(*WRITES) | SAVED,
    openapi_extra=takes(ReleaseAsked, key=True, match="allowed"),
)
async def post_release(request: Request, _caller: Operator) -> Response:
    """Put a scope in `observe`: its boards get back what they were found with, as soon as there is room for it.

    An empty scope is everything.
    """
    asked = await house_of(request).record(request, ReleaseAsked)
    scope, since = checked(asked.scope, "scope"), now_text()
    reason = asked.reason or "released"

    edit = of_known(lambda rules: released(rules, scope, reason, since), scope, "scope")

    async def work() -> Response:
        await _refuse_in_vain(request, edit, asked.override)
        return await edited(request, edit)

    return await house_of(request).once_only(request, work)


async def _refuse_in_vain(request: Request, edit: Callable[[Rules], Rules], override: str) -> None:
    """Raise `Problem` 409 with the missing watts where the sums could never allow a release, or a hold stops it.

    So it does where that cannot be foretold, unless somebody answers for it. Where nobody leads it is saved and
    waits for what the sums allow.
    """
    house = house_of(request)
    try:
        before = await house.rules.held()
        state = await regional.whole_state(house.link, before)
        told = foretell(before, edit(before), state, house.region)
    except (Problem, Unclear):
        return  # whatever it is, the edit itself tells of it
    except Unforetold as fault:
        if override:
            return
        raise Problem(
            409,
            "not-foretold",
            f"What it comes to cannot be foretold: {fault}. Nothing was changed. Say why it is to be done all the "
            "same as `override`; limits stay until the sums allow more.",
        ) from fault
    if told.holds:
        held = ", ".join(told.holds)
        raise Problem(
            409, "held", f"A hold stops every raise there ({held}): clear it first. Nothing was changed."
        )
    if told.lacking_w:
        lacks = ", ".join(f"{domain} lacks {watts:.0f} W" for domain, watts in told.lacking_w.items())
        raise Problem(
            409,
            "sums-forbid",
            "With every other GPU at its least the sums still forbid what "
            f"{', '.join(told.nodes)[:300]} had before ({lacks}). Nothing was changed.",
            missing_w={domain: round(watts, 1) for domain, watts in told.lacking_w.items()},
        )
