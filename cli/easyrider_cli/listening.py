"""Why nothing can be heard on a bus, in one true line each."""

import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from easyrider import address_checks, log, subjects
from easyrider.errors import EasyRiderError
from easyrider.nats_config import is_seed


class BadRegion(EasyRiderError):
    """A name that no region can have."""

    def __init__(self, region: str, why: str) -> None:
        self.region = region
        super().__init__(f"--region: {why}")


class BadBus(EasyRiderError):
    """What was given as the address of a bus is none."""

    def __init__(self, why: str) -> None:
        super().__init__(f"--nats-url {why}")


class NoSeed(EasyRiderError):
    """The file named for a key holds none."""

    def __init__(self, file: Path, why: str) -> None:
        self.file = file
        super().__init__(f"--seed-file {file}: {why}")


class NoBus(EasyRiderError):
    """Nothing answers where a bus was looked for."""

    def __init__(self, url: str, waited_s: float) -> None:
        super().__init__(f"no NATS server answers on {log.blot(url)} within {waited_s:.0f} s")


class NotLetIn(EasyRiderError):
    """The bus is there and knows no such user."""

    def __init__(self, url: str, seed_file: Path | None) -> None:
        key = "without a key" if seed_file is None else f"with the key in {seed_file}"
        super().__init__(
            f"the bus on {log.blot(url)} lets nobody in {key}: name that of one of its users by --seed-file"
        )


class NobodyLeads(EasyRiderError):
    """Nodes are heard, and no plan for them."""

    def __init__(self, region: str, nodes: set[str], waited_s: float) -> None:
        self.region, self.nodes = region, nodes
        super().__init__(
            f"no coordinator leads region {region}: no plan in {waited_s:.0f} s, though {_some(nodes)} "
            "speak; is its policy up, and can it reach the store?"
        )


class NoPlan(EasyRiderError):
    """No plan was said, and this key may not hear whether nodes are."""

    def __init__(self, region: str, url: str, waited_s: float) -> None:
        self.region = region
        super().__init__(
            f"no plan for region {region} in {waited_s:.0f} s on {log.blot(url)}; this key may not hear nodes, so "
            "whether one speaks is not known"
        )


class NoRegion(EasyRiderError):
    """No coordinator is of this region; plans of others are said."""

    def __init__(self, region: str, regions: Iterable[str]) -> None:
        self.region, self.regions = region, tuple(regions)
        super().__init__(f"there is no region {region} here: there is {', '.join(self.regions)}")


class NoNodeHeard(EasyRiderError):
    """No actuator speaks, and a coordinator plans only for nodes that it hears."""

    def __init__(self, region: str, url: str, waited_s: float, leads: bool) -> None:
        self.region, self.leads = region, leads
        who = (
            "its coordinator leads and waits for one"
            if leads
            else "a coordinator says no plan before it hears one"
        )
        super().__init__(
            f"no node of region {region} is heard on {log.blot(url)} in {waited_s:.0f} s; {who}: are its actuators "
            "up, and is that the region?"
        )


def checked_region(region: str) -> str:
    """The region. Raises `BadRegion`."""
    try:
        return subjects.token(region)
    except subjects.BadToken as fault:
        raise BadRegion(region, str(fault)) from fault


def checked_bus(url: str) -> str:
    """The address, by the same check as that of every service. Raises `BadBus`, which repeats nothing secret."""
    try:
        address_checks.nats_address(url)
    except ValueError as fault:
        raise BadBus(str(fault)) from fault
    return url


def checked_seed(file: Path) -> Path:
    """The file, which holds the seed of a user. Raises `NoSeed`."""
    try:
        text = file.read_bytes()
    except OSError as fault:
        raise NoSeed(file, fault.strerror or "it cannot be read") from fault
    if not is_seed(text):
        raise NoSeed(file, "it holds no nkey seed (SU...)")
    return file


def leads(health_address_file: Path) -> bool:
    """Whether the coordinator that wrote its health address there says that it leads; False where none answers."""
    try:
        address = health_address_file.read_text().strip()
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=1.0) as answer:
            told: str = answer.read().decode()
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return any(
        line.startswith("easyrider_policy_leading") and line.endswith(" 1.0") for line in told.split("\n")
    )


def _some(nodes: set[str]) -> str:
    first = sorted(nodes)[:3]
    return ", ".join(first) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
