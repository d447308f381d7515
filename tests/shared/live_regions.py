"""A site of three scopes, every part a process of its own: a parent, a hall beside it, a hall behind a leaf link."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from leaf_link import Link, link
from live_site import Site, lines, training, until

from easyrider.embedded import nats_process, redis_process
from easyrider.free_ports import free_port
from easyrider.nats_config import make_nkeys, nats_config, seed_file
from easyrider.permissions import Place, User
from easyrider_cli.process import Child, end_all
from easyrider_cli.readiness import is_ready
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers
from easyrider_cli.site import rules_of
from easyrider_cli.stack import Stack
from easyrider_twin import library
from easyrider_twin.world import UPS_CURVE, Domain, Job, Node, World, dump

TREE = "site"
TOP, NEAR, FAR = "site", "hall-a", "hall-b"
ROWS = {NEAR: "row-a", FAR: "row-b"}
NODES = {NEAR: tuple(f"a{k}" for k in range(1, 5)), FAR: tuple(f"b{k}" for k in range(1, 5))}
OVERHEAD_W, SLOPE, FALLBACK_W = 200.0, 1.23, 250.0
GUARANTEED_W = 4 * (OVERHEAD_W + SLOPE * FALLBACK_W) + 70.0
FEED_W, MODULES = 6200.0, 10
LEASE_S = 10.0
LEASES = {"ttl_s": 2.0, "leader_lease_s": 3.0, "region_lease_s": LEASE_S}
WAIT_S = 10.0 + 2.0 + 2 * 1.0
"""After a region's lease until its watts are lent on: dead-man, ttl, two control periods."""
LEAN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def hall_world(pauses_s: tuple[tuple[float, float], ...] = ()) -> World:
    """Eight nodes of one board in two rows that together want 1.4 times what their feed gives.

    The job of the far row leaves its boards in `pauses_s`: then the near one has its watts.
    """
    rows = [Domain(id=row, kind="row", parent="feed", rating_w=4400.0, hard_limit_w=4400.0, target_w=4400.0)
            for row in ROWS.values()]  # fmt: skip
    feed = Domain(id="feed", kind="feed", rating_w=FEED_W, hard_limit_w=FEED_W, target_w=FEED_W, curve=UPS_CURVE,
                  modules=MODULES)  # fmt: skip
    jobs = tuple(
        Job(id=f"train-{hall}", type_key=hall, gpus=dict.fromkeys(names, (0,)), program=program)
        for (hall, names), program in zip(
            NODES.items(), (training(1), training(2, preemptions=pauses_s)), strict=True
        )
    )
    return World(
        name="two-halls",
        seed=1,
        nodes=tuple(
            Node(id=name, domain=ROWS[hall], gpus=1, overhead_w=OVERHEAD_W, overhead_slope=SLOPE)
            for hall, names in NODES.items()
            for name in names
        ),
        domains=(feed, *rows),
        jobs=jobs,
    )


def hall_rules(world: World) -> dict[str, Any]:
    """The one document of all three scopes."""
    document = rules_of(world, tree=TREE, mode="enforce")
    for node in document["nodes"]:
        node["fallback_w_per_gpu"] = FALLBACK_W
    document["regions"] = [
        {"id": TOP},
        *(
            {"id": hall, "parent": TOP, "domain": row, "guaranteed_w": GUARANTEED_W}
            for hall, row in ROWS.items()
        ),
    ]
    return document | {"leases": LEASES, "pacing": {"cooldown_s": 2.0}}


