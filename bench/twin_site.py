"""A synthetic site of any size for the twin's speed: racks of four nodes below UPSs of 32, and a job a node or ten.

Every job is generated from the seed and none of it was measured: iterations of 1-8 s, checkpoints, data stalls, pauses
and a preemption now and then, so that jobs come and go while the clock runs.
"""

import numpy as np

from easyrider_twin.programs import Synthetic
from easyrider_twin.world import PDU_CURVE, UPS_CURVE, Domain, Job, Meter, Node, World

GPUS_PER_NODE = 8
NODES_PER_RACK, NODES_PER_UPS = 4, 32
NODE_W = 1600.0 + 1.23 * GPUS_PER_NODE * 700.0
SHARE = 0.8
"""Continuous share of a rating. Ratings are for all boards at full draw, so that nothing opens."""


def make(nodes: int, seed: int) -> World:
    """So many nodes of eight boards; one job per ten nodes, at least eight in all."""
    rng = np.random.default_rng(seed)
    racks = [k // NODES_PER_RACK for k in range(nodes)]
    return World(
        name=f"synthetic-{nodes}",
        seed=seed,
        nodes=tuple(Node(id=f"node-{k}", domain=f"rack-{rack}") for k, rack in enumerate(racks)),
        domains=tuple(_domains(nodes)),
        meters=tuple(
            Meter(id=f"meter-{k}", domain=f"ups-{k}", kind="ups") for k in range(_parts(nodes, NODES_PER_UPS))
        ),
        jobs=tuple(_jobs(nodes, rng)),
        notes=("all jobs are synthetic",),
    )


def _domains(nodes: int) -> list[Domain]:
    site = Domain(id="site", kind="site", **_room(nodes))
    ups = [
        Domain(id=f"ups-{k}", kind="ups", parent="site", curve=UPS_CURVE, modules=5, **_room(NODES_PER_UPS))
        for k in range(_parts(nodes, NODES_PER_UPS))
    ]
    racks = [
        Domain(
            id=f"rack-{k}",
            kind="rack",
            parent=f"ups-{k * NODES_PER_RACK // NODES_PER_UPS}",
            curve=PDU_CURVE,
            fixed_w=150.0,
            **_room(NODES_PER_RACK),
        )
        for k in range(_parts(nodes, NODES_PER_RACK))
    ]
    return [site, *ups, *racks]


def _room(nodes: int) -> dict[str, float]:
    rating_w = nodes * NODE_W / SHARE
    return {"rating_w": rating_w, "hard_limit_w": rating_w, "target_w": SHARE * rating_w}


def _jobs(nodes: int, rng: np.random.Generator) -> list[Job]:
    count = max(8, nodes // 10)
    edges = np.linspace(0, nodes, count + 1).round().astype(int)
    return [
        Job(
            id=f"job-{k}",
            type_key=f"type-{k % 7}",
            gpus={f"node-{n}": tuple(range(GPUS_PER_NODE)) for n in range(edges[k], edges[k + 1])},
            program=Synthetic(
                seed=k,
                period_s=round(float(rng.uniform(1.0, 8.0)), 3),
                start_after_s=round(float(rng.uniform(0.0, 20.0)), 2),
                checkpoint_every_s=60.0,
                checkpoint_s=6.0,
                data_stalls_per_min=0.5,
                pauses=((round(float(rng.uniform(25.0, 60.0)), 1), 5.0),),
                preemptions=((round(float(rng.uniform(60.0, 300.0)), 1), 10.0),) if k % 5 == 0 else (),
                length_s=600.0,
                bound="memory" if k % 4 == 0 else "compute",
            ),
        )
        for k in range(count)
    ]


def _parts(nodes: int, size: int) -> int:
    return -(-nodes // size)
