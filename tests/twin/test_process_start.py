"""A twin that nobody stands beside to start its jobs."""

import subprocess
import sys
import time
from pathlib import Path

from easyrider_twin.control import ask
from easyrider_twin.programs import Synthetic
from easyrider_twin.world import Domain, Job, Node, World, dump

BUSY = Job(id="busy", type_key="t", gpus={"n1": (0,)}, program=Synthetic(setup_s=0.0))
WORLD = World(
    name="alone",
    seed=4,
    nodes=(Node(id="n1", domain="pdu", gpus=1),),
    domains=(Domain(id="pdu", kind="pdu", rating_w=9_000, hard_limit_w=9_000, target_w=9_000),),
    jobs=(BUSY,),
)


def test_told_so_its_jobs_run_from_its_first_step(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text(dump(WORLD))
    command = [
        sys.executable,
        "-m",
        "easyrider_twin",
        "run",
        str(tmp_path / "in.yaml"),
        "--run",
        str(tmp_path),
        "--start",
    ]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        end_s = time.monotonic() + 20
        while not (tmp_path / "twin" / "ready").exists():
            assert time.monotonic() < end_s, "it was not ready in time"
            time.sleep(0.02)

        status = ask(tmp_path / "twin" / "control.sock", {"do": "status"})

        assert status["held"] is False
        while not ask(tmp_path / "twin" / "control.sock", {"do": "status"})["jobs"]:
            assert time.monotonic() < end_s, "no job began"
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
