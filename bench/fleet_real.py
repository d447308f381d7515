"""One real node among the emulated ones: telemetry, actuator and guardian over a simulated board library."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from easyrider_twin import library
from fleet_frames import REGION, TREE

NAME = "real"
LEAST_W = 200.0


@contextlib.contextmanager
def real_node(folder: Path, bus: str) -> Iterator[Path]:
    """The file in which its guardian writes what it wrote, while the block runs."""
    run_dir, socket = folder / "run", folder / "guardian.sock"
    simulator = subprocess.Popen(
        [sys.executable, "-m", "easyrider_twin.standalone", str(run_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert simulator.stdin is not None
    assert simulator.stdout is not None
    if simulator.stdout.readline().strip() != b"ready":
        raise RuntimeError("the simulated node did not start")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
    state = run_dir / "standalone" / "nvml.state"
    environment = kept | {"EASYRIDER_TWIN_STATE": str(state), "LD_LIBRARY_PATH": str(library.folder())}
    place = {"NODE": NAME, "REGION": REGION, "TREE": TREE, "LOG_LEVEL": "error"}
    guardian = place | {
        "STATE_DIR": str(folder / "guardian"),
        "SOCKET_PATH": str(socket),
        "FALLBACK_W": str(LEAST_W),
    }
    settings = {
        "guardian": {f"EASYRIDER_GUARDIAN_{key}": value for key, value in guardian.items()}
        | {"EASYRIDER_TWIN_PRIVILEGED": "1"},
        "actuator": {
            f"EASYRIDER_ACTUATOR_{key}": value
            for key, value in (place | {"SOCKET_PATH": str(socket), "NATS_URL": bus}).items()
        },
        "telemetry": {
            f"EASYRIDER_TELEMETRY_{key}": value for key, value in (place | {"NATS_URL": bus}).items()
        },
    }
    processes = []
    try:
        for service, own in settings.items():
            command = [sys.executable, "-m", f"easyrider_{service}"]
            processes.append(subprocess.Popen(command, env=environment | own))
            end_s = time.monotonic() + 15
            while service == "guardian" and not socket.exists() and time.monotonic() < end_s:
                time.sleep(0.02)
        yield folder / "guardian" / "writes.jsonl"
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(20)
        simulator.stdin.close()
        simulator.wait(10)
