"""Unmodified NVML programs of other people run on a simulated node through `easyrider twin exec`.

They come from the dependency group `peers`; where it is not installed the tests are skipped and say so.
"""

import importlib.util
import json
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from easyrider_twin import exec as twin_exec
from easyrider_twin import standalone, statefile

pytestmark = pytest.mark.peers

POWER_W = 400.0
REFRESH_S = 0.1


def needs(package: str) -> pytest.MarkDecorator:
    there = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not there, reason=f"{package} is not installed: pip install --group peers")


def script(name: str) -> str:
    return str(Path(sys.executable).parent / name)


@pytest.fixture
def known_node(tmp_path, monkeypatch):
    """A node that moves: eight boards at a constant 400 W, sensors and counter refreshed every 100 ms."""
    place = tmp_path / "run" / "known"
    place.mkdir(parents=True)
    state = standalone.create(place / "nvml.state")
    state.gpus["instant_mw"] = state.gpus["average_mw"] = POWER_W * 1e3
    stop = threading.Event()

    def simulate() -> None:
        begun_s = time.monotonic()
        while not stop.wait(REFRESH_S):
            with statefile.writing_sensors(state):
                state.gpus["energy_mj"] = POWER_W * 1e3 * (time.monotonic() - begun_s)
                state.gpus["energy_stamp_us"] = state.gpus["power_stamp_us"] = time.time_ns() // 1000
                state.gpus["util_gpu_pct"] = 90
            state.header["step_ns"] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    state.header["step_ns"] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    simulator = threading.Thread(target=simulate)
    simulator.start()
    monkeypatch.setenv("EASYRIDER_RUN", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)  # peers look for their own configuration in the current folder
    yield state
    stop.set()
    simulator.join()


@pytest.fixture
def own_node(tmp_path, monkeypatch):
    """No stack is up: exec starts a node, on which the command may set limits."""
    monkeypatch.delenv("EASYRIDER_RUN", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # where no stack of this user is
    monkeypatch.chdir(tmp_path)


def python(program: str, capfd: pytest.CaptureFixture[str]) -> dict:
    """The JSON in the last line that a Python program printed on the node."""
    status = twin_exec.run([sys.executable, "-c", textwrap.dedent(program)])
    output = capfd.readouterr()
    assert status == 0, output.err
    return json.loads(output.out.splitlines()[-1])


@needs("gpustat")
def test_gpustat_shows_power_and_limit_of_every_board(known_node, capfd):
    status = twin_exec.run([script("gpustat"), "--json", "--no-color"])

    seen = json.loads(capfd.readouterr().out)["gpus"]
    assert status == 0
    assert [(gpu["power.draw"], gpu["enforced.power.limit"]) for gpu in seen] == [(400, 700)] * 8
    assert [gpu["uuid"] for gpu in seen] == [uuid.decode() for uuid in known_node.gpus["uuid"]]


@needs("nvitop")
def test_nvitop_lists_every_board(known_node, capfd):
    status = twin_exec.run([script("nvitop"), "--once", "--ascii", "--no-unicode"])

    output = capfd.readouterr().out
    assert status == 0
    assert output.count("400W / 700W") == 8


@needs("zeus")
def test_zeus_measures_the_energy_that_the_boards_used(known_node, capfd):
    seen = python(
        """
        import json, time
        from zeus.monitor import ZeusMonitor

        monitor = ZeusMonitor(gpu_indices=list(range(8)), cpu_indices=[])
        monitor.begin_window("work", sync_execution=False)
        time.sleep(2)
        measured = monitor.end_window("work", sync_execution=False)
        print(json.dumps({"s": measured.time, "j": list(measured.gpu_energy.values())}))
        """,
        capfd,
    )

    assert len(seen["j"]) == 8
    # the counter steps every 100 ms, so each end of the window is off by up to one refresh and its lateness
    assert all(abs(energy_j - POWER_W * seen["s"]) < POWER_W * 4 * REFRESH_S for energy_j in seen["j"])


@needs("zeus")
def test_the_power_limit_setter_of_zeus_lowers_its_boards_and_no_other(own_node, capfd):
    seen = python(
        """
        import json, pynvml
        from zeus.device import get_gpus

        boards = get_gpus()
        boards.set_power_management_limit(0, 300_000)
        boards.set_power_management_limit(1, 250_000)
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(3)]
        print(json.dumps({"mw": [pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) for gpu in handles]}))
        """,
        capfd,
    )

    assert seen == {"mw": [300_000, 250_000, 700_000]}


@needs("zeus")
def test_the_power_limit_optimizer_of_zeus_profiles_and_leaves_its_optimum(
    own_node, tmp_path, capfd, monkeypatch
):
    # zeus waits for kernels through torch; there are none here, so the waiting is all that is stood in for
    (tmp_path / "torch.py").write_text(
        "class cuda:\n    is_available = staticmethod(lambda: True)\n"
        "    synchronize = staticmethod(lambda device=None: None)\n"
        "class distributed:\n    is_available = staticmethod(lambda: False)\n"
        "    is_initialized = staticmethod(lambda: False)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    seen = python(
        """
        import json, pynvml, time
        from zeus.monitor import ZeusMonitor
        from zeus.optimizer.power_limit import Energy, GlobalPowerLimitOptimizer

        monitor = ZeusMonitor(gpu_indices=[0, 1], cpu_indices=[])
        optimizer = GlobalPowerLimitOptimizer(monitor, Energy(), warmup_steps=1, profile_steps=1, pl_step=250)
        for step in range(9):
            optimizer.on_step_begin()
            time.sleep(0.5)
            optimizer.on_step_end()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(3)]
        print(json.dumps({"mw": [pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) for gpu in handles],
                          "tried": [measured.power_limit for measured in optimizer.measurements]}))
        """,
        capfd,
    )

    assert seen["tried"] == [700, 450, 200]
    assert seen["mw"] == [200_000, 200_000, 700_000]


@needs("codecarbon")
def test_codecarbon_finds_the_boards_and_counts_their_energy(known_node, capfd):
    seen = python(
        """
        import json, time
        from codecarbon import OfflineEmissionsTracker

        tracker = OfflineEmissionsTracker(country_iso_code="FRA", measure_power_secs=1, save_to_file=False,
                                          log_level="error", allow_multiple_runs=True)
        tracker.start()
        begun = time.monotonic()
        time.sleep(3)
        tracker.stop()
        found = tracker.final_emissions_data
        print(json.dumps({"s": time.monotonic() - begun, "count": found.gpu_count, "kwh": found.gpu_energy}))
        """,
        capfd,
    )

    assert seen["count"] == 8
    assert abs(seen["kwh"] * 3.6e6 / (8 * POWER_W * seen["s"]) - 1) < 0.35
