"""The processes of a local stack: servers, twin, and the same services an operator would run."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from easyrider_cli import address
from easyrider_cli.process import Child, end_all, how_it_ended, wait_for
from easyrider_cli.readiness import is_ready
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers, servers_up
from easyrider_cli.site import rules_of
from easyrider_cli.stack_children import LEAN, REGION, TREE, Scopes, children_of, module
from easyrider_twin import library
from easyrider_twin.world import World, dump

__all__ = ["REGION", "TREE", "Stack", "begin_counting", "stack_up", "start_referee"]
_TWIN_S, _SERVICE_S = 60.0, 60.0


@dataclass(slots=True)
class Stack:
    """Every process of one stack by name, in the order they are started."""

    folder: RunFolder
    world: World
    servers: Servers
    children: dict[str, Child] = field(default_factory=dict)
    spare: dict[str, Child] = field(default_factory=dict)
    regions: list[str] = field(default_factory=list)  # below the top

    def child(self, name: str) -> Child:
        """One process by name, e.g. `policy`, `guardian-node-1`, `twin`."""
        return self.children[name]

    def start(self, name: str) -> Child:
        """Start one process, again if it ended; what it wrote as its health address before is forgotten."""
        self.folder.health(name).unlink(missing_ok=True)
        self.children[name].start()
        return self.children[name]

    def services(self) -> list[str]:
        """Names of EasyRider's own processes that have a health door."""
        return [name for name in self.children if name.startswith(_SERVICES)]

    def unready(self) -> list[str]:
        """Services that do not say they are ready."""
        return [name for name in self.services() if not is_ready(self.folder.health(name))]

    def dead(self) -> list[str]:
        """Processes that have ended, the servers among them."""
        servers = [name for name, server in self.servers.by_name.items() if not server.running]
        return servers + [name for name, child in self.children.items() if not child.running()]

    def last_of(self, name: str) -> str:
        """A process that ended, with its id and what ended it."""
        server = self.servers.by_name.get(name)
        if server is not None:
            return f"{name} (pid {server.pid}) {how_it_ended(server.exit_code)}"
        child = self.children[name]
        return f"{name} (pid {child.pid}) {how_it_ended(child.process.poll() if child.process else None)}"

    def again(self, name: str) -> int:
        """Start a process that ended, a server with its port and folder; its new id. Raises `ServerNotStarted`."""
        server = self.servers.by_name.get(name)
        if server is None:
            return self.start(name).pid
        server.start()
        return server.pid

    def end(self) -> None:
        """End everything: nodes leave while the coordinator can still grant it, the twin goes last."""
        guardians = [name for name in self.children if name.startswith("guardian-")]
        others = [name for name in self.children if name not in guardians and name != "twin"]
        self.folder.address.unlink(missing_ok=True)
        try:
            for group in (guardians, others, ["twin"]):
                end_all([self.children[name] for name in group if name in self.children])
        except (KeyboardInterrupt, SystemExit):  # asked a second time: no more patience
            end_all(list(self.children.values()), patience_s=0.0)
            raise


_SERVICES = ("telemetry-", "actuator-", "forecaster", "policy", "infra-bridge", "recorder")


@contextmanager
def stack_up(
    folder: RunFolder,
    world: World,
    *,
    mode: str,
    say: Callable[[str], None],
    extra: dict[str, dict[str, str]] | None = None,
    rules: dict[str, Any] | None = None,
    without: tuple[str, ...] = (),
    orphaned: signal.Signals = signal.SIGTERM,
    insecure: bool = False,
    beside: Callable[[RunFolder, Servers], list[Child]] | None = None,
    scopes: Scopes | None = None,
) -> Iterator[Stack]:
    """Every process started and every service ready; all ended on the way out.

    `say` is told each step. `extra` adds environment variables to processes by name, `rules` replaces parts of
    the rules document; processes whose names begin with a word of `without` are not started, they wait in
    `Stack.spare`. `orphaned` is what they are sent should this process die; `insecure` leaves bus and store open to
    every program of this machine; `beside` makes further processes, started and ended with the services;
    `scopes`: regions that govern nodes, named by `rules` too. Raises `ChildFailed`.
    """
    native = library.folder()
    folder.world.write_text(dump(world))
    document = rules_of(world, tree=TREE, mode=mode) | (rules or {})
    folder.rules.write_text(yaml.safe_dump(document, sort_keys=False))
    scopes = scopes or Scopes.alone([node.id for node in world.nodes])
    with servers_up(folder, scopes.users, tree=TREE, insecure=insecure) as running:
        children = children_of(folder, running, native, scopes) + (beside(folder, running) if beside else [])
        every = {child.name: child for child in children}
        for child in children:
            child.environ = {**LEAN, **child.environ, **(extra or {}).get(child.name, {})}
            child.orphaned = orphaned
        spare = {name: child for name, child in every.items() if without and name.startswith(without)}
        started = {name: child for name, child in every.items() if name not in spare}
        stack = Stack(folder, world, running, started, spare, scopes.regions[1:])
        try:
            _bring_up(stack, say)
            address.leave(folder, _address(stack))
            yield stack
        finally:
            stack.end()


def _bring_up(stack: Stack, say: Callable[[str], None]) -> None:
    say("starting the simulated rack")
    wait_for(stack.start("twin"), (stack.folder.twin / "ready").exists, _TWIN_S)
    say(f"starting {len(stack.children) - 1} services")
    for node in stack.world.nodes:
        socket_ready = stack.folder.guardian_socket(node.id).exists
        wait_for(stack.start(f"guardian-{node.id}"), socket_ready, _SERVICE_S)
    for name in stack.services():
        stack.start(name)
    for name in stack.services():
        wait_for(stack.child(name), lambda name=name: is_ready(stack.folder.health(name)), _SERVICE_S)  # type: ignore[misc]


def _address(stack: Stack) -> address.Address:
    seed = stack.servers.seed(address.WATCHER)
    return address.Address(
        nats_url=stack.servers.nats.url,
        redis_url=stack.servers.redis.url,
        region=REGION,
        tree=TREE,
        nodes=tuple(node.id for node in stack.world.nodes),
        watcher_seed=None if seed is None else str(seed),
        regions=tuple(stack.regions),
    )


def start_referee(stack: Stack) -> Child:
    """The referee beside a running stack; it watches until it is ended."""
    logs = [
        word
        for node in stack.world.nodes
        for word in ("--guardian-log", f"{node.id}={stack.folder.guardian_log(node.id)}")
    ]
    command = module("easyrider_twin.referee", "--run", str(stack.folder.root), *logs)
    stack.children["referee"] = Child("referee", command, stack.folder.log("referee"), dict(LEAN))
    return stack.start("referee")


def begin_counting(stack: Stack) -> None:
    """Tell the referee that the limits count from now on (boot clock)."""
    now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    half = stack.folder.twin / "counting.half"
    half.write_text(json.dumps({"from_ns": now_ns}))
    half.replace(stack.folder.twin / "counting.json")
