"""Around every request: who is at the other end, how often, how large; and the audit of what it tried to change."""

from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from easyrider import log, metrics
from easyrider_policy_api.auditor import Auditor
from easyrider_policy_api.body import too_large
from easyrider_policy_api.change import Change
from easyrider_policy_api.core import peers
from easyrider_policy_api.core.buckets import Buckets
from easyrider_policy_api.problems import MEDIA_TYPE, Problem

_LOG = log.get("policy-api")
_ANSWERS = metrics.counter("api_answers_total", "requests answered", ["method", "status"])
_LIMITED = metrics.counter("api_limited_total", "requests that were too many", ["of"])
_UNTOLD = metrics.counter(
    "api_audit_left_out_total", "refusals counted and not audited: too many of one peer"
)
CHANGING = ("POST", "PUT", "DELETE", "PATCH")
CHANGES_NOTHING = ("/dry-run", "/v1/estimate")
TOLD_EVERY_S = 10.0
"""Of one address that is over its limits, a refusal is audited so often; all are counted."""

NOBODYS_PER_MIN = 10.0
"""And of one that shows no token, or none that opens, so many: each is a write to the disk."""


class Guard:
    """The outermost room. Nothing behind it runs for who asks too often or sends too much."""

    def __init__(
        self,
        app: ASGIApp,
        auditor: Auditor,
        *,
        proxies: tuple[peers.Network, ...],
        per_s: float,
        body_limit_bytes: int,
        mono_s: Callable[[], float],
    ) -> None:
        self._app, self._auditor, self._proxies = app, auditor, proxies
        self._body_limit_bytes, self._mono_s = body_limit_bytes, mono_s
        self._asked = Buckets(per_s, max(1.0, 2 * per_s))
        self._told = Buckets(1 / TOLD_EVERY_S, 1.0)
        self._nobody = Buckets(NOBODYS_PER_MIN / 60.0, 2 * NOBODYS_PER_MIN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            return  # nothing else is spoken here
        headers = Headers(scope=scope)
        client = scope.get("client")
        peer = peers.real_peer(
            client[0] if client else "unknown", headers.getlist("x-forwarded-for"), self._proxies
        )
        method = scope["method"]
        change = Change(
            method=method,
            path=scope["path"],
            peer=peer,
            audited=method in CHANGING and not scope["path"].endswith(CHANGES_NOTHING),
        )
        scope.setdefault("state", {}).update(peer=peer, change=change)
        said = _Said(self, change, scope, send)
        problem = self._refusal(peer, headers)
        if problem is not None:
            change.why = problem.detail
            await _answer(problem, said)
            return
        await self._app(scope, receive, said)

    def _refusal(self, peer: str, headers: Headers) -> Problem | None:
        if (wait_s := self._asked.take(peer, self._mono_s())) is not None:
            _LIMITED.labels("peer").inc()
            return Problem(
                429, "too-many", "This address asks too often; nothing was done.", retry_after_s=wait_s
            )
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._body_limit_bytes:
            return too_large(self._body_limit_bytes)
        return None

    async def ended(self, change: Change, status: int, scope: Scope) -> None:
        """Count the answer, and audit it if it is one to a change, before the client has it."""
        _ANSWERS.labels(change.method if change.method in ("GET", *CHANGING) else "other", str(status)).inc()
        if not change.audited:
            return
        kept = self._told if status == 429 else self._nobody if change.caller is None else None
        if kept is not None and kept.take(change.peer, self._mono_s()) is not None:
            _UNTOLD.inc()
            return
        route = scope.get("route")
        change.act = f"{change.method.lower()} {getattr(route, 'path', change.path)}"
        await self._auditor.finish(change, status)


class _Said:
    """The way out: the audit's line is on the disk before the answer leaves."""

    def __init__(self, guard: Guard, change: Change, scope: Scope, send: Send) -> None:
        self._guard, self._change, self._scope, self._send = guard, change, scope, send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            headers["Cache-Control"] = "no-store"
            headers["X-Content-Type-Options"] = "nosniff"
            message["headers"] = headers.raw
            await self._guard.ended(self._change, int(message["status"]), self._scope)
        await self._send(message)


async def _answer(problem: Problem, send: Any) -> None:
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(problem.body)), **problem.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": problem.body})