@dataclass(slots=True)
class Halls:
    """A running site of three scopes."""

    site: Site
    near: Servers
    far: Servers
    link: Link
    coordinators: dict[str, Child] = field(
        default_factory=dict
    )  # by name; each has a state folder of that name

    @property
    def folder(self) -> RunFolder:
        return self.site.folder

    def journal(self, name: str, what: str | None = None, since_ns: int = 0) -> list[dict[str, Any]]:
        """Lines of one coordinator's journal."""
        return lines(self.folder.state(name) / "journal.jsonl", what, since_ns)

    def could_w(self, hall: str) -> float:
        """Wall watts that the limits of a hall allow, as its hardware holds them."""
        limits_w = self.site.limits_w()
        return sum(OVERHEAD_W + SLOPE * sum(limits_w[node]) for node in NODES[hall])

    def metrics(self, name: str) -> dict[str, float]:
        """What a coordinator says of itself."""
        url = f"http://{self.folder.health(name).read_text().strip()}"
        found = {}
        for line in httpx.get(f"{url}/metrics", timeout=5).text.splitlines():
            if line and not line.startswith("#"):
                key, _, value = line.rpartition(" ")
                found[key] = float(value)
        return found

    def ready(self, name: str) -> bool:
        """Whether a coordinator says that it is ready."""
        return is_ready(self.folder.health(name))

    def envelope(self, name: str) -> dict[str, Any] | None:
        """The newest word of a coordinator on what it may draw."""
        told = self.journal(name, "envelope")
        return told[-1] if told else None

    def start(self, name: str, region: str, servers: Servers, **other: str) -> Child:
        """A coordinator of a scope, from its own state folder; the same name again is a restart."""
        self.folder.health(name).unlink(missing_ok=True)
        if name not in self.coordinators:
            settings = {
                "REGION": region,
                "TREE": TREE,
                "TREE_FILE": str(self.folder.rules),
                "STATE_DIR": str(self.folder.state(name)),
                "REDIS_URL": servers.redis.url,
                "HEALTH_FILE": str(self.folder.health(name)),
                "INSTANCE": name,
                **{key.upper(): str(value) for key, value in servers.bus(f"policy-{region}").items()},
                **other,
            }
            environ = {f"EASYRIDER_POLICY_{key}": value for key, value in settings.items()}
            command = [sys.executable, "-m", "easyrider_policy"]
            child = Child(name, command, self.folder.log(name), LEAN | environ, orphaned=signal.SIGKILL)
            self.coordinators[name] = self.site.stack.children[name] = child
        self.coordinators[name].start()
        return self.coordinators[name]


def _node_children(folder: RunFolder, hall: str, node: str, servers: Servers, native: Path) -> list[Child]:
    gpus = {
        "EASYRIDER_TWIN_STATE": str(folder.gpu_state(node)),
        "LD_LIBRARY_PATH": f"{native}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
    }
    found = []
    for kind, own in (
        (
            "guardian",
            {"STATE_DIR": folder.state(f"guardian-{node}"), "SOCKET_PATH": folder.guardian_socket(node)},
        ),
        ("actuator", {"SOCKET_PATH": folder.guardian_socket(node)}),
        ("telemetry", {"JOBS_FILE": folder.jobs(node), "SAMPLING_HZ": "4", "FRAME_S": "0.5"}),
    ):
        name = f"{kind}-{node}"
        settings: dict[str, object] = {"TREE": TREE, "REGION": hall, "NODE": node, **own}
        if kind != "guardian":
            settings |= {key.upper(): value for key, value in servers.bus(name).items()}
            settings["HEALTH_FILE"] = folder.health(name)
        environ = {f"EASYRIDER_{kind.upper()}_{key}": str(value) for key, value in settings.items()}
        extra = {"EASYRIDER_TWIN_PRIVILEGED": "1"} if kind == "guardian" else {}
        command = [sys.executable, "-m", f"easyrider_{kind}"]
        child = Child(name, command, folder.log(name), LEAN | gpus | extra | environ, orphaned=signal.SIGKILL)
        found.append(child)
    return found


