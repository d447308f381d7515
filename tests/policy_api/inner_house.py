"""The admin API in this process: its own application and guard, a bus and a store in memory, clocks in our hand."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from site_rules import REGION, TREE, Leader, document

from easyrider import tokens
from easyrider.journal import Journal
from easyrider.testing import Exchange, FakeAdminStore, FakeBus
from easyrider.tokens import Role, Token
from easyrider.tree_reader import dump, read_document
from easyrider_policy_api.adapters.first_token import FirstToken
from easyrider_policy_api.app import build
from easyrider_policy_api.auditor import Auditor
from easyrider_policy_api.coordinator_link import CoordinatorLink
from easyrider_policy_api.core import peers
from easyrider_policy_api.gatekeeper import Gatekeeper
from easyrider_policy_api.guard import Guard
from easyrider_policy_api.house import House
from easyrider_policy_api.once import Once
from easyrider_policy_api.rules_desk import RulesDesk

PROXY = "10.9.9.9"


class Inner:
    """Everything of one API, to be looked at and to be broken."""

    def __init__(self, store: FakeAdminStore, bus: FakeBus, leader: Leader, folder: Path) -> None:
        self.store, self.bus, self.leader, self.folder = store, bus, leader, folder
        self.mono_s, self.unix_s = 1000.0, time.time()
        self.shown: dict[str, str] = {}
        self.auditor = Auditor(Journal(folder), bus, REGION, "policy-api/test")
        self.link = CoordinatorLink(bus, TREE, REGION, 0.3, lambda: self.mono_s)
        self.gatekeeper = Gatekeeper(
            store,
            TREE,
            first=FirstToken(folder / "first-token.json", folder),
            per_s=1000.0,
            failures_per_min=10.0,
            now_s=lambda: self.unix_s,
            mono_s=lambda: self.mono_s,
        )
        house = House(
            tree=TREE,
            region=REGION,
            store=store,
            gatekeeper=self.gatekeeper,
            link=self.link,
            rules=RulesDesk(store, TREE, self.link, self.auditor, lambda: self.unix_s),
            auditor=self.auditor,
            once=Once(store, TREE),
            body_limit_bytes=100_000,
            body_timeout_s=0.3,
            healthy=lambda: {"bus": bus.connected, "store": not store.silent, "audit": self.auditor.whole},
        )
        self.app = Guard(
            build(house),
            self.auditor,
            proxies=peers.networks([PROXY]),
            per_s=5000.0,
            body_limit_bytes=100_000,
            mono_s=lambda: self.mono_s,
        )
        self.client = self.from_peer("127.0.0.1")

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator["Inner"]:
        exchange = Exchange()
        async with FakeBus.connect(exchange) as bus, FakeBus.connect(exchange) as leaders:
            store = FakeAdminStore()
            leader = Leader(store)
            await leaders.answer(REGION, leader.answer)
            first, record = tokens.make("first-admin", "admin", "", time.time(), 3600.0)
            (folder / "first-token.json").write_bytes(tokens.encode(record))
            inner = cls(store, bus, leader, folder)
            inner.shown["first"] = first
            await store.save_rules(TREE, 1, dump(read_document(document(), "test")))
            leader.version = 1
            for role in tokens.ROLES:
                await inner.token(role, role)
            await inner.token("tenant", "viewer", tenant="team-a")
            await inner.token("expired", "admin", ended=True)
            await inner.token("revoked", "admin", revoked=True)
            inner.shown["wrong"] = tokens.make("nobody", "admin", "", 0.0, 60.0)[0]
            try:
                yield inner
            finally:
                inner.auditor.close()

    def from_peer(self, peer: str) -> httpx.AsyncClient:
        """A client at this address."""
        transport = httpx.ASGITransport(app=self.app, client=(peer, 5000), raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://api")

    async def token(
        self, name: str, role: Role, *, tenant: str = "", ended: bool = False, revoked: bool = False
    ) -> Token:
        created_s = self.unix_s - (7200.0 if ended else 0.0)
        shown, token = tokens.make(name, role, tenant, created_s, 3600.0)
        if revoked:
            token = Token(
                **{field: getattr(token, field) for field in token.__slots__} | {"revoked_s": self.unix_s}
            )
        await self.store.save_token(TREE, token, self.unix_s)
        self.shown[name] = shown
        return token

    async def ask(self, method: str, path: str, who: str | None = "admin", **words: Any) -> httpx.Response:
        """One request with the token called `who`; `version`: its If-Match, "held" for the one in the store."""
        headers = dict(words.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.shown[who]}"
        if (version := words.pop("version", None)) is not None:
            headers["If-Match"] = f'"{await self.held() if version == "held" else version}"'
        return await self.client.request(method, f"/v1{path}", headers=headers, **words)

    def shown_digest(self, who: str) -> str:
        """The hash that a token is known by."""
        return tokens.digest(self.shown[who])

    async def held(self) -> int:
        found = await self.store.load_rules(TREE)
        assert found is not None
        return found[0]

    def audit(self) -> list[dict[str, Any]]:
        """Every line of the journal."""
        path = self.folder / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def results(self) -> list[dict[str, Any]]:
        return [line for line in self.audit() if line["what"] == "result"]
