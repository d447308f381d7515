"""What a node agent loads from here leaves room for the agent."""

import subprocess
import sys

SCRIPT = """
import sys
from easyrider import bus, service, log, metrics, messages, wire, columns, config
import uvloop
heavy = {"numpy", "redis", "rich", "typer", "pydantic", "docker", "requests", "yaml", "statsmodels", "pynvml"}
print(sorted(heavy & set(sys.modules)))
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024)
"""


def test_bus_service_log_and_metrics_load_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    heavy, rss_mb = done.stdout.splitlines()

    assert heavy == "[]"
    assert float(rss_mb) < 38
