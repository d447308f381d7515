"""The body of a request: not too large, not too slow, JSON without mercy, and nothing in it that we do not know."""

import asyncio
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from easyrider_policy_api.core.strict_json import BadDocument, parse
from easyrider_policy_api.problems import FieldFault, Problem, not_valid
from easyrider_policy_api.wrong_fields import wrong_fields

B = TypeVar("B", bound=BaseModel)


async def raw_body(request: Request, limit_bytes: int, timeout_s: float) -> bytes:
    """The bytes, kept for whoever asks again. Raises `Problem`: 408, 413."""
    kept: bytes | None = getattr(request.state, "raw_body", None)
    if kept is not None:
        return kept
    parts, size = [], 0
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > limit_bytes:
                    raise too_large(limit_bytes)
                parts.append(part)
    except TimeoutError as fault:
        raise Problem(
            408,
            "slow-body",
            f"The body did not come within {timeout_s:g} s; nothing was done.",
            headers={"Connection": "close"},
        ) from fault
    except ClientDisconnect as fault:
        raise Problem(400, "gone", "The client left before its body was here; nothing was done.") from fault
    request.state.raw_body = b"".join(parts)
    return b"".join(parts)


async def document(request: Request, limit_bytes: int, timeout_s: float) -> Any:
    """The body as JSON. Raises `Problem`: 408, 413, 415, 422."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not-json", "The body is to be JSON: Content-Type: application/json.")
    try:
        return parse(await raw_body(request, limit_bytes, timeout_s))
    except BadDocument as fault:
        raise not_valid([FieldFault(field, why) for field, why in fault.faults]) from fault


def record(kind: type[B], parsed: Any) -> B:
    """The document as its record. Raises `Problem` 422 with every field."""
    try:
        return kind.model_validate(parsed, strict=True)
    except ValidationError as fault:
        raise not_valid(wrong_fields(fault.errors())) from fault


def too_large(limit_bytes: int) -> Problem:
    """413."""
    return Problem(
        413,
        "too-large",
        f"A body has at most {limit_bytes} bytes; nothing was done.",
        headers={"Connection": "close"},
    )
