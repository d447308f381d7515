"""The store of those who administer, in memory."""

from easyrider import store_keys as keys
from easyrider import tokens
from easyrider.admin_store import RulesMoved, long_gone
from easyrider.testing.fake_store import FakeStore
from easyrider.tokens import Token


class FakeAdminStore(FakeStore):
    """See `FakeStore`; `now_s` is the clock of what expires."""

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, tuple[bytes, float]] = {}
        self._listed: dict[str, dict[str, bytes]] = {}
        self._receipts: dict[str, tuple[bytes, float]] = {}

    async def replace_rules(self, tree: str, held: int | None, version: int, document: bytes) -> None:
        """See `AdminStorePort`."""
        self._ask("replace_rules", writes=True)
        found = self._rules.get(keys.rules(tree))
        if (None if found is None else found[0]) != held:
            raise RulesMoved(None if found is None else found[0], held)
        self._rules[keys.rules(tree)] = (version, document)

    async def save_token(self, tree: str, token: Token, now_s: float) -> None:
        """See `AdminStorePort`."""
        self._ask("save_token", writes=True)
        ends_s = self._now_s() + token.expires_s - now_s + 86400.0
        self._tokens[keys.token(tree, token.digest)] = (tokens.encode(token), ends_s)
        self._listed.setdefault(tree, {})[token.id] = tokens.encode(token)

    async def load_token(self, tree: str, digest: str) -> Token | None:
        """See `AdminStorePort`."""
        self._ask("load_token")
        found = self._tokens.get(keys.token(tree, digest))
        return None if found is None or found[1] <= self._now_s() else tokens.decode(found[0])

    async def load_tokens(self, tree: str, now_s: float) -> list[Token]:
        """See `AdminStorePort`."""
        self._ask("load_tokens")
        known = [tokens.decode(value) for value in self._listed.get(tree, {}).values()]
        return sorted((t for t in known if not long_gone(t, now_s)), key=lambda t: t.created_s)

    async def begin(self, tree: str, digest: str, pending: bytes, lease_s: float) -> bytes | None:
        """See `AdminStorePort`."""
        self._ask("begin", writes=True)
        key = keys.receipt(tree, digest)
        known = self._receipts.get(key)
        if known is not None and known[1] > self._now_s():
            return known[0]
        self._receipts[key] = (pending, self._now_s() + lease_s)
        return None

    async def finish(self, tree: str, digest: str, receipt: bytes, keep_s: float) -> None:
        """See `AdminStorePort`."""
        self._ask("finish", writes=True)
        self._receipts[keys.receipt(tree, digest)] = (receipt, self._now_s() + keep_s)

    async def give_back(self, tree: str, digest: str) -> None:
        """See `AdminStorePort`."""
        self._ask("give_back", writes=True)
        self._receipts.pop(keys.receipt(tree, digest), None)
