"""The referee beside the real library: many writers at once, and not one write missed or judged too late."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from referee_bench import NODES, Bench

from easyrider_twin import statefile

WRITER = """
import random, time
from pynvml import *
nvmlInit()
boards = [nvmlDeviceGetHandleByIndex(index) for index in range(nvmlDeviceGetCount())]
until_s, writes = time.monotonic() + 1.5, 0
while time.monotonic() < until_s:
    nvmlDeviceSetPowerManagementLimit(random.choice(boards), random.randrange(200, 700) * 1000)
    writes += 1
    time.sleep(random.random() * 0.001)
print(writes)
"""


def boot_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_concurrent_writers_are_counted_to_the_last_write_in_order(bench: Bench, nvml_library: Path) -> None:
    writers = []
    for node in NODES:
        bench.files[node].gpus["capabilities"] = 1
        environment = {"EASYRIDER_TWIN_STATE": str(bench.run / node / "nvml.state")}
        environment |= {"LD_LIBRARY_PATH": str(nvml_library), "EASYRIDER_TWIN_PRIVILEGED": "1"}
        command = [sys.executable, "-c", WRITER]
        writers += [
            subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
    (bench.run / "twin" / "counting.json").write_text(json.dumps({"from_ns": boot_ns()}))
    try:
        while any(writer.poll() is None for writer in writers):
            bench.case.look(boot_ns())
            time.sleep(0.02)
        written = sum(int(writer.communicate()[0]) for writer in writers)
    finally:
        for writer in writers:
            writer.kill()
    bench.case.look(boot_ns(), last=True)
    found = bench.case.summary(final=True)

    assert written > 200
    assert found["writes"] == found["foreign_writes"] == written
    assert found["out_of_order"] == found["ring_overruns"] == found["unfinished_writes"] == 0
    for node in NODES:
        in_force_w = (statefile.attach(bench.run / node / "nvml.state").gpus["enforced_mw"] / 1000).tolist()
        assert bench.case.mixtures.limits_w[node] == in_force_w
