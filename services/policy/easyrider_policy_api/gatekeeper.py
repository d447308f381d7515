"""Who is asking: a bearer's token looked up by its hash, remembered for less time than a revocation may take."""

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Callable

from easyrider import log, metrics, tokens
from easyrider.admin_store import AdminStorePort
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.tokens import Token, TokenUnreadable
from easyrider_policy_api.adapters.first_token import FirstToken
from easyrider_policy_api.core.access import Caller
from easyrider_policy_api.core.buckets import Buckets
from easyrider_policy_api.problems import Problem, audit_broken, store_silent

_LOG = log.get("policy-api")
_FAILURES = metrics.counter("api_login_failures_total", "requests with a token that opens nothing")
_LIMITED = metrics.counter("api_limited_total", "requests that were too many", ["of"])
REMEMBERED_S = 2.0
"""A token that was revoked opens nothing after this and one call to the store: below the 5 s promised."""
MOST = 4_096
FOLLOW_S = 10.0


class Gatekeeper:
    """`now_s` is Unix time, by which tokens end; `mono_s` the clock of limits and of what is remembered."""

    def __init__(
        self,
        store: AdminStorePort,
        tree: str,
        *,
        first: FirstToken,
        per_s: float,
        failures_per_min: float,
        now_s: Callable[[], float],
        mono_s: Callable[[], float],
    ) -> None:
        self._store, self._tree, self._first = store, tree, first
        self._now_s, self._mono_s = now_s, mono_s
        self._asked = Buckets(per_s, max(1.0, 2 * per_s))
        self._failed = Buckets(failures_per_min / 60.0, failures_per_min)
        self._known: OrderedDict[str, tuple[Token, float]] = OrderedDict()

    async def caller(self, authorization: str | None, peer: str) -> Caller:
        """Whoever shows this header. Raises `Problem`: 401, 429, 503."""
        if authorization is None:
            raise Problem(401, "no-token", "Show a token: Authorization: Bearer er_...")
        scheme, _, shown = authorization.partition(" ")
        shown = shown.strip()
        if scheme.lower() != "bearer" or not tokens.well_formed(shown):
            raise self._failure(peer)
        digest = tokens.digest(shown)
        known = self._known.get(digest)
        if known is None and (wait_s := self._failed.wait_s(peer, self._mono_s())) is not None:
            raise self._too_many_failures(wait_s)
        token = await self._token(digest, known)
        same = token is not None and hmac.compare_digest(token.digest.encode(), digest.encode())
        if token is None or not same or not token.opens(self._now_s()):
            self._known.pop(digest, None)
            raise self._failure(peer)
        if (wait_s := self._asked.take(token.id, self._mono_s())) is not None:
            _LIMITED.labels("token").inc()
            raise Problem(
                429, "too-many", "This token asks too often; nothing was done.", retry_after_s=wait_s
            )
        return Caller(token=token.id, name=token.name, role=token.role, tenant=token.tenant)

    async def _token(self, digest: str, known: tuple[Token, float] | None) -> Token | None:
        if known is not None and self._mono_s() - known[1] < REMEMBERED_S:
            return known[0]
        asked_s = self._mono_s()
        try:
            token = await self._of_store(digest)
        except TokenUnreadable as fault:
            log.bounded(_LOG, "token", 10.0).error("a token's record cannot be read", why=str(fault))
            return None  # it may say that this one was revoked
        if token is not None:
            await self._learn(token)
        else:
            token = self._first.read(
                digest
            )  # nothing in the store speaks against it, perhaps since that was emptied
        if token is not None:
            self._remember(digest, token, asked_s)
        return token

    async def _of_store(self, digest: str) -> Token | None:
        try:
            return await self._store.load_token(self._tree, digest)
        except (StoreSilent, StoreRefused) as fault:
            raise store_silent(str(fault)) from fault

    def _remember(self, digest: str, token: Token, asked_s: float) -> None:
        self._known[digest] = (token, asked_s)
        self._known.move_to_end(digest)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def forget(self, digest: str) -> None:
        """A token that was revoked here opens nothing here any more."""
        self._known.pop(digest, None)

    def first(self) -> Token | None:
        """The token that an installation begins with, revoked if that was ever known here."""
        return self._first.read()

    async def revoke_first(self, token: Token) -> None:
        """Keep on this disk that it was revoked, if it is the first. Raises `Problem`: it is not revoked for good."""
        if self._first.read(token.digest) is None:
            return
        try:
            await asyncio.to_thread(self._first.revoke, token)
        except OSError as fault:
            raise audit_broken(fault.strerror or str(fault)) from fault

    async def follow(self) -> None:
        """For ever: that the first token was revoked is brought from the store to this disk, and back to a store
        that forgot it, so that every instance knows."""
        while True:
            await self.once()
            await asyncio.sleep(FOLLOW_S)

    async def once(self) -> None:
        """One round of it."""
        first, now_s = self._first.read(), self._now_s()
        if first is None or first.expires_s <= now_s:
            return
        try:
            held = await self._store.load_token(self._tree, first.digest)
            if first.revoked_s is not None and (held is None or held.revoked_s is None):
                await self._store.save_token(self._tree, first, now_s)
            elif held is not None:
                await self._learn(held)
        except (StoreSilent, StoreRefused, TokenUnreadable) as fault:
            log.bounded(_LOG, "first", 60.0).warning(
                "the store tells nothing of the first token", why=str(fault)
            )

    async def _learn(self, token: Token) -> None:
        """What the store says of a token is kept here too where it is the first and was revoked."""
        if token.revoked_s is None:
            return
        first = self._first.read(token.digest)
        if first is None or first.revoked_s is not None:
            return
        try:
            await self.revoke_first(token)
        except Problem as fault:
            log.bounded(_LOG, "first", 60.0).error(
                "that the first token is revoked is not on our disk", why=str(fault)
            )

    def _failure(self, peer: str) -> Problem:
        _FAILURES.inc()
        if (wait_s := self._failed.take(peer, self._mono_s())) is not None:
            return self._too_many_failures(wait_s)
        return Problem(401, "wrong-token", "This token opens nothing: it is wrong, expired or revoked.")

    def _too_many_failures(self, wait_s: float) -> Problem:
        _LIMITED.labels("failures").inc()
        return Problem(
            429,
            "too-many-failures",
            "Too many wrong tokens came from this address; tokens that opened before still do.",
            retry_after_s=wait_s,
        )
