"""A request with an idempotency key is done once: the same again gets the same answer."""

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.responses import Response

from easyrider.admin_store import AdminStorePort
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider_policy_api.change import Change
from easyrider_policy_api.core import receipts
from easyrider_policy_api.problems import FieldFault, Problem, not_valid, store_silent

KEPT_S = 86_400.0
LEASE_S = 30.0
"""Longer than any request takes: a process that died over one lets go after this."""
Work = Callable[[], Awaitable[Response]]
_TOLD = ("content-type", "etag", "location")
OWED = 1_024
"""Keys of requests that came to nothing while the store was silent, remembered until they are tried again."""


class Once:
    """Receipts of one tree."""

    def __init__(self, store: AdminStorePort, tree: str) -> None:
        self._store, self._tree = store, tree
        self._owed: OrderedDict[str, bytes] = OrderedDict()  # what stands at a key that should be free

    async def do(
        self,
        change: Change,
        key: str | None,
        condition: str,
        body: bytes,
        work: Work,
        secret: Callable[[bytes], bytes] = bytes,
    ) -> Response:
        """The answer of `work`, or of the time before. `secret` takes out of an answer what may not be kept."""
        if key is None:
            return await work()
        assert change.caller is not None
        act = f"{change.method} {change.path}"
        try:
            place = receipts.digest(change.caller.token, act, key)
        except receipts.BadKey as fault:
            raise not_valid([FieldFault("Idempotency-Key", str(fault))]) from fault
        asked = receipts.of_request(change.path, condition, body)
        pending = receipts.PENDING + secrets.token_bytes(8)
        try:
            known = await self._begun(place, pending)
        except (StoreSilent, StoreRefused) as fault:
            self._owe(place, pending)  # it may have been written all the same
            raise store_silent(str(fault)) from fault
        if known is not None:
            change.audited = False  # it is in the audit already, from the first time
            return _again(known, asked)
        try:
            response = await work()
        except Problem as problem:
            if problem.status < 500 or not change.intended:
                await self._let_go(place, pending)
            raise
        headers = {name: response.headers[name] for name in _TOLD if name in response.headers}
        receipt = receipts.encode(asked, response.status_code, headers, secret(bytes(response.body)))
        try:
            await self._store.finish(self._tree, place, receipt, KEPT_S)
        except (StoreSilent, StoreRefused):
            response.headers["Idempotency-Kept"] = "false"  # it was done; the same again would do it again
        return response

    async def _begun(self, place: str, pending: bytes) -> bytes | None:
        """None: ours to do; else what stands there, but for what an earlier try of ours left for nothing."""
        known = await self._store.begin(self._tree, place, pending, LEASE_S)
        owed = self._owed.get(place)
        if known is None or known != owed:
            return known
        await self._store.give_back(self._tree, place)
        del self._owed[place]
        return await self._store.begin(self._tree, place, pending, LEASE_S)

    async def _let_go(self, place: str, pending: bytes) -> None:
        """Nothing was done, so the key may be used for another try; where that is not sure, it waits for its lease."""
        try:
            await self._store.give_back(self._tree, place)
        except (StoreSilent, StoreRefused):
            self._owe(place, pending)

    def _owe(self, place: str, pending: bytes) -> None:
        self._owed[place] = pending
        while len(self._owed) > OWED:
            self._owed.popitem(last=False)  # the lease lets go of it


def _again(known: bytes, asked: str) -> Response:
    receipt = receipts.decode(known)
    if receipt is None:
        raise Problem(
            409, "under-way", "The first request with this key is not answered yet.", retry_after_s=1.0
        )
    if receipt.request != asked:
        raise Problem(409, "key-used", "This Idempotency-Key was used for another request; nothing was done.")
    return Response(
        receipts.body_of(receipt),
        status_code=receipt.status,
        headers={**receipt.headers, "Idempotency-Replayed": "true"},
    )
