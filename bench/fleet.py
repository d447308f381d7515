"""How long it takes from the sample that pushes a domain over its limit to the ack of the limits it caused.

In a domain that is kept, no draw can pass the hard limit: what a sample can do is show that a job wants its lent
watts back, more than the domain's target allows together; then limits of the other job fall at once, and that is timed.
`python bench/fleet.py` writes bench/out/loop.json, beside the broker's own request and reply in the same run: one
coordinator, 1 to 4,000 nodes at 10 Hz, all but one of them emulated (bench/fleet_nodes.py). `QUICK=1`: 100 nodes.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import nats
import nats.errors
import numpy as np
import yaml

from easyrider.testing.servers import nats_server, redis_server
from fleet_api import Api
from fleet_frames import REGION, TREE, node_name
from fleet_nodes import FALLBACK_W, HARD_W, MAX_W, MIN_W, OVERHEAD_W, SETTLE_S, SLOPE, TARGET_W
from fleet_real import NAME, real_node

HERE = Path(__file__).parent
EVENTS = 2000
EVENTS_PER_NODE_S = 0.045
"""About as often as a node's domain is pushed over: what a run's length is reckoned from."""
LONGEST_S = 60.0 if os.environ.get("QUICK") else 300.0
CASES = [(1, "none"), (100, "none"), (1000, "none"), (4000, "none"), (1000, "api"), (1000, "flood")]
FLOOD_HZ = 10_000


def main() -> int:
    """Writes the figures and prints each as it comes; 1 where something was lost."""
    cases = [(100, "none")] if os.environ.get("QUICK") else CASES
    wanted = [(int(n), load) for n, _, load in (word.partition(":") for word in sys.argv[1:])] or cases
    rows = []
    for nodes, load in wanted:
        rows.append(measure(nodes, load or "none"))
        print(json.dumps(rows[-1]), flush=True)
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    (out / "loop.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(row["lost"] for row in rows) else 0


def measure(nodes: int, load: str) -> dict[str, Any]:
    """One case: servers, coordinator and nodes started anew."""
    seconds = SETTLE_S + min(LONGEST_S, max(40.0, EVENTS / (EVENTS_PER_NODE_S * nodes)))
    with (
        tempfile.TemporaryDirectory(prefix="easyrider-fleet-") as name,
        nats_server() as bus,
        redis_server() as store,
        coordinator(Path(name), bus.url, store.url, nodes) as policy,
        real_node(Path(name), bus.url) as writes,
    ):
        emulated = subprocess.Popen(
            [sys.executable, str(HERE / "fleet_nodes.py"), bus.url, "0", str(nodes), str(seconds), "1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        rtt = Rtt(bus.url)
        beside: Flood | Api | None = None
        if load == "flood":
            beside = Flood(bus.url)
        elif load == "api":
            beside = Api(Path(name), bus.url, store.url)
        time.sleep(SETTLE_S)
        rtt.start()
        if beside:
            beside.start()
        before_s, begun_s, dropped = cpu_s(policy.pid), time.monotonic(), -drops(Path(name) / "health")
        time.sleep(max(1.0, seconds - SETTLE_S - 3))
        cpu_pct = 100 * (cpu_s(policy.pid) - before_s) / (time.monotonic() - begun_s)
        rtt.stop()
        if beside:
            beside.stop()
        told, _ = emulated.communicate(timeout=60)
        dropped += drops(Path(name) / "health")
        real_writes = len(writes.read_text().splitlines()) if writes.exists() else 0
        rss_mb = counter(Path(name) / "health", "process_resident_memory_bytes") / 1e6
    seen = json.loads(told)
    latencies_ms = np.array(seen["latencies_ms"])
    return {
        "nodes": nodes,
        "gpus": 8 * nodes,
        "jobs": 2 * nodes,
        "hz": seen["hz"],
        "load": load,
        "events": len(latencies_ms) + seen["lost"],
        "lost": seen["lost"] + round(dropped),
        "lost_events": seen["lost"],
        "dropped": round(dropped),
        "p50_ms": quantile(latencies_ms, 0.5),
        "p99_ms": quantile(latencies_ms, 0.99),
        "broker_rtt_p50_ms": quantile(np.array(rtt.latencies_ms), 0.5),
        "broker_rtt_p99_ms": quantile(np.array(rtt.latencies_ms), 0.99),
        "coordinator_cpu_pct": round(cpu_pct, 1),
        "coordinator_rss_mb": round(rss_mb),
        "late_share": seen["late_share"],
        "refused": seen["refused"],
        "real_node_writes": real_writes,
        "api_answers": beside.answers if isinstance(beside, Api) else None,
    }


def rules(nodes: int) -> dict[str, Any]:
    """A site of rows of a hundred nodes; every node hangs on a branch of its own."""
    names = [*(node_name(n) for n in range(nodes)), NAME]
    rows = (len(names) + 99) // 100
    wide = {"target_share": 1.0}
    domains: list[dict[str, Any]] = [
        {"id": "site", "kind": "ups", "rating_w": 2 * HARD_W * len(names)} | wide
    ]
    domains += [
        {"id": f"row-{r}", "kind": "row", "parent": "site", "rating_w": 200 * HARD_W} | wide
        for r in range(rows)
    ]
    branch = {"kind": "branch", "rating_w": HARD_W, "target_w": TARGET_W, "target_window_s": 1}
    domains += [
        {"id": f"branch-{name}", "parent": f"row-{at // 100}"} | branch for at, name in enumerate(names)
    ]
    box = {"overhead_w": OVERHEAD_W, "overhead_slope": SLOPE, "gpu_count": 8}
    held = {"class": "box", "fallback_w_per_gpu": FALLBACK_W, "boot_guard": True}
    return {
        "tree": {"id": TREE, "version": 1},
        "classes": {"box": box | {"gpu_min_w": MIN_W, "gpu_max_w": MAX_W}},
        "domains": domains,
        "nodes": [{"id": name, "domain": f"branch-{name}"} | held for name in names],
        "modes": [{"selector": {"node": ["*"]}, "mode": "enforce", "reason": "bench"}],
    }


@contextlib.contextmanager
def coordinator(folder: Path, bus: str, store: str, nodes: int) -> Iterator[subprocess.Popen[bytes]]:
    """The policy service as its users start it."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules(nodes)))
    settings = {
        "REGION": REGION,
        "TREE": TREE,
        "TREE_FILE": folder / "rules.yaml",
        "STATE_DIR": folder / "policy",
        "NATS_URL": bus,
        "REDIS_URL": store,
        "HEALTH_FILE": folder / "health",
        "LOG_LEVEL": "error",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
    named = {f"EASYRIDER_POLICY_{name}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "easyrider_policy"]
    process = subprocess.Popen(command, env=kept | named)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)


class Rtt(threading.Thread):
    """The broker's own request and reply, twenty times a second, while the fleet speaks."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url, self._over = url, threading.Event()
        self.latencies_ms: list[float] = []

    def run(self) -> None:
        """Until told to stop."""
        asyncio.run(self._measure())

    def stop(self) -> None:
        """Waits for the end."""
        self._over.set()
        self.join(10)

    async def _measure(self) -> None:
        asking, answering = await nats.connect(self._url), await nats.connect(self._url)

        async def answer(message: Any) -> None:
            await message.respond(b"")

        await answering.subscribe("bench.rtt", cb=answer)
        while not self._over.is_set():
            begun_s = time.perf_counter()
            try:
                await asking.request("bench.rtt", b"", timeout=2)
            except nats.errors.NoRespondersError:
                continue
            self.latencies_ms.append((time.perf_counter() - begun_s) * 1e3)
            await asyncio.sleep(0.05)
        await asking.close()
        await answering.close()


class Flood:
    """So many further frames a second, of nodes that nobody knows, from a process of its own."""

    def __init__(self, url: str) -> None:
        self._command = [sys.executable, str(HERE / "fleet_flood.py"), url, str(FLOOD_HZ)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """It floods from now on."""
        self._process = subprocess.Popen(self._command)

    def stop(self) -> None:
        """No more."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(10)


def quantile(values: np.ndarray, share: float) -> float | None:
    """None where there is none."""
    return round(float(np.quantile(values, share)), 2) if len(values) else None


def cpu_s(pid: int) -> float:
    """CPU seconds of every thread of a process."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def drops(health_file: Path) -> float:
    """Messages that the coordinator left aside so far; those of nodes that no rules name are meant to be."""
    left = "easyrider_policy_messages_dropped_total"
    unknown = counter(health_file, left + '{reason="unknown_node"}')
    return counter(health_file, "easyrider_bus_dropped_total") + counter(health_file, left) - unknown


def counter(health_file: Path, name: str) -> float:
    """The sum of a counter over its labels, from the service's own metrics."""
    with urlopen(f"http://{health_file.read_text().strip()}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


if __name__ == "__main__":
    sys.exit(main())
