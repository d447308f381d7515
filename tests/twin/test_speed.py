"""A site of 1,000 nodes keeps up with time on one core, its state files included."""

import time
from pathlib import Path

import pytest

from easyrider_twin.gpus import STEP_S
from easyrider_twin.process import Twin
from easyrider_twin.programs import Synthetic
from easyrider_twin.world import PDU_CURVE, Domain, Job, Node, World

NODES, NODES_PER_RACK, NODES_PER_JOB = 1_000, 10, 10
SECONDS = 5.0


def site() -> World:
    """Racks of ten nodes, each the home of one synthetic job of 80 boards."""
    room = {"rating_w": 2e5, "hard_limit_w": 2e5, "target_w": 2e5}
    return World(
        name="site",
        nodes=tuple(Node(id=f"n{k}", domain=f"rack{k // NODES_PER_RACK}") for k in range(NODES)),
        domains=tuple(
            Domain(id=f"rack{k}", kind="rack", curve=PDU_CURVE, **room)
            for k in range(NODES // NODES_PER_RACK)
        ),
        jobs=tuple(
            Job(
                id=f"j{k}",
                type_key="t",
                gpus={f"n{NODES_PER_JOB * k + n}": tuple(range(8)) for n in range(NODES_PER_JOB)},
                program=Synthetic(seed=k, period_s=1.3, start_after_s=k / 50, length_s=60.0),
            )
            for k in range(NODES // NODES_PER_JOB)
        ),
    )


@pytest.mark.slow
def test_8000_gpus_run_at_real_time_on_one_core(tmp_path: Path) -> None:
    twin = Twin(site(), tmp_path)
    twin.plant.jobs.start()
    began_s = time.process_time()

    for _ in range(round(SECONDS / STEP_S)):
        twin.step()

    took_s = time.process_time() - began_s
    twin.close()
    assert twin.plant.layout.gpus == 8_000
    assert SECONDS / took_s >= 1.0
