"""Real servers, a real coordinator and the API, each a process of its own, on free ports."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from site_rules import REGION, TREE, document

from easyrider import tokens
from easyrider.testing.servers import nats_server, redis_server
from easyrider.tokens import Token


def until(true: Callable[[], Any], within_s: float, what: str) -> Any:
    """What `true` returned once it was true; an assertion error after `within_s`."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
        time.sleep(0.02)
    return found


@dataclass
class Process:
    """One of our services, and where it says what it does."""

    module: str
    settings: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Process":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                env={**os.environ, **self.settings},
                stdout=log,
                stderr=log,
            )
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(20)

    def said(self) -> str:
        return self.log.read_text()


@dataclass
class LiveApi:
    """One API as its clients see it."""

    process: Process
    address: str
    admin: str
    folder: Path
    servers: dict[str, Any] = field(default_factory=dict)
    policy: Process | None = None

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def ask(self, method: str, path: str, token: str | None = None, **words: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token or self.admin}"} | words.pop("headers", {})
        return httpx.request(method, f"{self.url}/v1{path}", headers=headers, timeout=30.0, **words)

    def token(self, name: str, role: str, **other: Any) -> str:
        made = self.ask("POST", "/tokens", json={"name": name, "role": role} | other)
        assert made.status_code == 201, made.text
        shown: str = made.json()["token"]
        return shown


def api_process(folder: Path, name: str, nats_url: str, redis_url: str, **settings: object) -> Process:
    own: dict[str, object] = {
        "region": REGION,
        "tree": TREE,
        "address": "127.0.0.1:0",
        "address_file": folder / f"{name}.address",
        "bootstrap_file": folder / "first-token.json",
        "state_dir": folder / name,
        "nats_url": nats_url,
        "redis_url": redis_url,
        "health_file": folder / f"{name}.health",
        "token_requests_per_s": 2000,
        "peer_requests_per_s": 5000,
        **settings,
    }
    return Process(
        "easyrider_policy_api",
        {f"EASYRIDER_POLICY_API_{key.upper()}": str(value) for key, value in own.items()},
        folder / f"{name}.log",
    )


def up(process: Process, folder: Path, name: str, admin: str) -> LiveApi:
    """Start it, and wait until the listener is it and its store and bus are there."""
    file = folder / f"{name}.address"
    process.start()
    address = until(lambda: file.exists() and file.read_text(), 30, f"{name} to listen: {process.said()}")
    live = LiveApi(process, address, admin, folder)

    def healthy() -> bool:
        assert process.process is not None
        assert process.process.poll() is None, process.said()
        try:
            return httpx.get(f"{live.url}/v1/health", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False

    until(healthy, 30, f"{name} to be healthy: {process.said()}")
    return live


def first_token(folder: Path) -> str:
    shown, record = tokens.make("first-admin", "admin", "", time.time(), 3600.0)
    (folder / "first-token.json").write_bytes(tokens.encode(record))
    assert isinstance(record, Token)
    return shown


@contextmanager
def live_api(folder: Path, *, with_policy: bool = True, **settings: object) -> Iterator[LiveApi]:
    """Everything up; the coordinator leads and answers."""
    admin = first_token(folder)
    with nats_server() as bus, redis_server() as store:
        policy = Process(
            "easyrider_policy",
            {
                "EASYRIDER_POLICY_REGION": REGION,
                "EASYRIDER_POLICY_TREE": TREE,
                "EASYRIDER_POLICY_TREE_FILE": str(folder / "rules.json"),
                "EASYRIDER_POLICY_STATE_DIR": str(folder / "policy"),
                "EASYRIDER_POLICY_NATS_URL": bus.url,
                "EASYRIDER_POLICY_REDIS_URL": store.url,
            },
            folder / "policy.log",
        )
        (folder / "rules.json").write_text(json.dumps(document()))
        process = api_process(folder, "api", bus.url, store.url, **settings)
        try:
            if with_policy:
                policy.start()
            live = up(process, folder, "api", admin)
            live.servers, live.policy = {"nats": bus, "redis": store}, policy if with_policy else None
            if with_policy:
                until(lambda: live.ask("GET", "/state").status_code == 200, 30, f"a leader: {policy.said()}")
                until(lambda: live.ask("GET", "/tree").status_code == 200, 30, "rules in the store")
            yield live
        finally:
            for each in (process, policy):
                if each.process is not None and each.process.poll() is None:
                    each.end(signal.SIGKILL)
