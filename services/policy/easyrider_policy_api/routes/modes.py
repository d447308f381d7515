"""How far the coordinator may go, by selector."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from easyrider.records import write_record
from easyrider.tree import SELECTOR_KEYS, Mode, ModeRule, Rules
from easyrider_policy_api.core import edits, selectors
from easyrider_policy_api.core.adoption import Edit
from easyrider_policy_api.house import answer, change_of, expected, house_of, now_text
from easyrider_policy_api.problems import FieldFault, not_valid
from easyrider_policy_api.routes.callers import Operator, Viewer
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

router = APIRouter(tags=["modes"])
SelectorAsked = Annotated[
    dict[str, list[str]],
    Field(
        description="keys AND, values OR, patterns with * and ?; the most specific wins. Keys: "
        + ", ".join(SELECTOR_KEYS),
        json_schema_extra={
            "additionalProperties": False,
            "properties": {
                key: {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": selectors.MOST,
                    "items": {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$"},
                }
                for key in SELECTOR_KEYS
            },
        },
        examples=[{"rack": ["rack-1"], "queue": ["batch*"]}],
    ),
]


class ModeAsked(Asked):
    """One mode for what a selector matches."""

    selector: SelectorAsked
    mode: Mode = Field(examples=["enforce"])
    reason: str = Field(default="", max_length=500, examples=["two weeks of shadow without a false cap"])
    override: str = Field(
        default="",
        max_length=500,
        description="why a rise is to pass over its gate (`/v1/trust`); told in the event of the change",
        examples=[""],
    )


class ModeTold(Told):
    """One mode as it stands in the rules."""

    selector: dict[str, list[str]]
    mode: Mode
    reason: str
    since: str
    override: str = Field(default="", description="why its gate was passed over; empty: it was not")


class ModesTold(Told):
    """Every mode; what none matches is in `observe`."""

    version: int
    modes: list[ModeTold]


@router.get("/modes", response_model=ModesTold, responses=problems(*READS, 404))
async def read_modes(request: Request, _caller: Viewer) -> Response:
    """Every mode, by selector."""
    rules = await house_of(request).rules.held()
    return answer({"version": rules.version, "modes": write_record(rules.modes)}, version=rules.version)


@router.put(
    "/modes",
    response_model=EditedTold,
    responses=problems(*WRITES, 428) | SAVED,
    openapi_extra=takes(ModeAsked, match="wanted"),
)
async def put_mode(request: Request, _caller: Operator) -> Response:
    """Set the mode of one selector; the others stay. What may not rise yet is refused (409) with the numbers."""
    asked = await house_of(request).record(request, ModeAsked)
    selector = checked(asked.selector, "selector")
    rule = ModeRule(
        selector=selector, mode=asked.mode, reason=asked.reason, since=now_text(), override=asked.override
    )
    edit = of_known(lambda rules: edits.with_mode(rules, rule), selector, "selector")
    return await edited(request, edit, wanted=True)


@router.delete(
    "/modes",
    response_model=EditedTold,
    responses=problems(*WRITES, 428) | SAVED,
    openapi_extra={
        "parameters": [
            *parameters(match="wanted")["parameters"],
            *(
                {
                    "name": key,
                    "in": "query",
                    "required": False,
                    "schema": {"type": "array", "items": {"type": "string"}},
                    "description": f"values of the selector's {key}",
                }
                for key in SELECTOR_KEYS
            ),
        ]
    },
)
async def delete_mode(request: Request, _caller: Operator) -> Response:
    """Take away the mode of exactly this selector; without a key, that of everything."""
    query = request.query_params
    selector = checked({key: query.getlist(key) for key in query}, "query")
    return await edited(request, lambda rules: edits.without_mode(rules, selector), wanted=True)


def checked(selector: dict[str, list[str]], place: str) -> dict[str, tuple[str, ...]]:
    """The selector. Raises `Problem` 422."""
    found = selectors.faults(selector, place)
    if found:
        raise not_valid([FieldFault(*each) for each in found])
    return {key: tuple(values) for key, values in selector.items()}


def of_known(edit: Edit, selector: edits.Selector, place: str) -> Edit:
    """The edit, which raises `Problem` 422 where the rules do not know a node, domain or class that is named."""

    def of(rules: Rules) -> Rules:
        if found := selectors.unnamed(selector, rules, place):
            raise not_valid([FieldFault(*each) for each in found])
        return edit(rules)

    return of


async def edited(
    request: Request, edit: Any, *, wanted: bool = False, status: int = 200, **more: Any
) -> Response:
    """What every edit of the rules ends with. 202 where no coordinator has it in force yet."""
    done = await house_of(request).rules.edit(change_of(request), edit, expected(request, wanted=wanted))
    return answer(
        done.told | more, status=202 if done.adoption == "pending" else status, version=done.rules.version
    )
