"""How routes are described: the problems they may have, and bodies that are read by ourselves."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from easyrider_policy_api.problems import MEDIA_TYPE


class Asked(BaseModel):
    """What a client sends: nothing is guessed, and nothing unknown is passed over."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Told(BaseModel):
    """What is answered; fields may be added."""

    model_config = ConfigDict(extra="allow")


class FieldFaultTold(Told):
    """One field and its fault."""

    field: str
    fault: str


class ProblemTold(Told):
    """RFC 9457: what was not done, and why."""

    type: str = Field(examples=["urn:easyrider:problem:stale-edit"])
    title: str = Field(examples=["Edited meanwhile"])
    status: int = Field(examples=[412])
    detail: str = Field(
        examples=["The edit began with version 4 of the rules, and version 5 is held: read them again."]
    )
    fields: list[FieldFaultTold] | None = None


class EditedTold(Told):
    """What an edit came to."""

    version: int = Field(description="of the rules, now", examples=[8])
    adoption: str = Field(description="adopted, unchanged, or pending", examples=["adopted"])
    why: str = Field(default="", description="why it is pending", examples=[""])
    remarks: list[str] = Field(default=[], description="what may be said and is hardly meant", examples=[[]])


SAVED: dict[int | str, dict[str, Any]] = {
    202: {"model": EditedTold, "description": "saved, not in force yet: no coordinator answers"}
}
_MEANING = {
    400: "not understood",
    401: "no token, or one that opens nothing",
    403: "the token's role does not suffice",
    404: "not there",
    408: "the body came too slowly",
    409: "in conflict with what is there",
    412: "somebody else edited meanwhile",
    413: "the body is too large",
    415: "the body is not JSON",
    422: "a field is wrong",
    428: "If-Match is missing",
    429: "asked too often",
    503: "store, bus or coordinator is silent",
}
Region = Annotated[str, Query(max_length=128, description="a region below, to be asked alone")]
VERSION = '^("[0-9]{1,18}"|[0-9]{1,18})$'
"""Pattern of an ETag as it comes back, its quotes lost in some shell or not."""
READS = (400, 401, 403, 422, 429, 503)
WRITES = (*READS, 404, 408, 409, 412, 413, 415)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers that are problems."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemTold"}}}
    headers = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted(set(statuses)):
        found[status] = {"description": _MEANING[status], "content": content}
        if status in (429, 503):
            found[status]["headers"] = headers
    return found


def takes(kind: type[BaseModel], *, key: bool = False, match: str = "") -> dict[str, Any]:
    """`openapi_extra` of a route that reads a body: its schema; `match`: whether If-Match is wanted or allowed."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}},
        },
        **parameters(key=key, match=match),
    }


def parameters(*, key: bool = False, match: str = "") -> dict[str, Any]:
    """Headers that are read by ourselves."""
    found = []
    if match:
        found.append(
            {
                "name": "If-Match",
                "in": "header",
                "required": match == "wanted",
                "description": "ETag of the rules that were read",
                "schema": {"type": "string", "pattern": VERSION},
                "example": '"7"',
            }
        )
    if key:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "the same request with the same key is done once, for a day",
                "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
                "example": "b7c1f2c0-6a0e-4a57-9b5e-2f4c3f9a7d11",
            }
        )
    return {"parameters": found} if found else {}
