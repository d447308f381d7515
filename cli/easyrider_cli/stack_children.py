"""How each process of a local stack is started, and which coordinator each node belongs to."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from easyrider.nats_config import node_user
from easyrider.permissions import NODE_ROLES, ROLES, Place
from easyrider_cli.process import Child
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers

TREE = "site"
REGION = "local"


@dataclass(frozen=True, slots=True)
class Scopes:
    """The coordinators of a stack: `REGION`, and those that it lends to. `region_of`: whose each node is."""

    region_of: dict[str, str]

    @classmethod
    def alone(cls, nodes: Iterable[str]) -> "Scopes":
        """One coordinator governs every node."""
        return cls(dict.fromkeys(nodes, REGION))

    @property
    def with_nodes(self) -> list[str]:
        """Regions that govern nodes."""
        return list(dict.fromkeys(self.region_of.values()))

    @property
    def regions(self) -> list[str]:
        """Every region, the top first."""
        return list(dict.fromkeys([REGION, *self.with_nodes]))

    @property
    def users(self) -> dict[str, tuple[str, Place]]:
        """Role and place of every user of the bus, by name."""
        found = {role: (role, Place(REGION)) for role in ROLES if role not in NODE_ROLES}
        for region in self.regions:
            for role in ("policy", "forecaster"):
                found[named(role, region)] = (role, Place(region))
        for node, region in self.region_of.items():
            for role in NODE_ROLES:
                found[node_user(role, node)] = (role, Place(region, node))
        return found


def named(role: str, region: str) -> str:
    """A service of one region: its process, its user of the bus, its folder."""
    return role if region == REGION else f"{role}-{region}"


def children_of(folder: RunFolder, running: Servers, native: Path, scopes: Scopes) -> list[Child]:
    """Every process, in the order they are started; `native`: the folder of the simulated hardware's library."""
    children = [_twin(folder)]
    for node, region in scopes.region_of.items():
        gpus = {
            "EASYRIDER_TWIN_STATE": str(folder.gpu_state(node)),
            "LD_LIBRARY_PATH": f"{native}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
        }
        children += [
            _guardian(folder, node, region, gpus),
            _actuator(folder, node, region, running),
            _telemetry(folder, node, region, running, gpus),
        ]
    children += [_forecaster(folder, region, running) for region in scopes.with_nodes]
    children.append(_bridge(folder, running))
    return children + [_policy(folder, region, running) for region in scopes.regions]


LEAN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
"""Small matrices gain nothing from threads, and a folder of code may belong to someone else."""


def module(package: str, *arguments: str) -> list[str]:
    """The command that runs one of our packages with this interpreter."""
    return [sys.executable, "-m", package, *arguments]


def _settings(prefix: str, **values: object) -> dict[str, str]:
    return {f"EASYRIDER_{prefix}_{key.upper()}": str(value) for key, value in values.items()}


def _twin(folder: RunFolder) -> Child:
    command = module("easyrider_twin", "run", str(folder.world), "--run", str(folder.root))
    return Child("twin", command, folder.log("twin"))


def _guardian(folder: RunFolder, node: str, region: str, gpus: dict[str, str]) -> Child:
    name = f"guardian-{node}"
    settings = _settings(
        "GUARDIAN",
        tree=TREE,
        region=region,
        node=node,
        state_dir=folder.state(name),
        socket_path=folder.guardian_socket(node),
    )
    environ = {**gpus, **settings, "EASYRIDER_TWIN_PRIVILEGED": "1"}
    return Child(name, module("easyrider_guardian"), folder.log(name), environ)


def _actuator(folder: RunFolder, node: str, region: str, running: Servers) -> Child:
    name = f"actuator-{node}"
    settings = _settings(
        "ACTUATOR",
        tree=TREE,
        region=region,
        node=node,
        socket_path=folder.guardian_socket(node),
        health_file=folder.health(name),
        **running.bus(name),
    )
    return Child(name, module("easyrider_actuator"), folder.log(name), settings)


def _telemetry(folder: RunFolder, node: str, region: str, running: Servers, gpus: dict[str, str]) -> Child:
    name = f"telemetry-{node}"
    settings = _settings(
        "TELEMETRY",
        region=region,
        node=node,
        jobs_file=folder.jobs(node),
        health_file=folder.health(name),
        **running.bus(name),
    )
    return Child(name, module("easyrider_telemetry"), folder.log(name), {**gpus, **settings})


def _forecaster(folder: RunFolder, region: str, running: Servers) -> Child:
    name = named("forecaster", region)
    settings = _settings(
        "FORECASTER",
        region=region,
        tree_file=folder.rules,
        **running.store("forecaster"),
        health_file=folder.health(name),
        **running.bus(name),
    )
    return Child(name, module("easyrider_forecaster"), folder.log(name), settings)


def _bridge(folder: RunFolder, running: Servers) -> Child:
    settings = _settings(
        "INFRA_BRIDGE",
        region=REGION,
        meters_file=folder.twin / "meters.yaml",
        health_file=folder.health("infra-bridge"),
        **running.bus("infra-bridge"),
    )
    return Child("infra-bridge", module("easyrider_infra_bridge"), folder.log("infra-bridge"), settings)


def _policy(folder: RunFolder, region: str, running: Servers) -> Child:
    name = named("policy", region)
    settings = _settings(
        "POLICY",
        region=region,
        tree=TREE,
        tree_file=folder.rules,
        state_dir=folder.state(name),
        **running.store("policy"),
        health_file=folder.health(name),
        **running.bus(name),
    )
    return Child(name, module("easyrider_policy"), folder.log(name), settings)
