"""What the telemetry agent costs, beside a bare C loop that makes the same calls in the same run.

`python bench/agent.py` takes ten minutes and writes bench/out/agent.json; `QUICK=1` takes twenty seconds.
The boards are simulated (eight, 20 us a call, synthetic load); agent, bus and loop are real processes.
Beside them runs `agent_idler.py`, a Python process that only wakes: what that costs is no agent's fault.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from easyrider.testing.servers import nats_server
from easyrider_twin import library, statefile

HERE = Path(__file__).parent
CALL_NS = 20_000
SAMPLING_HZ = 10
SETTLE_S = 5
SLOW_CALLS = 6
_CPU_OF_PROCESS = 2
"""With a process number above it this names the clock of that process: clock_getcpuclockid(3)."""


def main() -> int:
    """Writes the figures and prints them; 1 where one is over its budget."""
    seconds = 20 if os.environ.get("QUICK") else 600
    with tempfile.TemporaryDirectory(prefix="easyrider-agent-") as name:
        figures = measure(Path(name), seconds)
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    (out / "agent.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))
    within = figures["cpu_pct"] <= 1.0 and figures["cpu_pct"] - figures["c_loop_cpu_pct"] <= 0.6
    return 0 if within and figures["rss_mb"] <= 45 else 1


def measure(folder: Path, seconds: int) -> dict[str, float]:
    """CPU and memory of agent and loop over so many seconds, on one node at the same time."""
    loop_program = build_loop(folder)
    with nats_server() as nats, simulated_node(folder / "run") as state:
        environment = node_environment(state)
        with agent(folder, nats.url, environment) as process:
            time.sleep(SETTLE_S)
            loop = subprocess.Popen(
                [str(loop_program), str(SAMPLING_HZ), str(seconds)],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            idler = subprocess.Popen(
                [sys.executable, str(HERE / "agent_idler.py"), str(SAMPLING_HZ), str(seconds)],
                stdout=subprocess.PIPE,
                text=True,
            )
            calls_before, begun_calls_s = calls(folder), time.monotonic()
            before_s, begun_s = cpu_s(process.pid), time.monotonic()
            time.sleep(seconds)
            cpu_pct = 100 * (cpu_s(process.pid) - before_s) / (time.monotonic() - begun_s)
            calls_per_s = (calls(folder) - calls_before) / (time.monotonic() - begun_calls_s)
            rss_mb = resident_mb(process.pid)
            answer, _ = loop.communicate(timeout=30)
            woken = json.loads(idler.communicate(timeout=30)[0])
    return {
        "cpu_pct": round(cpu_pct, 3),
        "rss_mb": round(rss_mb, 1),
        "c_loop_cpu_pct": round(json.loads(answer)["cpu_pct"], 3),
        "calls_per_s": round(calls_per_s, 1),
        "seconds": seconds,
        "bare_python_cpu_pct": round(woken["cpu_pct"], 3),
        "cold_factor": round(woken["cold_factor"], 2),
    }


def build_loop(folder: Path) -> Path:
    """The compiled bare loop."""
    program = folder / "agent_loop"
    compiler = library.find_compiler()
    source = str(HERE / "agent_loop.c")
    subprocess.run([*compiler, "-O2", "-D_GNU_SOURCE", "-o", str(program), source, "-ldl"], check=True)
    return program


@contextlib.contextmanager
def simulated_node(run_dir: Path) -> Iterator[Path]:
    """The state file of a node of eight boards that moves while the block runs; every call takes 20 us."""
    simulator = subprocess.Popen(
        [sys.executable, "-m", "easyrider_twin.standalone", str(run_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert simulator.stdin is not None
    assert simulator.stdout is not None
    try:
        if simulator.stdout.readline().strip() != b"ready":
            raise RuntimeError("the simulated node did not start")
        path = run_dir / "standalone" / "nvml.state"
        statefile.attach(path).header["call_latency_ns"] = CALL_NS
        yield path
    finally:
        simulator.stdin.close()
        simulator.wait(10)


def node_environment(state: Path) -> dict[str, str]:
    """An environment in which NVML is that of the simulated node."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
    return kept | {"EASYRIDER_TWIN_STATE": str(state), "LD_LIBRARY_PATH": str(library.folder())}


@contextlib.contextmanager
def agent(folder: Path, nats_url: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The telemetry service as its users start it."""
    settings = {"NODE": "bench", "NATS_URL": nats_url, "HEALTH_FILE": str(folder / "health")}
    named = {f"EASYRIDER_TELEMETRY_{name}": value for name, value in settings.items()}
    process = subprocess.Popen([sys.executable, "-m", "easyrider_telemetry"], env=environment | named)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)


def cpu_s(pid: int) -> float:
    """CPU seconds of a process by its own clock, to the nanosecond, threads that have ended included."""
    return time.clock_gettime(~pid << 3 | _CPU_OF_PROCESS)


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no memory")


def calls(folder: Path) -> float:
    """Calls to the driver that the agent made since it started, from its own metrics."""
    address = (folder / "health").read_text().strip()
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    looks = {
        line.split()[0]: float(line.split()[1])
        for line in lines
        if line.startswith("easyrider_telemetry_looks{")
    }
    fast, slow = (looks[f'easyrider_telemetry_looks{{group="{group}"}}'] for group in ("fast", "slow"))
    return fast + SLOW_CALLS * slow


if __name__ == "__main__":
    sys.exit(main())
