"""Ten energy means a second from the twin's counters: the agent's do not show the noise that naive differences do."""

import numpy as np
import pytest

from easyrider_telemetry.core.energy import EnergyMeter
from easyrider_telemetry.core.pace import CounterRead
from easyrider_twin.gpus import STEP_S
from easyrider_twin.plant import Plant
from easyrider_twin.programs import Synthetic
from easyrider_twin.sensors import Sensors
from easyrider_twin.world import Domain, GpuModel, Job, Node, World

BIRTH_US = 1_700_000_000_000_000
SECONDS, BURST_S = 60.0, 4.0
STEADY = Synthetic(
    seed=1,
    communication_share=0.0,
    setup_s=0.0,
    checkpoint_every_s=None,
    plateau_ratio=0.72,
    start_after_s=0.0,
)


def watched(stamped: bool) -> tuple[list[list[CounterRead]], np.ndarray]:
    """Eight synthetic boards at constant draw, their counters at every step of the twin, and what is true in W."""
    domain = Domain(id="d", kind="pdu", rating_w=1e6, hard_limit_w=1e6, target_w=1e6)
    world = World(
        name="steady", seed=3, models={"h100": GpuModel()}, nodes=(Node(id="n", domain="d"),), domains=(domain,),
        jobs=(Job(id="j", type_key="t", gpus={"n": tuple(range(8))}, program=STEADY),),
    )  # fmt: skip
    plant = Plant(world)
    sensors = Sensors(plant, BIRTH_US)
    plant.jobs.start()
    reads: list[list[CounterRead]] = [[] for _ in range(8)]
    for step in range(round((SECONDS + 5.0) / STEP_S)):
        plant.step(np.full(8, 700.0))
        sensors.see()
        if step * STEP_S < 5.0:
            continue  # on its way to the plateau
        for board in range(8):
            stamp_us = int(sensors.energy_stamp_us[board]) if stamped else 0
            energy_mj = int(sensors.energy_j[board] * 1000)
            reads[board].append(CounterRead(round((step + 1) * STEP_S * 1e9), energy_mj, stamp_us))
    return reads, plant.power_w * sensors.gain


@pytest.mark.parametrize("stamped", [True, False])
def test_energy_means_at_ten_hertz_are_steady_where_naive_differences_are_not(stamped: bool) -> None:
    rng = np.random.default_rng(2)
    boards, true_w = watched(stamped)
    for reads, watts in zip(boards, true_w, strict=True):
        meter = EnergyMeter(look_s=0.1, max_w=700.0)
        burst = round(BURST_S / STEP_S)
        assert meter.learn(reads[:burst]) is not None
        means, naive, last = [], [], reads[burst]
        for look in range(1, round((SECONDS - BURST_S) / 0.1) - 1):
            late_s = float(np.clip(abs(rng.normal(0.0, 0.001)), 0.0, 0.02))
            at = (
                burst + round(look * 0.1 / STEP_S) - (rng.random() < 0.5)
            )  # before or after a step of the twin
            read = reads[at]._replace(mono_ns=reads[at].mono_ns + round(late_s * 1e9))
            said = meter.look(read.mono_ns, read.energy_mj, read.stamp_us, float(watts))
            if look > 20:
                means.append(said.power_w)
                naive.append((read.energy_mj - last.energy_mj) / 1000 / ((read.mono_ns - last.mono_ns) / 1e9))
            last = read

        assert np.std(naive) > 0.08 * watts
        assert np.std(means) < 0.02 * watts
        assert np.mean(means) == pytest.approx(watts, rel=0.01)
