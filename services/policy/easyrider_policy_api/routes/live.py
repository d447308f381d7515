"""What is now: everything live, the last plan with its reasons, and nodes and regions that are to be freed."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider.scopes import owner_of
from easyrider_policy_api import regional
from easyrider_policy_api.coordinator_link import read
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.house import answer, change_of, house_of, written
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.callers import Operator, Viewer
from easyrider_policy_api.routes.told import READS, WRITES, Region, Told, parameters, problems

router = APIRouter(tags=["live"])


class StateTold(Told):
    """Everything the leader knows at this moment; watts, seconds, and null for what is not known."""

    version: int = Field(description="of the rules in force")
    epoch: int
    age_s: float


class RegionPlanTold(Told):
    """The last plan of a region below, said by its own coordinator."""

    region: str
    age_s: float
    plan: dict[str, Any]


class PlanTold(Told):
    """The last plan: every limit with its binding reason. `below` only where this scope lends watts to regions."""

    age_s: float
    plan: dict[str, Any]
    below: list[RegionPlanTold] = Field(default=[], description="plans of all regions below")
    silent_regions: list[str] = Field(
        default=[],
        description="scopes among these that said no plan yet, or none for three periods: what is told of them then "
        "is their last word, as old as its age_s",
    )


class FreedTold(Told):
    """What became of it."""

    node: str
    freed: bool


class FreedRegionTold(Told):
    """What became of it."""

    region: str
    freed: bool


@router.get("/state", response_model=StateTold, responses=problems(*READS, 404))
async def read_state(
    request: Request,
    _caller: Viewer,
    node: Annotated[str, Query(max_length=128, description="boards of this node alone")] = "",
    region: Annotated[str, Query(max_length=128, description="a region below, by its own coordinator")] = "",
) -> Response:
    """Domains, nodes, boards, jobs and holds as the leader sees them; at most half a second old.

    A site of more rows than one answer holds tells in `left_out` how many are missing: ask for boards by node, for
    jobs at `/v1/jobs`, for one domain at `/v1/explain/domains/{domain}`.
    Nodes and jobs of regions below are not in it: `regions` names those, to be asked for by `region`.
    """
    house = house_of(request)
    link = house.link
    snapshot = await regional.state(house.rules, link, node, region)
    told, age_s = snapshot.document, round(link.age_s(snapshot), 3)
    head = {"version": snapshot.version, "epoch": snapshot.epoch, "age_s": age_s}
    if isinstance(told, dict) and not told.keys() & head.keys():
        return written(snapshot.body, **head)
    return answer((told if isinstance(told, dict) else {"state": told}) | head)


@router.get("/plan", response_model=PlanTold, responses=problems(*READS, 404))
async def read_plan(request: Request, _caller: Viewer, region: Region = "") -> Response:
    """The newest plan of whoever leads, with the reason of each limit; those of regions below beside it."""
    house = house_of(request)
    found = await regional.plans(house.rules, house.link, region)
    plan, age_s = found.first
    body = b'{"plan":' + plan
    if found.below or found.silent:  # the scope that was asked may be among those
        rows = (
            b'{"region":%b,"age_s":%.3f,"plan":%b}' % (json.dumps(name).encode(), age, told)
            for name, (told, age) in found.below.items()
        )
        body += b',"below":[%b],"silent_regions":%b' % (b",".join(rows), json.dumps(found.silent).encode())
    return written(body + b"}", age_s=round(age_s, 3))


@router.post(
    "/nodes/{node}/free",
    response_model=FreedTold,
    responses=problems(*WRITES),
    openapi_extra=parameters(key=True),
)
async def free_node(
    request: Request, caller: Operator, node: Annotated[str, Path(max_length=128)]
) -> Response:
    """Let go of the watts that are booked for a node which left or is silent, once you know that it draws none."""
    house = house_of(request)
    rules = await house.rules.held()
    known = {row.id for row in rules.nodes}
    at = owner_of(rules, node, house.region)
    return await _freed(request, caller, "node", node, known, "free", at)


@router.post(
    "/regions/{region}/free",
    response_model=FreedRegionTold,
    responses=problems(*WRITES),
    openapi_extra=parameters(key=True),
)
async def free_region(
    request: Request, caller: Operator, region: Annotated[str, Path(max_length=128)]
) -> Response:
    """Answer for a region right below that will not return: it counts its guaranteed share until it is heard."""
    rows = (await house_of(request).rules.held()).regions
    parent = next((row.parent or "" for row in rows if row.id == region), "")
    return await _freed(request, caller, "region", region, {row.id for row in rows}, "free_region", parent)


async def _freed(
    request: Request,
    caller: Caller,
    kind: str,
    name: str,
    known: set[str],
    question: Literal["free", "free_region"],
    at: str,
) -> Response:
    """Have the coordinator of the scope `at` let go of one that the rules know. Raises `Problem` 404, 409."""
    house, change = house_of(request), change_of(request)

    async def work() -> Response:
        if name not in known:
            raise Problem(404, f"no-{kind}", f"The rules name no {kind} {name[:64]!r}.")
        change.after = {kind: name}
        await house.auditor.intend(change)
        done = await house.link.ask(question, caller.name, name, at)
        if not done.ok:
            raise Problem(409, "not-freed", done.reason)
        told = read(done)
        return answer({kind: name, "freed": True} | (told if isinstance(told, dict) else {}))

    return await house.once_only(request, work)
