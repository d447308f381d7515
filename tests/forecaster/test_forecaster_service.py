"""The service as an operator runs it: real servers, its own process."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forecast_region import frame, make_rules

from easyrider import subjects, tree_reader
from easyrider.bus import Bus
from easyrider.messages import JobEvent, PowerForecast
from easyrider.testing.servers import nats_server, redis_server

UUIDS = tuple(f"GPU-{i}" for i in range(8))


@pytest.mark.system
async def test_forecasts_flow_once_a_second_from_frames_to_the_bus(tmp_path: Path) -> None:
    tree = tmp_path / "tree.yaml"
    tree.write_bytes(tree_reader.dump(make_rules(("n1",))))
    heard: list[PowerForecast] = []
    with nats_server() as nats, redis_server() as redis:
        environment = os.environ | {
            "EASYRIDER_FORECASTER_NATS_URL": nats.url,
            "EASYRIDER_FORECASTER_REDIS_URL": redis.url,
            "EASYRIDER_FORECASTER_REGION": "r",
            "EASYRIDER_FORECASTER_TREE_FILE": str(tree),
        }
        service = subprocess.Popen([sys.executable, "-m", "easyrider_forecaster"], env=environment)
        try:
            async with Bus.connect(nats.url, name="test", wait_s=10) as bus:
                await bus.subscribe(subjects.forecast("r"), (PowerForecast,), lambda m, _: heard.append(m))
                async with asyncio.timeout(40):
                    while len(heard) < 3 or not any(s.scope == "job" for s in heard[-1].series):
                        assert service.poll() is None
                        await _say(bus)
                        await asyncio.sleep(0.1)
        finally:
            service.terminate()
            code = service.wait(12)

    assert code == 0
    assert {s.id for s in heard[-1].series} == {"job-1", "pdu", "rack"}
    assert heard[-1].seq == heard[-2].seq + 1
    assert [h.horizon_s for h in heard[-1].series[0].draw] == [1, 2, 5, 10, 30]


async def _say(bus: Bus) -> None:
    now_s = time.monotonic()
    await bus.publish(subjects.frame("r", "n1"), frame("n1", UUIDS, now_s, [500.0] * 8))
    event = JobEvent(
        region="r", node="n1", boot_id="boot-1", job="job-1", change="running", type_key="t",
        priority_class="normal", tenant="", queue="", gpus=UUIDS, started_ns=1, t_ns=0, mono_ns=round(now_s * 1e9),
    )  # fmt: skip
    await bus.publish(subjects.job("r", "job-1"), event)


@pytest.mark.system
def test_a_misspelt_setting_ends_the_service_with_every_fault_named() -> None:
    environment = os.environ | {
        "EASYRIDER_FORECASTER_HORIZON": "30",
        "EASYRIDER_FORECASTER_CONTROL_PERIOD_S": "0.1",
    }

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_forecaster"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "EASYRIDER_FORECASTER_HORIZON" in done.stderr
    assert "EASYRIDER_FORECASTER_CONTROL_PERIOD_S" in done.stderr
