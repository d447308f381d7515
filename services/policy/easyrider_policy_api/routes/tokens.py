"""Bearer tokens: made and shown once, listed without what opens, revoked within seconds."""

import dataclasses
import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from easyrider import tokens
from easyrider.moments import rfc_3339
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.tokens import BadToken, Role, Token, TokenUnreadable
from easyrider_policy_api.house import House, answer, change_of, house_of
from easyrider_policy_api.problems import FieldFault, Problem, not_valid, store_silent
from easyrider_policy_api.routes.callers import Admin
from easyrider_policy_api.routes.told import READS, WRITES, Asked, Told, problems, takes

router = APIRouter(tags=["tokens"])


class TokenAsked(Asked):
    """A token to be made."""

    name: str = Field(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]*$", examples=["grafana"])
    role: Role = Field(examples=["viewer"])
    tenant: str = Field(default="", max_length=128, description="sees its jobs alone", examples=["team-a"])
    lifetime_s: float = Field(default=90 * 86400.0, ge=1, le=tokens.LONGEST_S, examples=[7776000.0])


class TokenTold(Told):
    """What is known of a token; what opens is known to its bearer alone."""

    id: str
    name: str
    role: Role
    tenant: str
    created: str
    expires: str
    revoked: str | None


class TokenMadeTold(TokenTold):
    """A new token."""

    token: str | None = Field(description="shown this once; null where the request was tried again")


class TokensTold(Told):
    """Every token that has not ended long ago."""

    tokens: list[TokenTold]


@router.get("/tokens", response_model=TokensTold, responses=problems(*READS))
async def read_tokens(request: Request, _caller: Admin) -> Response:
    """Every token, oldest first."""
    return answer({"tokens": [_told(token) for token in await _known(house_of(request))]})


@router.post(
    "/tokens",
    status_code=201,
    response_model=TokenMadeTold,
    responses=problems(*WRITES),
    openapi_extra=takes(TokenAsked, key=True),
)
async def post_token(request: Request, _caller: Admin) -> Response:
    """Make a token; the answer is the only place where it is ever shown."""
    house, change = house_of(request), change_of(request)
    asked = await house.record(request, TokenAsked)

    async def work() -> Response:
        now_s = time.time()
        try:
            shown, token = tokens.make(asked.name, asked.role, asked.tenant, now_s, asked.lifetime_s)
        except BadToken as fault:
            raise not_valid([FieldFault(fault.field, fault.why)]) from fault
        change.after = _told(token)
        await house.auditor.intend(change)
        await _save(house, token, now_s)
        return answer({**_told(token), "token": shown}, status=201)

    return await house.once_only(request, work, secret=_without_token)


@router.delete("/tokens/{token_id}", response_model=TokenTold, responses=problems(*WRITES))
async def delete_token(
    request: Request, _caller: Admin, token_id: Annotated[str, Path(max_length=64)]
) -> Response:
    """Revoke a token; it opens nothing any more after 5 s at most, at any instance of this API."""
    house, change = house_of(request), change_of(request)
    token = next((token for token in await _known(house) if token.id == token_id), None)
    if token is None:
        raise Problem(404, "no-token", f"No token has the id {token_id[:64]!r}.")
    now_s = time.time()
    if token.revoked_s is None:
        gone = dataclasses.replace(token, revoked_s=now_s)
        change.before, change.after = _told(token), _told(gone)
        await house.auditor.intend(change)
        await house.gatekeeper.revoke_first(gone)
        await _save(house, gone, now_s)
        house.gatekeeper.forget(gone.digest)
        token = gone
    return answer(_told(token))


async def _known(house: House) -> list[Token]:
    try:
        known = await house.store.load_tokens(house.tree, time.time())
    except (StoreSilent, StoreRefused, TokenUnreadable) as fault:
        raise store_silent(str(fault)) from fault
    first = house.gatekeeper.first()
    if first is not None and all(token.id != first.id for token in known):
        known.insert(0, first)
    return known


async def _save(house: House, token: Token, now_s: float) -> None:
    try:
        await house.store.save_token(house.tree, token, now_s)
    except (StoreSilent, StoreRefused) as fault:
        raise store_silent(str(fault)) from fault


def _told(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "tenant": token.tenant,
        "created": rfc_3339(token.created_s),
        "expires": rfc_3339(token.expires_s),
        "revoked": None if token.revoked_s is None else rfc_3339(token.revoked_s),
    }


def _without_token(body: bytes) -> bytes:
    """What a receipt may keep of the answer: a token stands in no store."""
    return json.dumps({**json.loads(body), "token": None}).encode()
