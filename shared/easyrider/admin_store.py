"""The store as those who administer see it: edits that lose to nobody, tokens by their hash, receipts of answers."""

from typing import Any, Protocol

from easyrider import store_keys as keys
from easyrider import tokens
from easyrider.store import Store
from easyrider.store_port import StorePort, StoreRefused
from easyrider.tokens import Token

KEPT_S = 30 * 86400.0
"""Revoked and expired tokens stay listed so long."""

_REPLACE_RULES = """
local held = redis.call('HGET', KEYS[1], 'version')
if (held or '') ~= ARGV[1] then return held or '' end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'document', ARGV[3])
return 'done'
"""
_SAVE_TOKEN = """
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
"""
_BEGIN = """
local known = redis.call('GET', KEYS[1])
if known then return known end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
"""


class RulesMoved(StoreRefused):
    """The rules are at another version than the edit began with; nothing was written. `held`: None where none are."""

    def __init__(self, held: int | None, expected: int | None) -> None:
        self.held, self.expected = held, expected
        at = "no rules" if held is None else f"version {held}"
        super().__init__("replace_rules", f"it holds {at}, the edit began with {expected or 'none'}")


class AdminStorePort(StorePort, Protocol):
    """Said by `AdminStore` and `easyrider.testing.FakeAdminStore`; both take the same exam."""

    async def replace_rules(self, tree: str, held: int | None, version: int, document: bytes) -> None:
        """Write `version` if the store holds exactly `held` (None: nothing). Raises `RulesMoved`."""
        ...

    async def save_token(self, tree: str, token: Token, now_s: float) -> None:
        """Keep it, in place of what was known of it before."""
        ...

    async def load_token(self, tree: str, digest: str) -> Token | None:
        """What is known under this hash. Raises `TokenUnreadable`."""
        ...

    async def load_tokens(self, tree: str, now_s: float) -> list[Token]:
        """Every token that was not revoked or expired long ago, oldest first."""
        ...

    async def begin(self, tree: str, digest: str, pending: bytes, lease_s: float) -> bytes | None:
        """None: it is ours to do, and `pending` stands there now; else what stands there."""
        ...

    async def finish(self, tree: str, digest: str, receipt: bytes, keep_s: float) -> None:
        """What to answer to the same key again."""
        ...

    async def give_back(self, tree: str, digest: str) -> None:
        """Nothing was done: the key may be used again."""
        ...


class AdminStore(Store):
    """One client; made by `AdminStore.connect`."""

    async def replace_rules(self, tree: str, held: int | None, version: int, document: bytes) -> None:
        """See `AdminStorePort`."""
        call = self._script(_REPLACE_RULES)(
            keys=[keys.rules(tree)], args=["" if held is None else held, version, document]
        )
        found = (await self._ask("replace_rules", call)).decode()
        if found != "done":
            raise RulesMoved(int(found) if found else None, held)

    async def save_token(self, tree: str, token: Token, now_s: float) -> None:
        """See `AdminStorePort`."""
        call = self._script(_SAVE_TOKEN)(
            keys=[keys.token(tree, token.digest), keys.token_list(tree)],
            args=[token.id, tokens.encode(token), _left_ms(token, now_s)],
        )
        await self._ask("save_token", call)

    async def load_token(self, tree: str, digest: str) -> Token | None:
        """See `AdminStorePort`."""
        found = await self._ask("load_token", self._client.get(keys.token(tree, digest)))
        return None if found is None else tokens.decode(found)

    async def load_tokens(self, tree: str, now_s: float) -> list[Token]:
        """See `AdminStorePort`. Forgets those of long ago on the way."""
        found = await self._ask("load_tokens", self._client.hgetall(keys.token_list(tree)))
        known = [tokens.decode(value) for value in found.values()]
        gone = {token.id for token in known if long_gone(token, now_s)}
        if gone:
            await self._ask("load_tokens", self._client.hdel(keys.token_list(tree), *gone))
        kept = [token for token in known if token.id not in gone]
        return sorted(kept, key=lambda token: token.created_s)

    async def begin(self, tree: str, digest: str, pending: bytes, lease_s: float) -> bytes | None:
        """See `AdminStorePort`."""
        call = self._script(_BEGIN)(keys=[keys.receipt(tree, digest)], args=[pending, _ms(lease_s)])
        found = await self._ask("begin", call)
        return None if found is None else bytes(found)

    async def finish(self, tree: str, digest: str, receipt: bytes, keep_s: float) -> None:
        """See `AdminStorePort`."""
        await self._ask("finish", self._client.set(keys.receipt(tree, digest), receipt, px=_ms(keep_s)))

    async def give_back(self, tree: str, digest: str) -> None:
        """See `AdminStorePort`."""
        await self._ask("give_back", self._client.delete(keys.receipt(tree, digest)))

    def _script(self, text: str) -> Any:
        return self._client.register_script(text)  # its hash alone is sent, once the server knows it


def long_gone(token: Token, now_s: float) -> bool:
    """Whether nobody needs to see it in a list any more."""
    ended_s = token.expires_s if token.revoked_s is None else min(token.revoked_s, token.expires_s)
    return now_s - ended_s > KEPT_S


def _left_ms(token: Token, now_s: float) -> int:
    """A record outlives its token a little: so that who shows it is told that it has expired."""
    return _ms(token.expires_s - now_s + 86400.0)


def _ms(time_s: float) -> int:
    return max(1, round(time_s * 1000))
