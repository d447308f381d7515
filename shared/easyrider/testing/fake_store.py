"""A store in memory, with a clock that the test may hold."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from easyrider import store_keys as keys
from easyrider.store_port import OlderFingerprint, OlderRules, StoreRefused, StoreSilent


class FakeStore:
    """Set `silent` to a reason and every verb raises `StoreSilent`; `full`: writes raise `StoreRefused`."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self.silent = ""
        self.full = ""
        self._leases: dict[str, tuple[int, str, float]] = {}
        self._epochs: dict[str, int] = {}
        self._states: dict[str, dict[str, bytes]] = {}
        self._rules: dict[str, tuple[int, bytes]] = {}
        self.fingerprints: dict[str, dict[str, tuple[int, bytes]]] = {}
        """By key and id; tests may put there what nobody would keep."""
        self.accuracies: dict[str, dict[str, tuple[int, bytes]]] = {}

    @classmethod
    @asynccontextmanager
    async def connect(cls) -> AsyncIterator["FakeStore"]:
        """A fresh one, in the manner of the real one."""
        yield cls()

    async def take_lead(
        self, tree: str, scope: str, owner: str, seen_epoch: int, lease_s: float
    ) -> int | None:
        """See `StorePort`."""
        if not 0 <= seen_epoch < 2**53 - 1:
            raise ValueError(f"epoch {seen_epoch} cannot be counted")
        self._ask("take_lead", writes=True)
        key = keys.leader(tree, scope)
        held = self._held(key)
        if held is not None and held[1] != owner:
            return None
        epoch = max(self._epochs.get(keys.epoch(tree, scope), 0), seen_epoch) + 1
        self._epochs[keys.epoch(tree, scope)] = epoch
        self._leases[key] = (epoch, owner, self._now_s() + lease_s)
        return epoch

    async def renew_lead(self, tree: str, scope: str, owner: str, epoch: int, lease_s: float) -> bool:
        """See `StorePort`."""
        self._ask("renew_lead")
        key = keys.leader(tree, scope)
        held = self._held(key)
        if held is None or held[:2] != (epoch, owner):
            return False
        self._leases[key] = (epoch, owner, self._now_s() + lease_s)
        return True

    async def give_up_lead(self, tree: str, scope: str, owner: str, epoch: int) -> None:
        """See `StorePort`."""
        self._ask("give_up_lead")
        key = keys.leader(tree, scope)
        held = self._held(key)
        if held is not None and held[:2] == (epoch, owner):
            del self._leases[key]

    async def save_state(self, tree: str, region: str, fields: dict[str, bytes]) -> None:
        """See `StorePort`."""
        self._ask("save_state", writes=True)
        if fields:
            self._states.setdefault(keys.state(tree, region), {}).update(fields)

    async def load_state(self, tree: str, region: str) -> dict[str, bytes]:
        """See `StorePort`."""
        self._ask("load_state")
        return dict(self._states.get(keys.state(tree, region), {}))

    async def save_rules(self, tree: str, version: int, document: bytes) -> None:
        """See `StorePort`."""
        self._ask("save_rules", writes=True)
        held = self._rules.get(keys.rules(tree))
        if held is not None and held[0] > version:
            raise OlderRules(held[0], version)
        self._rules[keys.rules(tree)] = (version, document)

    async def load_rules(self, tree: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        self._ask("load_rules")
        return self._rules.get(keys.rules(tree))

    async def save_fingerprint(self, tree: str, kept_id: str, revision: int, data: bytes) -> None:
        """See `StorePort`."""
        self._ask("save_fingerprint", writes=True)
        kept = self.fingerprints.setdefault(keys.fingerprints(tree), {})
        if kept_id in kept and kept[kept_id][0] >= revision:
            raise OlderFingerprint(kept[kept_id][0], revision)
        kept[kept_id] = revision, data

    async def load_fingerprint(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        self._ask("load_fingerprint")
        return self.fingerprints.get(keys.fingerprints(tree), {}).get(kept_id)

    async def load_fingerprints(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """See `StorePort`."""
        self._ask("load_fingerprints")
        return dict(self.fingerprints.get(keys.fingerprints(tree), {}))

    async def forget_fingerprint(self, tree: str, kept_id: str, revision: int) -> bool:
        """See `StorePort`."""
        self._ask("forget_fingerprint", writes=True)
        kept = self.fingerprints.get(keys.fingerprints(tree), {})
        if kept_id not in kept or kept[kept_id][0] > revision:
            return False
        del kept[kept_id]
        return True

    async def save_accuracy(self, tree: str, unix_s: int, kept: dict[str, bytes]) -> None:
        """See `StorePort`."""
        self._ask("save_accuracy", writes=True)
        mapping = {kept_id: (unix_s, data) for kept_id, data in kept.items()}
        self.accuracies.setdefault(keys.accuracy(tree), {}).update(mapping)

    async def load_accuracy(self, tree: str, kept_id: str) -> tuple[int, bytes] | None:
        """See `StorePort`."""
        self._ask("load_accuracy")
        return self.accuracies.get(keys.accuracy(tree), {}).get(kept_id)

    async def load_accuracies(self, tree: str) -> dict[str, tuple[int, bytes]]:
        """See `StorePort`."""
        self._ask("load_accuracies")
        return dict(self.accuracies.get(keys.accuracy(tree), {}))

    async def sweep_accuracies(self, tree: str, before_unix_s: int, most: int) -> int:
        """See `StorePort`."""
        self._ask("sweep_accuracies", writes=True)
        kept = self.accuracies.get(keys.accuracy(tree), {})
        newest = sorted(kept, key=lambda kept_id: kept[kept_id][0], reverse=True)
        gone = [
            kept_id for at, kept_id in enumerate(newest) if at >= most or kept[kept_id][0] < before_unix_s
        ]
        for kept_id in gone:
            del kept[kept_id]
        return len(gone)

    def _held(self, key: str) -> tuple[int, str, float] | None:
        held = self._leases.get(key)
        return None if held is None or held[2] <= self._now_s() else held

    def _ask(self, verb: str, writes: bool = False) -> None:
        if self.silent:
            raise StoreSilent(verb, self.silent)
        if self.full and writes:
            raise StoreRefused(verb, self.full)
