"""The power tree and rules as one versioned document."""

from asyncio import to_thread
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from easyrider.errors import BadTree
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump, read_document, to_document
from easyrider_policy_api.core.dry_run import compare
from easyrider_policy_api.core.snapshot import Snapshot
from easyrider_policy_api.house import answer, change_of, expected, house_of
from easyrider_policy_api.problems import FieldFault, not_valid
from easyrider_policy_api.routes.callers import Admin, Operator, Viewer
from easyrider_policy_api.routes.told import READS, SAVED, WRITES, EditedTold, Told, problems
from easyrider_policy_api.routes.tree_schema import DOCUMENT, EXAMPLE
from easyrider_policy_api.rules_desk import stale, unkeepable

router = APIRouter(tags=["tree"])
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": DOCUMENT, "example": EXAMPLE}},
    }
}
_MATCH = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": what,
        "schema": {"type": "string", "pattern": pattern},
    }
    for name, what, pattern in (
        (
            "If-Match",
            "ETag of the rules that were read; needed unless there are none yet",
            '^("[0-9]{1,18}"|[0-9]{1,18})$',
        ),
        ("If-None-Match", "* for the first rules of all", r"^\*$"),
    )
]


class DomainDifference(Told):
    """One domain now and then. Wall watts; null: it is not in that document."""

    domain: str
    hard_limit_w: list[float | None] = Field(description="now, then")
    target_w: list[float | None] = Field(description="now, then")
    drawn_w: list[float | None] = Field(
        description="planned draw, a mean of ten seconds where the target is one: now, then"
    )
    difference_w: float | None
    missing_w: float = Field(description="above 0: cannot be kept even at the lowest limits, then")


class JobDifference(Told):
    """One job now and then. Watts per GPU."""

    job: str
    limit_w: list[float | None] = Field(description="now, then")
    slowdown: list[float | None] = Field(description="expected, now and then")
    reason: str


class DryRunTold(Told):
    """What the coordinator would plan with these rules, from what it knows now; nothing was changed."""

    version: int
    basis: str = Field(description="what the comparison rests on")
    snapshot_age_s: float
    domains: list[DomainDifference]
    jobs: list[JobDifference]
    limits: list[str] = Field(description="what this comparison does not know")


@router.get("/tree", response_model=dict[str, Any], responses=problems(*READS, 404))
async def read_tree(request: Request, _caller: Viewer) -> Response:
    """The whole document; its version is the ETag, and its digest is what plans made by it say as `rules_sha256`."""
    rules = await house_of(request).rules.held()
    sha256 = await to_thread(lambda: digest(dump(rules)))
    return answer(to_document(rules), version=rules.version, Rules_Sha256=sha256)


@router.put(
    "/tree",
    response_model=EditedTold,
    responses=problems(*WRITES, 428)
    | {201: {"model": EditedTold, "description": "the first rules of all"}}
    | SAVED,
    openapi_extra=_BODY | {"parameters": _MATCH},
)
async def put_tree(request: Request, _caller: Admin) -> Response:
    """Replace the whole document; it is saved one version above the one it replaces."""
    house, change = house_of(request), change_of(request)
    rules = given(await house.document(request), house.tree)
    first = request.headers.get("if-none-match")
    if first is not None and first.strip() != "*":
        raise not_valid([FieldFault("If-None-Match", "is * where there are no rules yet, else left out")])
    if first is not None:
        done = await house.rules.create(change, rules)
    else:
        seen = expected(request, wanted=True)
        held = (await house.rules.held()).version
        if seen is not None and held != seen:
            raise stale(held, seen)
        if rules.version not in (held, held + 1):
            raise stale(held, rules.version)
        done = await house.rules.edit(change, lambda _held: rules, seen)
    status = 202 if done.adoption == "pending" else 201 if first is not None else 200
    return answer(done.told, status=status, version=done.rules.version)


@router.post(
    "/tree/dry-run",
    response_model=DryRunTold,
    responses=problems(*WRITES),
    openapi_extra=_BODY,
)
async def dry_run(request: Request, _caller: Operator) -> Response:
    """Say what a document would change: watts by domain, expected slowdown by job. Saves nothing."""
    house = house_of(request)
    now = await house.rules.held()
    then = given(await house.document(request), house.tree)
    checked = await house.rules.checked(then)
    snapshot = await house.link.state()
    seen = Snapshot.read(snapshot.document)
    try:
        told = compare(now, checked, seen, house.region)
    except BadTree as fault:
        raise unkeepable(fault.faults) from fault
    age_s = house.link.age_s(snapshot)
    return answer({"version": now.version, "snapshot_age_s": round(age_s, 3), **told}, version=now.version)


def given(document: Any, tree: str) -> Rules:
    """The document as rules of this tree. Raises `Problem` 422 with every fault."""
    try:
        rules = read_document(document, "the document")
    except BadTree as fault:
        raise unkeepable(fault.faults) from fault
    if rules.id != tree:
        raise not_valid([FieldFault("tree.id", f"is {rules.id!r}, and this API serves {tree!r}")])
    return rules
