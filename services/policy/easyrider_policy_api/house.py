"""Everything a route may use, and the few things every route begins with."""

import json
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from easyrider.admin_store import AdminStorePort
from easyrider.moments import rfc_3339
from easyrider.tokens import Role
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_policy_api import body
from easyrider_policy_api.auditor import Auditor
from easyrider_policy_api.change import Change
from easyrider_policy_api.coordinator_link import CoordinatorLink
from easyrider_policy_api.core import receipts
from easyrider_policy_api.core.access import Caller, allows
from easyrider_policy_api.core.etags import BadTag, version_of
from easyrider_policy_api.gatekeeper import Gatekeeper
from easyrider_policy_api.once import Once
from easyrider_policy_api.problems import FieldFault, Problem, not_valid
from easyrider_policy_api.rules_desk import RulesDesk

B = TypeVar("B", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One API of one tree and region."""

    tree: str
    region: str
    store: AdminStorePort
    gatekeeper: Gatekeeper
    link: CoordinatorLink
    rules: RulesDesk
    auditor: Auditor
    once: Once
    body_limit_bytes: int
    body_timeout_s: float
    healthy: Callable[[], dict[str, bool]]
    model_file: ModelFile | None = None  # what jobs draw before they start; None: their nameplate

    async def document(self, request: Request) -> Any:
        """The body as JSON."""
        return await body.document(request, self.body_limit_bytes, self.body_timeout_s)

    async def record(self, request: Request, kind: type[B]) -> B:
        """The body as its record; what the operator gave as reason goes into the audit."""
        found = body.record(kind, await self.document(request))
        change_of(request).reason = getattr(found, "reason", "")
        return found

    async def once_only(
        self,
        request: Request,
        work: Callable[[], Awaitable[Response]],
        secret: Callable[[bytes], bytes] = bytes,
    ) -> Response:
        """`work`, done once where the request has an idempotency key."""
        raw = await body.raw_body(request, self.body_limit_bytes, self.body_timeout_s)
        key = request.headers.get("idempotency-key")
        condition = request.headers.get("if-match", "-")
        return await self.once.do(change_of(request), key, condition, raw, work, secret)


def house_of(request: Request) -> House:
    """The house this request is in."""
    house: House = request.app.state.house
    return house


def change_of(request: Request) -> Change:
    """What the audit will tell of this request."""
    change: Change = request.state.change
    return change


def needs(role: Role, *, tenants: bool = False) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency: whoever asks has at least this role. `tenants`: also one who sees a tenant's jobs alone."""

    async def caller(request: Request) -> Caller:
        house, change = house_of(request), change_of(request)
        if {"token", "access_token"} & request.query_params.keys():
            raise Problem(
                400, "token-in-address", "Tokens do not go into addresses: use the header Authorization."
            )
        found = await house.gatekeeper.caller(request.headers.get("authorization"), request.state.peer)
        change.caller = found
        if not allows(found, role, tenants=tenants):
            more = " and is not bound to a tenant" if found.tenant else ""
            raise Problem(403, "not-allowed", f"This needs a token of the role {role} or above{more}.")
        _refuse_unknown(request)
        return found

    return caller


def _refuse_unknown(request: Request) -> None:
    """422 for a query that no route would look at: what is misspelt is not passed over, nor is what is said twice."""
    route = request.scope.get("route")
    once = {each.alias for each in getattr(getattr(route, "dependant", None), "query_params", ())}
    named = set(once)
    extra = getattr(route, "openapi_extra", None) or {}
    named |= {each["name"] for each in extra.get("parameters", ()) if each["in"] == "query"}
    unknown = [key for key in request.query_params if key not in named]
    if unknown:
        raise not_valid([FieldFault(key[:64] or "query", "is not asked for here") for key in unknown[:20]])
    said = [key for key, _ in request.query_params.multi_items()]
    if twice := sorted(key for key in once if said.count(key) > 1):
        raise not_valid([FieldFault(key, "is said more than once") for key in twice])


def expected(request: Request, *, wanted: bool) -> int | None:
    """The version of If-Match. Raises `Problem` 428 where one is wanted and missing, 422 where it is none."""
    header = request.headers.get("if-match")
    if header is None:
        if wanted:
            raise Problem(
                428,
                "version-wanted",
                "Say which version of the rules was edited: If-Match with the ETag of what was read.",
            )
        return None
    try:
        return version_of(header)
    except BadTag as fault:
        raise not_valid([FieldFault("If-Match", str(fault))]) from fault


def new_id(kind: str, request: Request) -> str:
    """An id for something made; the same for a request that is tried again with its idempotency key."""
    key, change = request.headers.get("idempotency-key"), change_of(request)
    if key is None or change.caller is None:
        return f"{kind}-{secrets.token_hex(4)}"
    try:
        return f"{kind}-{receipts.digest(change.caller.token, change.path, key)[:12]}"
    except receipts.BadKey as fault:
        raise not_valid([FieldFault("Idempotency-Key", str(fault))]) from fault


def now_text() -> str:
    """This moment, for people."""
    return rfc_3339(time.time())


def answer(document: Any, *, status: int = 200, version: int | None = None, **headers: str) -> Response:
    """JSON, with the version of the rules as ETag."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    if version is not None:
        told["ETag"] = f'"{version}"'
    return JSONResponse(document, status_code=status, headers=told)


def written(body: bytes, **head: float | None) -> Response:
    """An answer whose document is written out already, with a few fields before those of its map."""
    first = json.dumps(head, allow_nan=False).encode() if head else b"{}"
    whole = body if first == b"{}" else first if body == b"{}" else first[:-1] + b"," + body[1:]
    return Response(whole, media_type="application/json")
