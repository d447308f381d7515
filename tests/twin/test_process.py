"""The twin as a process: it holds the world whatever happens to others, and serves it."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from easyrider_twin import statefile
from easyrider_twin.control import Refused, ask
from easyrider_twin.exec import running_nodes
from easyrider_twin.programs import Synthetic
from easyrider_twin.world import Domain, Job, Meter, Node, World, dump

PROGRAM = Synthetic(communication_share=0.0, setup_s=0.0, checkpoint_every_s=None, plateau_ratio=0.9)
BUSY = Job(id="wide", type_key="t", gpus={"n1": (0, 1), "n2": (0,)}, program=PROGRAM)
WORLD = World(
    name="small",
    seed=4,
    nodes=(Node(id="n1", domain="ups", gpus=2), Node(id="n2", domain="ups", gpus=2)),
    domains=(
        Domain(
            id="ups", kind="ups", rating_w=10_000, hard_limit_w=9_000, target_w=8_000, modules=5, fixed_w=50
        ),
    ),
    meters=(
        Meter(id="rack", domain="ups", period_s=0.2),
        Meter(id="ups-1", domain="ups", kind="ups", period_s=0.2),
    ),
    jobs=(BUSY,),
)


def until(true: Callable[[], Any], within_s: float = 15.0) -> Any:
    deadline_s = time.monotonic() + within_s
    while not (value := true()):
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.02)
    return value


class Running:
    """A twin process and what can be asked of it."""

    def __init__(self, run: Path, process: subprocess.Popen[bytes]) -> None:
        self.run, self.process = run, process

    def ask(self, do: str, **more: object) -> dict[str, Any]:
        return ask(self.run / "twin" / "control.sock", {"do": do, **more})

    def state(self, node: str) -> statefile.StateFile:
        return statefile.attach(self.run / node / "nvml.state")

    def jobs(self, node: str) -> list[dict[str, Any]]:
        return json.loads((self.run / node / "jobs.json").read_text())["jobs"]

    def truth(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / "twin" / "truth.jsonl").read_text().splitlines()]


def launch(run: Path, said: IO[bytes] | None = None, *more: str) -> subprocess.Popen[bytes]:
    (run / "in.yaml").write_text(dump(WORLD))
    command = [sys.executable, "-m", "easyrider_twin", "run", str(run / "in.yaml"), "--run", str(run), *more]
    return subprocess.Popen(command, start_new_session=True, stderr=said)


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as one:
        yield one


@contextlib.contextmanager
def running(run: Path, *more: str) -> Iterator[Running]:
    process = launch(run, None, *more)
    try:
        until((run / "twin" / "ready").exists)
        yield Running(run, process)
    finally:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()


def test_jobs_are_held_until_start_and_then_draw_and_are_listed_under_one_id(twin: Running) -> None:
    assert twin.ask("status")["held"] is True
    assert twin.jobs("n1") == []
    first_ns = int(twin.state("n1").header["step_ns"])
    until(lambda: int(twin.state("n1").header["step_ns"]) > first_ns)
    assert sorted(running_nodes(twin.run)) == ["n1", "n2"]

    twin.ask("start")

    until(lambda: twin.jobs("n1") and twin.jobs("n2"))
    assert twin.jobs("n1")[0]["id"] == twin.jobs("n2")[0]["id"] == "wide"
    assert len(twin.jobs("n1")[0]["gpu_uuids"]) == 2
    assert twin.jobs("n2")[0]["gpu_uuids"] == [twin.state("n2").gpus["uuid"][0].decode()]
    until(lambda: twin.state("n1").gpus["average_mw"][0] > 500_000)
    assert twin.state("n2").gpus["average_mw"][1] < 100_000
    with pytest.raises(Refused, match="already"):
        twin.ask("start")


def test_a_limit_in_the_state_file_is_obeyed_and_outside_caps_too(twin: Running) -> None:
    twin.ask("start")
    until(lambda: twin.state("n1").gpus["instant_mw"][0] > 500_000)

    twin.state("n1").gpus["enforced_mw"][:] = 400_000
    until(lambda: twin.state("n1").gpus["instant_mw"][0] < 450_000)
    twin.ask("gpu_fault", node="n1", gpu=0, out_of_band_w=300)

    until(lambda: twin.state("n1").gpus["instant_mw"][0] < 345_000)


def test_time_does_not_stretch_when_the_process_was_stopped(twin: Running) -> None:
    began = twin.ask("start")["boottime_ns"]
    os.kill(twin.process.pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(twin.process.pid, signal.SIGCONT)

    until(lambda: twin.ask("status")["late_s"] < 0.2)
    elapsed_s = (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began) / 1e9
    assert twin.ask("status")["t_s"] == pytest.approx(elapsed_s, abs=0.4)
    stamps = [line["boottime_ns"] for line in twin.truth() if "wall_w" in line]
    assert {b - a for a, b in pairwise(stamps)} == {100_000_000}


def test_a_module_that_fails_by_hand_shrinks_limits_and_shows_on_the_ups_meter(twin: Running) -> None:
    assert twin.ask("fail_module", domain="ups")["modules_ok"] == 4

    until(lambda: read_meter(twin, "ups-1")["modules_ok"] == 4)
    assert twin.ask("status")["hard_w"]["ups"] == pytest.approx(7_200)
    assert any(line.get("event") == "limits" and line["hard_w"]["ups"] == 7_200 for line in twin.truth())
    twin.ask("restore_module", domain="ups")
    until(lambda: read_meter(twin, "ups-1")["modules_ok"] == 5)


def test_both_meters_tell_the_wall_power_through_their_register_maps(twin: Running) -> None:
    wall_w = 2 * 1600 + 1.23 * 4 * 75 + 50

    assert until(lambda: read_meter(twin, "rack")["power_w"]) == pytest.approx(wall_w, rel=0.015)
    ups = read_meter(twin, "ups-1")
    assert ups["power_w"] == pytest.approx(wall_w, rel=0.015)
    assert ups["load_pct"] == pytest.approx(wall_w / 100, rel=0.02)
    assert (ups["modules_total"], ups["on_battery"], ups["battery_pct"]) == (5, 0, 100)


def test_one_meter_falls_silent_alone_and_speaks_again(twin: Running) -> None:
    twin.ask("silence_meter", meter="rack")

    with pytest.raises((TimeoutError, ConnectionError)):
        read_meter(twin, "rack", timeout_s=0.4)
    assert read_meter(twin, "ups-1")["modules_ok"] == 5
    twin.ask("silence_meter", meter="rack", silent=False)
    assert read_meter(twin, "rack")["power_w"] > 3_000


def test_faults_of_boards_appear_in_the_state_file(twin: Running) -> None:
    twin.ask("gpu_fault", node="n2", gpu=1, code=15, delay_us=2000, blank=3, write_fault=1, xid=79)
    twin.ask("node_fault", node="n1", call_latency_ns=20_000)

    gpu = twin.state("n2").gpus[1]
    assert (gpu["fault_code"], gpu["fault_delay_us"], gpu["blank_mask"], gpu["write_fault"]) == (
        15,
        2000,
        3,
        1,
    )
    assert (gpu["xid_code"], gpu["xid_seq"]) == (79, 1)
    assert twin.state("n1").header["call_latency_ns"] == 20_000


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "dance"},
        {"do": "gpu_fault", "node": "n9", "gpu": 0},
        {"do": "fail_module", "domain": "ups", "modules": 9},
    ],
)
def test_a_senseless_request_is_refused_and_changes_nothing(twin: Running, request_: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        ask(twin.run / "twin" / "control.sock", request_)
    assert twin.ask("status")["modules_ok"] == {"ups": 5}


def test_the_outcome_is_fixed_when_its_time_has_come_and_survives_the_end(twin: Running) -> None:
    twin.ask("start", seconds=2.0)
    until(lambda: twin.ask("status")["final"])
    fixed = json.loads((twin.run / "twin" / "outcome.json").read_text())
    twin.process.terminate()

    assert twin.process.wait(10) == 0
    assert json.loads((twin.run / "twin" / "outcome.json").read_text()) == fixed
    assert fixed["final"] is True
    assert fixed["seconds"] == pytest.approx(2.0)
    assert fixed["jobs"][0]["work_s"] == pytest.approx(2.0, abs=0.05)
    assert not (twin.run / "twin" / "ready").exists()


def test_stop_is_answered_and_ends_without_a_complaint(tmp_path: Path) -> None:
    with (tmp_path / "said").open("wb") as said:
        process = launch(tmp_path, said)
    twin = Running(tmp_path, process)
    try:
        until((tmp_path / "twin" / "ready").exists)
        with socket.socket(socket.AF_UNIX) as idle:
            idle.connect(str(tmp_path / "twin" / "control.sock"))
            assert twin.ask("stop") == {"ok": True}
            assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()

    assert (tmp_path / "said").read_bytes() == b""


def test_the_referee_watches_a_live_twin_and_reports_a_write_nobody_told_of(
    twin: Running, nvml_library: Path
) -> None:
    command = [sys.executable, "-m", "easyrider_twin.referee", "--run", str(twin.run)]
    referee = subprocess.Popen(command, start_new_session=True)
    found = twin.run / "twin" / "referee.json"
    try:
        until(found.exists)
        now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        (twin.run / "twin" / "counting.json").write_text(json.dumps({"from_ns": now_ns}))
        twin.ask("fail_module", domain="ups", modules=3)  # 3,600 W: even idle nodes allow more
        over_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 3_000_000_000
        until(lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME) > over_ns)  # the drop's window is apart
        rogue(twin.run / "n1" / "nvml.state", nvml_library)
        until(lambda: json.loads(found.read_text())["foreign_writes"])
    finally:
        referee.terminate()
        code = referee.wait(10)

    verdict = json.loads(found.read_text())
    assert code == 0
    assert verdict["final"] is True
    assert verdict["sum_rule_violations"] >= 1
    assert verdict["ok"] is False


def rogue(state: Path, native: Path) -> None:
    """One write of 700 W by a privileged program that is no guardian."""
    program = "from pynvml import *; nvmlInit(); h = nvmlDeviceGetHandleByIndex(0)"
    program += "; nvmlDeviceSetPowerManagementLimit(h, 700_000)"
    environment = {"EASYRIDER_TWIN_STATE": str(state), "LD_LIBRARY_PATH": str(native)}
    environment |= {"EASYRIDER_TWIN_PRIVILEGED": "1"}
    subprocess.run([sys.executable, "-c", program], env=os.environ | environment, check=True, timeout=30)


def read_meter(twin: Running, meter: str, timeout_s: float = 3.0) -> dict[str, float]:
    """All quantities of one meter, by its register map alone."""
    entries = yaml.safe_load((twin.run / "twin" / "meters.yaml").read_text())["meters"]
    (entry,) = [e for e in entries if e["id"] == meter]
    with socket.create_connection((entry["host"], entry["port"]), timeout=timeout_s):
        pass  # the listener is there; a silent meter only does not answer
    client = ModbusTcpClient(entry["host"], port=entry["port"], timeout=timeout_s, retries=0)
    try:
        client.connect()
        values = {}
        for register in entry["registers"]:
            words = 2 if register["type"] in ("float32", "uint32") else 1
            try:
                answer = client.read_holding_registers(
                    register["address"], count=words, device_id=entry["device_id"]
                )
            except ModbusException as fault:
                raise TimeoutError(str(fault)) from fault
            octets = b"".join(
                word.to_bytes(2, "big")
                for word in (answer.registers if register["word_order"] == "big" else answer.registers[::-1])
            )
            form = {"float32": ">f", "uint16": ">H", "int16": ">h", "uint32": ">I"}[register["type"]]
            values[register["quantity"]] = struct.unpack(form, octets)[0] * register["scale"]
        return values
    finally:
        client.close()
