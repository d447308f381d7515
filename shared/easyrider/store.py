"""The state store over Redis or Valkey; with `store_client` the only file that imports the client library.

A cache of intent, never on the control path. Every call has its own deadline, because a frozen server held one
plain GET for over 8 s. What is on disk is the server's affair; what must survive stands in fsynced files elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Self

from redis import exceptions

from easyrider import store_keys as keys
from easyrider.store_client import open_client
from easyrider.store_port import Login, OlderFingerprint, OlderRules, StorePort, StoreRefused, StoreSilent
from easyrider.tls import TlsFiles, why_refused

__all__ = ["OlderRules", "Store", "StorePort", "StoreRefused", "StoreSilent"]

# numbers in Lua are doubles: epochs beyond this would round
EPOCH_LIMIT = 2**53 - 1

# held lease: "<epoch> <owner>"; the epoch key never expires
_TAKE = """
local held = redis.call('GET', KEYS[1])
if held and string.match(held, '^%d+ (.*)$') ~= ARGV[1] then return false end
local epoch = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[2])) + 1
local text = string.format('%.0f', epoch)
redis.call('SET', KEYS[2], text)
redis.call('SET', KEYS[1], text .. ' ' .. ARGV[1], 'PX', ARGV[3])
return text
"""
_RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_GIVE_UP = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
_SAVE_RULES = """
local held = redis.call('HGET', KEYS[1], 'version')
if held and tonumber(held) > tonumber(ARGV[1]) then return tonumber(held) end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'document', ARGV[2])
return -1
"""
# kept: "<revision> <record>"; what has no revision that counts in Lua is older than any
_SAVE_FINGERPRINT = """
local held = redis.call('HGET', KEYS[1], ARGV[1])
local revision = held and tonumber(string.match(held, '^(%d+) ') or '0') or -1
if revision >= 9007199254740992 then revision = 0 end
if revision >= tonumber(ARGV[2]) then return revision end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
return -1
"""

_FORGET_FINGERPRINT = """
local held = redis.call('HGET', KEYS[1], ARGV[1])
local revision = tonumber(string.match(held or '', '^(%d+) ') or '0')
if revision >= 9007199254740992 then revision = 0 end
if not held or revision > tonumber(ARGV[2]) then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
"""

_SWEEP_ACCURACIES = """
local all, kept, gone = redis.call('HGETALL', KEYS[1]), {}, {}
for i = 1, #all, 2 do
  local moment = tonumber(string.match(all[i + 1], '^(%d+) ') or '0')
  if moment < tonumber(ARGV[1]) then gone[#gone + 1] = all[i] else kept[#kept + 1] = {moment, all[i]} end
end
if #kept > tonumber(ARGV[2]) then
  table.sort(kept, function(one, other) return one[1] > other[1] end)
  for i = tonumber(ARGV[2]) + 1, #kept do gone[#gone + 1] = kept[i][2] end
end
for _, name in ipairs(gone) do redis.call('HDEL', KEYS[1], name) end
return #gone
"""


class Store:
    """One client. Made by `Store.connect`, which does not wait for the server."""

    def __init__(self, client: Any, deadline_s: float) -> None:
        self._client, self._deadline_s = client, deadline_s
        self._take = client.register_script(_TAKE)
        self._renew = client.register_script(_RENEW)
        self._give_up = client.register_script(_GIVE_UP)
        self._save_rules = client.register_script(_SAVE_RULES)
        self._save_fingerprint = client.register_script(_SAVE_FINGERPRINT)
        self._forget_fingerprint = client.register_script(_FORGET_FINGERPRINT)
        self._sweep_accuracies = client.register_script(_SWEEP_ACCURACIES)

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, url: str, *, login: Login | None = None, tls: TlsFiles | None = None, deadline_s: float = 0.5
    ) -> AsyncIterator[Self]:
        """A store whose every call ends within `deadline_s`; opens connections when they are needed.

        With `tls` nothing is ever said in plain text. Password and certificates are read for each connection.
        """
        client = open_client(url, deadline_s, login, tls)
        try:
            yield cls(client, deadline_s)
        finally:
            try:
                async with asyncio.timeout(deadline_s):
                    await client.aclose()
            except (TimeoutError, OSError, exceptions.RedisError):
                pass  # the connection is thrown away either way

    async def take_lead(
        self, tree: str, scope: str, owner: str, seen_epoch: int, lease_s: float
    ) -> int | None:
        """See `StorePort`. Raises `ValueError` for an epoch that Lua could not count."""
        if not 0 <= seen_epoch < EPOCH_LIMIT:
            raise ValueError(f"epoch {seen_epoch} is not in 0..{EPOCH_LIMIT}")
        found = await self._ask(
            "take_lead",
            self._take(
                keys=[keys.leader(tree, scope), keys.epoch(tree, scope)],
                args=[owner, seen_epoch, _ms(lease_s)],
            ),
        )
        return None if found is None else int(found)

    async def renew_lead(self, tree: str, scope: str, owner: str, epoch: int, lease_s: float) -> bool:
        """See `StorePort`."""
        call = self._renew(keys=[keys.leader(tree, scope)], args=[f"{epoch} {owner}", _ms(lease_s)])
        return bool(await self._ask("renew_lead", call))

    async def give_up_lead(self, tree: str, scope: str, owner: str, epoch: int) -> None:
        """See `StorePort`."""
        await self._ask(
            "give_up_lead", self._give_up(keys=[keys.leader(tree, scope)], args=[f"{epoch} {owner}"])
        )

    async def save_state(self, tree: str, region: str, fields: dict[str, bytes]) -> None:
        """See `StorePort`. One wide HSET: seven times a pipeline of small commands."""
        if fields:
            await self._ask("save_state", self._client.hset(keys.state(tree, region), mapping=fields))

    async def load_state(self, tree: str, region: str) -> dict[str, bytes]:
        """See `StorePort`."""
        found = await self._ask("load_state", self._client.hgetall(keys.state(tree, region)))
        return {name.decode(): value for name, value in found.items()}

    async def save_rules(self, tree: str, version: int, document: bytes) -> None:
        """See `StorePort`."""
        held = await self._ask(
            "save_rules", self._save_rules(keys=[keys.rules(tree)], args=[version, document])
        )
        if int(held) >= 0:
            raise OlderRules(int(held), version)

    async def load_rules(self, tree: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        version, document = await self._ask(
            "load_rules", self._client.hmget(keys.rules(tree), ["version", "document"])
        )
        return None if version is None or document is None else (int(version), document)

    async def save_fingerprint(self, tree: str, kept_id: str, revision: int, data: bytes) -> None:
        """See `StorePort`."""
        call = self._save_fingerprint(keys=[keys.fingerprints(tree)], args=[kept_id, revision, data])
        held = int(await self._ask("save_fingerprint", call))
        if held >= 0:
            raise OlderFingerprint(held, revision)

    async def load_fingerprint(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        found = await self._ask("load_fingerprint", self._client.hget(keys.fingerprints(tree), kept_id))
        return None if found is None else _revised(found)

    async def load_fingerprints(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """See `StorePort`."""
        found = await self._ask("load_fingerprints", self._client.hgetall(keys.fingerprints(tree)))
        return {name.decode("utf-8", "replace"): _revised(value) for name, value in found.items()}

    async def forget_fingerprint(self, tree: str, kept_id: str, revision: int) -> bool:
        """See `StorePort`."""
        call = self._forget_fingerprint(keys=[keys.fingerprints(tree)], args=[kept_id, revision])
        return bool(await self._ask("forget_fingerprint", call))

    async def save_accuracy(self, tree: str, unix_s: int, kept: dict[str, bytes]) -> None:
        """See `StorePort`."""
        if kept:
            mapping = {kept_id: b"%d %b" % (unix_s, data) for kept_id, data in kept.items()}
            await self._ask("save_accuracy", self._client.hset(keys.accuracy(tree), mapping=mapping))

    async def load_accuracy(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        found = await self._ask("load_accuracy", self._client.hget(keys.accuracy(tree), kept_id))
        return None if found is None else _revised(found)

    async def load_accuracies(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """See `StorePort`."""
        found = await self._ask("load_accuracies", self._client.hgetall(keys.accuracy(tree)))
        return {name.decode("utf-8", "replace"): _revised(value) for name, value in found.items()}

    async def sweep_accuracies(self, tree: str, before_unix_s: int, most: int) -> int:
        """See `StorePort`. Done by the server, so that ten thousand records need not come and go."""
        call = self._sweep_accuracies(keys=[keys.accuracy(tree)], args=[before_unix_s, most])
        return int(await self._ask("sweep_accuracies", call))

    async def _ask(self, verb: str, call: Awaitable[Any]) -> Any:
        """The answer, or its absence by name. A call given up takes its connection with it."""
        try:
            async with asyncio.timeout(self._deadline_s):
                return await call
        except (TimeoutError, exceptions.TimeoutError):
            raise StoreSilent(verb, f"no answer within {self._deadline_s} s") from None
        except (exceptions.AuthenticationError, exceptions.AuthorizationError) as fault:
            raise StoreRefused(verb, str(fault)) from fault
        except (exceptions.ConnectionError, OSError) as fault:  # loading is one of them: not yet, never empty
            raise StoreSilent(verb, _why_silent(fault)) from fault
        except exceptions.RedisError as fault:
            raise StoreRefused(verb, str(fault)) from fault


def _revised(value: bytes) -> tuple[int, bytes]:
    """Revision and data; revision 0 and all of it where no revision stands before it that Lua can count."""
    revision, blank, data = bytes(value).partition(b" ")
    if blank and revision.isdigit() and len(revision) <= 16 and int(revision) < EPOCH_LIMIT:
        return int(revision), data
    return 0, bytes(value)


def _ms(lease_s: float) -> int:
    return max(1, round(lease_s * 1000))


def _why_silent(fault: BaseException) -> str:
    """What TLS says of it, if it was TLS: the library wraps that in words about an address."""
    cause: BaseException | None = fault
    while cause is not None:
        if why := why_refused(cause):
            return why
        cause = cause.__cause__ or cause.__context__
    return str(fault)
