"""What is now: everything live, the last plan with its reasons, and nodes and regions that are to be freed."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from easyrider_policy_api.coordinator_link import read
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.house import answer, change_of, house_of, needs
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.routes.told import READS, WRITES, Told, parameters, problems

router = APIRouter(tags=["live"])
Viewer = Annotated[Caller, Depends(needs("viewer"))]
Operator = Annotated[Caller, Depends(needs("operator"))]


class StateTold(Told):
    """Everything the leader knows at this moment; watts, seconds, and null for what is not known."""

    version: int = Field(description="of the rules in force")
    epoch: int
    age_s: float


class PlanTold(Told):
    """The last plan: every limit with its binding reason."""

    age_s: float
    plan: dict[str, Any]


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
) -> Response:
    """Domains, nodes, boards, jobs and holds as the leader sees them; at most half a second old.

    A site of more boards than one answer holds tells in `left_out` how many are missing: ask for them by node.
    """
    link = house_of(request).link
    snapshot = await link.state(node)
    told = snapshot.document if isinstance(snapshot.document, dict) else {"state": snapshot.document}
    head = {
        "version": snapshot.version,
        "epoch": snapshot.epoch,
        "age_s": round(link.age_s(snapshot), 3),
    }
    return answer(told | head)


@router.get("/plan", response_model=PlanTold, responses=problems(*READS))
async def read_plan(request: Request, _caller: Viewer) -> Response:
    """The newest plan of whoever leads, with the reason of each limit."""
    document, age_s = house_of(request).link.plan()
    return answer({"age_s": round(age_s, 3), "plan": document})


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
    house, change = house_of(request), change_of(request)

    async def work() -> Response:
        rules = await house.rules.held()
        if all(row.id != node for row in rules.nodes):
            raise Problem(404, "no-node", f"The rules name no node {node[:64]!r}.")
        change.after = {"node": node}
        await house.auditor.intend(change)
        done = await house.link.ask("free", caller.name, node)
        if not done.ok:
            raise Problem(409, "not-freed", done.reason)
        told = read(done)
        return answer({"node": node, "freed": True} | (told if isinstance(told, dict) else {}))

    return await house.once_only(request, work)


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
    house, change = house_of(request), change_of(request)

    async def work() -> Response:
        rules = await house.rules.held()
        if all(row.id != region for row in rules.regions):
            raise Problem(404, "no-region", f"The rules name no region {region[:64]!r}.")
        change.after = {"region": region}
        await house.auditor.intend(change)
        done = await house.link.ask("free_region", caller.name, region)
        if not done.ok:
            raise Problem(409, "not-freed", done.reason)
        told = read(done)
        return answer({"region": region, "freed": True} | (told if isinstance(told, dict) else {}))

    return await house.once_only(request, work)
