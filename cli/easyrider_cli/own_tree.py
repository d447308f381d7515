"""A simulated site made of one's own rules: the same domains, nodes and boards, each node with a synthetic job."""

import dataclasses
from pathlib import Path

import numpy as np

from easyrider.errors import BadTree, EasyRiderError
from easyrider.tree import Domain as RuledDomain
from easyrider.tree import Node as RuledNode
from easyrider.tree import NodeClass, Rules
from easyrider.tree_reader import read
from easyrider_policy_api.core.adoption import whole
from easyrider_twin.synthetic import training
from easyrider_twin.world import BadWorld, Domain, GpuModel, Job, Meter, Node, World, check

MOST_NODES, MOST_GPUS = 8, 64
"""Each node is three processes of this machine and a folder of simulated boards."""
_RATED_W, _LEAST_W = 700.0, 200.0
"""Of a board whose class does not say; what it draws idle and waiting goes by its rating."""
_JOB_S = 3600.0


class NoTwin(EasyRiderError):
    """A tree that the simulated hardware cannot be; nothing was started."""

    def __init__(self, file: Path, faults: list[str]) -> None:
        self.file, self.faults = file, faults
        super().__init__(f"--rules {file}: {'; '.join(faults)}")


def ruled(file: Path, tree: str) -> Rules:
    """The rules of this file under the id `tree`, if they can be kept. Raises `NoTwin` with every fault."""
    try:
        return whole(dataclasses.replace(read(file.read_text(), str(file)), id=tree))
    except (OSError, UnicodeDecodeError) as fault:
        raise NoTwin(file, [getattr(fault, "strerror", None) or "it is no text"]) from fault
    except BadTree as fault:
        raise NoTwin(file, fault.faults) from fault


def world_of(rules: Rules, file: Path, seed: int) -> World:
    """The hardware that these rules declare. Raises `NoTwin` naming all that the twin has not."""
    if faults := list(_lacking(rules)):
        raise NoTwin(file, faults)
    rng = np.random.default_rng([seed, 33])
    world = World(
        name=rules.id,
        seed=seed,
        models={name: _model(kind) for name, kind in rules.classes.items()},
        nodes=tuple(_node(node, rules.classes[node.node_class]) for node in rules.nodes),
        domains=tuple(map(_domain, rules.domains)),
        meters=tuple(_meter(domain, name) for domain in rules.domains for name in domain.meters),
        jobs=tuple(_job(node, rules.classes[node.node_class], rng) for node in rules.nodes),
        notes=("every job is synthetic",),
    )
    try:
        check(world, str(file))
    except BadWorld as fault:
        raise NoTwin(file, fault.faults) from fault
    return world


def _lacking(rules: Rules) -> list[str]:
    found = [
        f"domain {each.id} has two feeds, and the twin's have one parent"
        for each in rules.domains
        if each.feeds
    ]
    if rules.regions:
        found.append("it has regions, and this starts one coordinator: leave the section `regions` out")
    unsized = sorted(
        {node.node_class for node in rules.nodes if rules.classes[node.node_class].gpu_count is None}
    )
    found += [f"class {name} does not say its gpu_count" for name in unsized]
    gpus = sum(rules.classes[node.node_class].gpu_count or 0 for node in rules.nodes)
    if not rules.nodes:
        found.append("it has no nodes")
    if len(rules.nodes) > MOST_NODES or gpus > MOST_GPUS:
        found.append(
            f"{len(rules.nodes)} nodes with {gpus} GPUs: {MOST_NODES} nodes and {MOST_GPUS} GPUs at most run here"
        )
    return found


def _model(kind: NodeClass) -> GpuModel:
    most_w = kind.gpu_max_w or _RATED_W
    share = most_w / _RATED_W
    usual = GpuModel()
    return GpuModel(
        rating_w=most_w,
        min_limit_w=kind.gpu_min_w or min(_LEAST_W, most_w),
        max_limit_w=most_w,
        default_limit_w=most_w,
        idle_w=usual.idle_w * share,
        context_w=usual.context_w * share,
        wait_w=usual.wait_w * share,
    )


def _node(node: RuledNode, kind: NodeClass) -> Node:
    return Node(
        id=node.id,
        domain=node.domain,
        gpus=kind.gpu_count or 0,
        model=node.node_class,
        overhead_w=kind.overhead_w,
        overhead_slope=kind.overhead_slope,
    )


def _domain(domain: RuledDomain) -> Domain:
    carries_w = domain.carries_w
    return Domain(
        id=domain.id,
        kind=domain.kind,
        parent=domain.parent,
        rating_w=carries_w,
        hard_limit_w=carries_w if domain.hard_limit_w is None else domain.hard_limit_w,
        target_w=domain.target_share * carries_w if domain.target_w is None else domain.target_w,
        curve=tuple((point.multiple, point.time_s) for point in domain.trip_points),
        fixed_w=domain.fixed_w,
        modules=domain.supply_modules or 0,
    )


def _meter(domain: RuledDomain, name: str) -> Meter:
    return Meter(id=name, domain=domain.id, kind="ups" if domain.supply_modules else "power_meter")


def _job(node: RuledNode, kind: NodeClass, rng: np.random.Generator) -> Job:
    """A synthetic synchronous training on every board of one node, the ranges as published."""
    return Job(
        id=f"job-{node.id}",
        type_key="synthetic-llm",
        gpus={node.id: tuple(range(kind.gpu_count or 0))},
        program=training(rng, _JOB_S),
    )
