"""What the simulator writes into a node's file: readings that belong together are seen together."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from easyrider_twin import statefile
from easyrider_twin.exec import running_nodes
from easyrider_twin.nodes import Nodes
from easyrider_twin.plant import Plant
from easyrider_twin.programs import Synthetic
from easyrider_twin.sensors import Sensors
from easyrider_twin.world import Domain, Job, Node, World

READER = """
import time
from pynvml import *
nvmlInit()
board = nvmlDeviceGetHandleByIndex(7)
print("reading", flush=True)
until_s = time.monotonic() + 2.0
pairs = set()
while time.monotonic() < until_s:
    pair = nvmlDeviceGetFieldValues(board, [NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION])[0]
    pairs.add((pair.value.ullVal, pair.timestamp))
print(len(pairs), sum(energy_mj != stamp_us for energy_mj, stamp_us in pairs))
"""
WORLD = World(
    name="one",
    nodes=(Node(id="n", domain="d"),),
    domains=(Domain(id="d", kind="pdu", rating_w=1e5, hard_limit_w=1e5, target_w=1e5),),
)


def test_no_reader_sees_an_energy_with_the_stamp_of_another_refresh(
    tmp_path: Path, nvml_library: Path
) -> None:
    plant = Plant(WORLD)
    sensors = Sensors(plant, 1_000_000)
    nodes = Nodes(plant, sensors, tmp_path)
    environment = {"EASYRIDER_TWIN_STATE": str(tmp_path / "n" / "nvml.state")}
    environment |= {"LD_LIBRARY_PATH": str(nvml_library)}

    def refresh() -> None:
        sensors.energy_stamp_us += 1_000
        sensors.energy_j[:] = sensors.energy_stamp_us / 1000.0  # so that energy in mJ equals the stamp in us
        nodes.show(1)

    refresh()
    reader = subprocess.Popen(
        [sys.executable, "-c", READER], env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        deadline_s = time.monotonic() + 60
        while reader.poll() is None and time.monotonic() < deadline_s:
            refresh()
        different, torn = map(int, reader.communicate(timeout=5)[0].split())
    finally:
        reader.kill()

    assert different > 20
    assert torn == 0


def test_a_held_world_moves_on_so_that_its_nodes_are_not_taken_for_gone(tmp_path: Path) -> None:
    plant = Plant(WORLD)
    sensors = Sensors(plant, 1_000_000)
    nodes = Nodes(plant, sensors, tmp_path)
    assert running_nodes(tmp_path) == {}

    plant.step(nodes.enforced_w())
    sensors.see()
    nodes.show(time.clock_gettime_ns(time.CLOCK_BOOTTIME))

    assert plant.t_s == 0.0
    assert list(running_nodes(tmp_path)) == ["n"]
    assert statefile.attach(tmp_path / "n" / "nvml.state").header["sensor_seq"] % 2 == 0


def test_only_the_lists_of_nodes_where_a_job_came_or_went_are_written_anew(tmp_path: Path) -> None:
    two = msgspec.structs.replace(
        WORLD,
        nodes=(*WORLD.nodes, Node(id="m", domain="d")),
        jobs=(
            Job(id="j", type_key="t", gpus={"m": (2, 3)}, program=Synthetic(start_after_s=0.05)),
            Job(id="late", type_key="t", gpus={"n": (0,)}, program=Synthetic(start_after_s=900.0)),
        ),
    )
    plant = Plant(two)
    nodes = Nodes(plant, Sensors(plant, 1_000_000), tmp_path)
    before = {node: (tmp_path / node / "jobs.json").stat().st_ino for node in ("n", "m")}
    plant.jobs.start()

    for _ in range(4):
        plant.step(nodes.enforced_w())
    nodes.list_jobs()

    (listed,) = json.loads((tmp_path / "m" / "jobs.json").read_text())["jobs"]
    assert (listed["id"], listed["gpu_uuids"]) == ("j", list(plant.layout.uuids[10:12]))
    assert (tmp_path / "m" / "jobs.json").stat().st_ino != before["m"]
    assert (tmp_path / "n" / "jobs.json").stat().st_ino == before["n"]
