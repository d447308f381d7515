"""A simulated site as one document: boards, nodes, power tree, meters, jobs, planned faults."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from easyrider_twin.programs import Program

UPS_CURVE = ((1.10, 600.0), (1.25, 60.0), (1.5, 10.0))
"""Industry range of double-conversion UPSs: 110 % for 10 min, 125 % for 1 min, 150 % for 10 s."""
PDU_CURVE = ((1.3, 600.0), (1.45, 120.0), (2.0, 20.0))
"""Early edge of a thermal-magnetic breaker."""


class BadWorld(Exception):
    """A world document was refused. `faults` names what is wrong with it."""

    def __init__(self, source: str, faults: list[str]) -> None:
        self.source, self.faults = source, faults
        super().__init__(f"{source}: " + "; ".join(faults))


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document; unknown keys are refused."""


class GpuModel(Record, frozen=True, kw_only=True):
    """One kind of board. `wait_w` is drawn while it waits for slower ones in a collective."""

    name: str = "NVIDIA H100 80GB HBM3 (simulated)"
    rating_w: float = 700.0
    min_limit_w: float = 200.0
    max_limit_w: float = 700.0
    default_limit_w: float = 700.0
    idle_w: float = 75.0
    context_w: float = 130.0
    wait_w: float = 210.0
    sensor: Literal["hopper", "ampere", "volta"] = "hopper"
    memory_bytes: int = 80 * 2**30
    max_sm_mhz: int = 1980
    max_mem_mhz: int = 2619
    architecture: int = 9


class Node(Record, frozen=True, kw_only=True):
    """One machine: wall watts = overhead_w + overhead_slope x GPU watts."""

    id: str
    domain: str
    gpus: int = 8
    model: str = "h100"
    overhead_w: float = 1600.0
    overhead_slope: float = 1.23


class Domain(Record, frozen=True, kw_only=True):
    """One place of the power tree with a protective device; wall watts.

    With `modules` it is a UPS or shelf of that many supply modules: capacity, `hard_limit_w` and
    `target_w` shrink in proportion to those that work. `curve` holds (multiple of capacity, seconds).
    """

    id: str
    kind: str
    parent: str | None = None
    rating_w: float
    hard_limit_w: float
    target_w: float
    curve: tuple[tuple[float, float], ...] = ()
    fixed_w: float = 0.0
    modules: int = 0


class Meter(Record, frozen=True, kw_only=True):
    """An instrument on a domain; its registers change every `period_s`. Port 0 takes a free one."""

    id: str
    domain: str
    kind: Literal["power_meter", "ups"] = "power_meter"
    period_s: float = 1.0
    port: int = 0


class Job(Record, frozen=True, kw_only=True):
    """A job and the boards it holds: node id -> board indices. It runs at its slowest board."""

    id: str
    type_key: str
    gpus: dict[str, tuple[int, ...]]
    program: Program
    priority_class: str = "normal"
    tenant: str = "tenant-a"
    queue: str = "default"


class ModuleFailure(Record, frozen=True, kw_only=True):
    """`modules` supply modules of `domain` fail at `at_s` (of the job clock) for `for_s`."""

    domain: str
    at_s: float
    for_s: float
    modules: int = 1


class World(Record, frozen=True, kw_only=True):
    """The whole site."""

    name: str
    seed: int = 0
    models: dict[str, GpuModel] = msgspec.field(default_factory=lambda: {"h100": GpuModel()})
    nodes: tuple[Node, ...]
    domains: tuple[Domain, ...]
    meters: tuple[Meter, ...] = ()
    jobs: tuple[Job, ...] = ()
    failures: tuple[ModuleFailure, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of results must know: which load is synthetic, scaled, repeated."""


def read(path: Path) -> World:
    """The world of a YAML file. Raises `BadWorld` naming every fault found."""
    try:
        document = yaml.safe_load(path.read_text())
        world = msgspec.convert(document, World, strict=False)
    except (yaml.YAMLError, msgspec.ValidationError) as fault:
        raise BadWorld(str(path), [str(fault)]) from fault
    check(world, str(path))
    return world


def dump(world: World) -> str:
    """YAML text of a world. It is JSON too (a subset of YAML), so a reader needs no YAML library."""
    return msgspec.json.format(msgspec.json.encode(world), indent=1).decode() + "\n"


def check(world: World, source: str = "world") -> None:
    """Nothing if all references hold and numbers make sense. Raises `BadWorld` naming every fault."""
    faults = [*_tree_faults(world), *_node_faults(world), *_job_faults(world)]
    if faults:
        raise BadWorld(source, faults)


def _twice(names: Iterable[str], what: str) -> list[str]:
    seen: set[str] = set()
    return [f"{what} {name} is there twice" for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _tree_faults(world: World) -> list[str]:
    faults = _twice((d.id for d in world.domains), "domain") + _twice((m.id for m in world.meters), "meter")
    known = {d.id: d for d in world.domains}
    for domain in world.domains:
        trail, at = {domain.id}, domain
        while at.parent is not None:
            if at.parent not in known:
                faults.append(f"domain {at.id} hangs below {at.parent}, which is not there")
                break
            if at.parent in trail:
                faults.append(f"domain {domain.id} hangs below itself")
                break
            at = known[at.parent]
            trail.add(at.id)
        if domain.rating_w <= 0:
            faults.append(f"domain {domain.id} has rating_w {domain.rating_w}")
        rising = [m for m, _ in domain.curve] == sorted({m for m, _ in domain.curve})
        falling = [t for _, t in domain.curve] == sorted({t for _, t in domain.curve}, reverse=True)
        if not (rising and falling and all(t > 0 for _, t in domain.curve)):
            faults.append(f"curve of {domain.id} must rise in multiples and fall in seconds")
    for meter in world.meters:
        if meter.domain not in known:
            faults.append(f"meter {meter.id} measures {meter.domain}, which is not there")
        elif meter.kind == "ups" and known[meter.domain].modules == 0:
            faults.append(f"meter {meter.id} is a UPS but {meter.domain} has no supply modules")
    for failure in world.failures:
        have = known[failure.domain].modules if failure.domain in known else 0
        if not 0 < failure.modules <= have:
            faults.append(f"{failure.modules} modules of {failure.domain} cannot fail: it has {have}")
    return faults


def _node_faults(world: World) -> list[str]:
    faults = _twice((n.id for n in world.nodes), "node")
    known = {d.id for d in world.domains}
    faults += [
        f"node {n.id} hangs below {n.domain}, which is not there"
        for n in world.nodes
        if n.domain not in known
    ]
    faults += [
        f"node {n.id} has boards of {n.model}, not described"
        for n in world.nodes
        if n.model not in world.models
    ]
    for key, model in world.models.items():
        if not 0 < model.min_limit_w <= model.default_limit_w <= model.max_limit_w:
            faults.append(f"limits of {key} must be 0 < min <= default <= max")
    return faults


def _job_faults(world: World) -> list[str]:
    faults = _twice((j.id for j in world.jobs), "job")
    size = {n.id: n.gpus for n in world.nodes}
    taken: dict[tuple[str, int], str] = {}
    for job in world.jobs:
        if not any(job.gpus.values()):
            faults.append(f"job {job.id} has no GPU")
        for node, boards in job.gpus.items():
            for board in boards:
                if not 0 <= board < size.get(node, 0):
                    faults.append(f"job {job.id} wants GPU {board} of {node}, which is not there")
                elif (node, board) in taken:
                    faults.append(f"jobs {taken[node, board]} and {job.id} both want GPU {board} of {node}")
                taken[node, board] = job.id
    return faults
