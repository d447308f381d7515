"""`easyrider twin exec`: a program on the running stack's node, or on one of its own."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from easyrider_twin import exec as twin_exec
from easyrider_twin import standalone

READ = """
import json, os, pynvml
pynvml.nvmlInit()
gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
print(json.dumps({"uuids": [pynvml.nvmlDeviceGetUUID(gpu) for gpu in gpus],
                  "mw": [pynvml.nvmlDeviceGetPowerUsage(gpu) for gpu in gpus],
                  "state": os.environ["EASYRIDER_TWIN_STATE"]}))
"""


@pytest.fixture
def run_dir(tmp_path, monkeypatch):
    monkeypatch.delenv("EASYRIDER_RUN", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / f"easyrider-{os.getuid()}" / "current"


def stack_node(run_dir, name, mw):
    (run_dir / name).mkdir(parents=True)
    state = standalone.create(run_dir / name / "nvml.state")
    state.gpus["average_mw"] = mw
    state.header["step_ns"] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return state


def test_without_a_stack_the_command_gets_eight_boards_of_its_own_that_end_with_it(run_dir, capfd):
    status = twin_exec.run([sys.executable, "-c", READ])

    seen = json.loads(capfd.readouterr().out)
    assert status == 0
    assert len(set(seen["uuids"])) == 8
    assert min(seen["mw"]) >= 75_000
    assert not os.path.exists(seen["state"])


def test_with_a_stack_the_command_sees_its_first_node_or_the_one_named(run_dir, capfd):
    stack_node(run_dir, "node-a", 111_000)
    stack_node(run_dir, "node-b", 222_000)

    twin_exec.run([sys.executable, "-c", READ])
    twin_exec.run([sys.executable, "-c", READ], node="node-b")

    first, named = (json.loads(line) for line in capfd.readouterr().out.splitlines())
    assert (first["mw"], named["mw"]) == ([111_000] * 8, [222_000] * 8)


def test_a_node_that_is_not_there_is_refused_with_those_that_are(run_dir):
    stack_node(run_dir, "node-a", 111_000)

    with pytest.raises(twin_exec.NoSuchNode, match="node-a"):
        twin_exec.run(["true"], node="node-z")


@pytest.mark.parametrize("by", ["--run", "EASYRIDER_RUN"])
def test_where_a_stack_was_named_and_none_moves_the_command_is_not_started(tmp_path, monkeypatch, by):
    named = tmp_path / "named"
    if by == "EASYRIDER_RUN":
        monkeypatch.setenv(by, str(named))

    with pytest.raises(twin_exec.NoStackMoves, match=f"no stack is up in {named}"):
        twin_exec.run(["touch", str(tmp_path / "ran")], run_dir=named if by == "--run" else None)

    assert not (tmp_path / "ran").exists()


def test_the_file_of_a_stack_that_is_gone_is_not_used(run_dir, capfd):
    state = stack_node(run_dir, "node-a", 111_000)
    state.header["step_ns"] = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - 60 * 10**9

    twin_exec.run([sys.executable, "-c", READ])

    assert "standalone" in json.loads(capfd.readouterr().out)["state"]


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["false"], 1),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-command"], 127),
    ],
)
def test_the_status_of_the_command_is_handed_on(run_dir, command, status, capfd):
    stack_node(run_dir, "node-a", 111_000)

    assert twin_exec.run(command) == status


def test_on_its_own_node_the_command_may_set_limits_and_the_load_obeys(run_dir, capfd):
    program = """
import os, time, pynvml
pynvml.nvmlInit()
if os.geteuid() == 0: os.seteuid(10001)
gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(8)]
for gpu in gpus: pynvml.nvmlDeviceSetPowerManagementLimit(gpu, 200000)
end, above = time.monotonic() + 20, True
while above and time.monotonic() < end:
    time.sleep(0.1)
    above = any(pynvml.nvmlDeviceGetPowerUsage(gpu) > 205000 for gpu in gpus)
print("obeyed" if not above else "not obeyed")
"""

    twin_exec.run([sys.executable, "-c", program])

    assert capfd.readouterr().out == "obeyed\n"


def test_the_stand_in_for_nvidia_smi_lists_the_boards_and_says_what_it_is(run_dir, capfd):
    stack_node(run_dir, "node-a", 111_000)

    assert twin_exec.run(["nvidia-smi", "--help"]) == 0
    assert twin_exec.run(["nvidia-smi", "-L"]) == 0

    output = capfd.readouterr().out
    assert "not NVIDIA's tool" in output
    assert output.count("UUID: GPU-") == 8


def test_a_command_whose_exec_is_killed_leaves_no_node_behind(run_dir):
    program = (
        "from easyrider_twin import exec as twin; import sys;"
        "twin.run(['sh', '-c', 'echo $EASYRIDER_TWIN_STATE; exec sleep 60'])"
    )
    exec_process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    state = exec_process.stdout.readline().strip()
    assert os.path.exists(state)

    exec_process.send_signal(signal.SIGKILL)
    exec_process.wait(timeout=10)
    exec_process.stdout.close()

    end = time.monotonic() + 20
    while os.path.exists(state) and time.monotonic() < end:
        time.sleep(0.02)
    assert not os.path.exists(state)


def test_a_stop_is_passed_on_to_the_command(run_dir):
    stack_node(run_dir, "node-a", 111_000)
    program = (
        "from easyrider_twin import exec as twin; import sys;"
        "sys.exit(twin.run(['sh', '-c', 'trap \"exit 7\" TERM; echo up; while :; do sleep 0.05; done']))"
    )
    exec_process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert exec_process.stdout.readline() == "up\n"

    exec_process.send_signal(signal.SIGTERM)

    exec_process.communicate(timeout=20)
    assert exec_process.returncode == 7