@contextmanager
def _servers(
    folder: RunFolder, name: str, regions: tuple[str, ...], extra: str, linked: tuple[str, ...] = ()
) -> Iterator[Servers]:
    """A bus and a store with a user for each service of some scopes, and for the links of regions elsewhere."""
    users = [(f"policy-{region}", "policy", Place(region)) for region in regions]
    users += [("infra-bridge", "infra-bridge", Place(region)) for region in regions if region == TOP]
    users += [(f"link-{region}", "link", Place(region)) for region in linked]
    for region in regions:
        for node in NODES.get(region, ()):
            users += [(f"{kind}-{node}", kind, Place(region, node)) for kind in ("telemetry", "actuator")]
    keys = make_nkeys(folder.state(f"keys-{name}"), [user for user, _, _ in users])
    listed = [User(user, role, keys[user], place) for user, role, place in users]
    store = folder.state(f"nats-{name}")
    nats = nats_process(
        store, config=lambda port: nats_config(listed, port, store / "jetstream", extra=extra)
    )
    servers = Servers(nats, redis_process(folder.state(f"valkey-{name}")), folder.state(f"keys-{name}"))
    nats.log_file, servers.redis.log_file = folder.log(f"nats-{name}"), folder.log(f"valkey-{name}")
    nats.start()
    try:
        servers.redis.start()
        yield servers
    finally:
        servers.redis.kill()
        nats.kill()


@contextmanager
def halls_up(root: Path, pauses_s: tuple[tuple[float, float], ...] = ()) -> Iterator[Halls]:
    """Everything started and every coordinator ready; the far hall behind its link, with a store of its own."""
    folder, world, native = RunFolder.fresh(root), hall_world(pauses_s), library.folder()
    folder.world.write_text(dump(world))
    folder.rules.write_text(yaml.safe_dump(hall_rules(world), sort_keys=False))
    leaf_port = free_port()
    # Unadvertised, or the leaf would connect past the proxy.
    hub = f'leafnodes {{ listen: "127.0.0.1:{leaf_port}", no_advertise: true }}'
    with link(leaf_port) as wire, _servers(folder, "near", (TOP, NEAR), hub, linked=(FAR,)) as near:
        seed = seed_file(near.keys or folder.root, f"link-{FAR}").read_text().strip()
        url = f"nats-leaf://127.0.0.1:{wire.port}"
        remote = f'leafnodes {{ reconnect: 1, remotes: [ {{ url: "{url}", nkey: "{seed}" }} ] }}'
        with _servers(folder, "far", (FAR,), remote) as far:
            children = {"twin": _twin(folder)}
            for hall, servers in ((NEAR, near), (FAR, far)):
                for node in NODES[hall]:
                    children |= {c.name: c for c in _node_children(folder, hall, node, servers, native)}
            halls = Halls(Site(Stack(folder, world, near, children)), near, far, wire)
            try:
                _begin(halls)
                yield halls
            finally:
                for child in halls.site.stack.children.values():
                    if child.running():
                        child.signal(signal.SIGKILL)
                end_all(list(halls.site.stack.children.values()), patience_s=0.0)


def _twin(folder: RunFolder) -> Child:
    command = [sys.executable, "-m", "easyrider_twin", "run", str(folder.world), "--run", str(folder.root)]
    return Child("twin", command, folder.log("twin"), LEAN, orphaned=signal.SIGKILL)


def _begin(halls: Halls) -> None:
    stack, folder = halls.site.stack, halls.folder
    stack.start("twin")
    until((folder.twin / "ready").exists, 60, "the twin")
    for name in [name for name in stack.children if name != "twin"]:
        stack.start(name)
    for name, region, servers in ((TOP, TOP, halls.near), (NEAR, NEAR, halls.near), (FAR, FAR, halls.far)):
        halls.start(name, region, servers)
    until(lambda: all(halls.ready(name) for name in (TOP, NEAR, FAR)), 90, "three coordinators ready", 0.2)


__all__ = [
    "FALLBACK_W", "FAR", "FEED_W", "GUARANTEED_W", "LEASES", "LEASE_S", "MODULES", "NEAR", "NODES", "TOP", "WAIT_S",
    "Halls", "halls_up",
]  # fmt: skip
