"""The bridge process before real Modbus servers and a real bus."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import nats as nats_client
import pytest
import yaml
from meter_process import floats, meter_process

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.messages import MeterReading
from easyrider.testing.servers import nats_server

pytestmark = pytest.mark.system
POWER = [
    {"quantity": "power_w", "address": 0, "type": "float32"},
    {"quantity": "voltage_v", "address": 2, "type": "float32"},
    {"quantity": "current_a", "address": 4, "type": "float32"},
]
UPS = [
    {"quantity": "power_w", "address": 0, "type": "float32"},
    {"quantity": "modules_total", "address": 2, "type": "uint16"},
    {"quantity": "modules_ok", "address": 3, "type": "uint16"},
    {"quantity": "on_battery", "address": 4, "type": "uint16"},
]


@pytest.fixture(scope="module")
def nats():
    with nats_server() as server:
        yield server


@pytest.fixture
def meter():
    with meter_process() as process:
        process.tell("set", 0, *floats(20000.0), *floats(400.0), *floats(29.5))
        yield process


def entry(name, port, registers, kind="power_meter", period_s=0.2, **other):
    return {
        "id": name, "domain": f"domain-{name}", "kind": kind, "host": "127.0.0.1", "port": port, "device_id": 1,
        "period_s": period_s, "registers": registers, **other,
    }  # fmt: skip


class Ear:
    def __init__(self):
        self.readings: list[MeterReading] = []
        self.events: list[dict] = []

    def of(self, meter: str) -> list[MeterReading]:
        return [reading for reading in self.readings if reading.meter == meter]


async def until(condition, within_s=20.0):
    deadline_s = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, "in vain"
        await asyncio.sleep(0.02)
    return found


@contextlib.asynccontextmanager
async def bridge(nats, folder: Path, *entries: dict, **settings: str):
    """The service on these meters, and an ear on the bus."""
    meters = folder / "meters.yaml"
    meters.write_text(yaml.safe_dump({"meters": list(entries)}))
    names = {
        "meters_file": str(meters),
        "nats_url": nats.url,
        "health_file": str(folder / "health"),
        **settings,
    }
    environment = os.environ | {
        f"EASYRIDER_INFRA_BRIDGE_{name.upper()}": value for name, value in names.items()
    }
    ear = Ear()
    plain = await nats_client.connect(nats.url)

    async def on_event(message):
        ear.events.append(json.loads(message.data))

    await plain.subscribe("easyrider.v1.event.>", cb=on_event)
    async with Bus.connect(nats.url, name="test") as bus:
        await bus.subscribe(subjects.meters_in("local"), (MeterReading,), lambda m, _: ear.readings.append(m))
        log = (folder / "bridge.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "easyrider_infra_bridge"], env=environment, stderr=log
        )
        try:
            yield ear, process
        finally:
            process.terminate()
            process.wait(15)
            log.close()
            await plain.close()


async def test_readings_flow_and_the_gate_opens(nats, tmp_path, meter):
    async with bridge(nats, tmp_path, entry("m1", meter.port, POWER)) as (ear, _):
        await until(lambda: len(ear.of("m1")) >= 7)

    readings = ear.of("m1")[:7]
    assert [reading.seq for reading in readings] == list(range(1, 8))
    assert [reading.gated for reading in readings] == [False] * 4 + [True] * 3
    assert {(r.power_w, r.quality, r.domain, r.device) for r in readings} == {
        (20000.0, "good", "domain-m1", "power_meter")
    }


async def test_a_supply_module_that_drops_is_told_within_two_seconds(nats, tmp_path):
    with meter_process() as ups:
        ups.tell("set", 0, *floats(30000.0), 5, 5, 0)
        async with bridge(nats, tmp_path, entry("u1", ups.port, UPS, kind="ups", period_s=10.0)) as (ear, _):
            await until(lambda: ear.of("u1"))
            ups.tell("set", 3, 4)
            dropped_s = time.monotonic()

            await until(lambda: ear.of("u1")[-1].modules_ok == 4)
            event = await until(
                lambda: next((e for e in ear.events if e["data"].get("what") == "module_lost"), None)
            )

            assert time.monotonic() - dropped_s < 2.0
            assert (event["data"]["modules_ok"], event["data"]["modules_total"]) == (4, 5)
            ups.tell("set", 4, 1)
            dropped_s = time.monotonic()
            await until(lambda: any(e["data"].get("what") == "on_battery" for e in ear.events))
            assert time.monotonic() - dropped_s < 2.0


async def test_a_silent_meter_says_nothing_delays_no_other_and_heals_by_itself(nats, tmp_path, meter):
    with meter_process() as other:
        other.tell("set", 0, *floats(1000.0), *floats(400.0), *floats(1.5))
        entries = entry("m1", meter.port, POWER), entry("m2", other.port, POWER)
        async with bridge(nats, tmp_path, *entries) as (ear, _):
            await until(lambda: ear.of("m1") and ear.of("m2"))
            meter.tell("silent")
            await until(lambda: any(e["data"].get("condition") == "silent" for e in ear.events))
            silent, loud = len(ear.of("m1")), len(ear.of("m2"))

            await until(lambda: len(ear.of("m2")) >= loud + 10)

            assert len(ear.of("m1")) == silent
            gaps_s = [
                (b.mono_ns - a.mono_ns) / 1e9
                for a, b in zip(ear.of("m2")[loud:], ear.of("m2")[loud + 1 :], strict=False)
            ]
            assert max(gaps_s) < 0.5
            meter.tell("speak")
            await until(lambda: len(ear.of("m1")) > silent, within_s=10)


async def test_a_late_answer_is_never_taken_for_that_of_a_later_request(nats, tmp_path, meter):
    apart = [POWER[0], {"quantity": "voltage_v", "address": 10, "type": "float32"}]
    meter.tell("set", 0, *floats(5000.0))
    meter.tell("set", 10, *floats(400.0))

    async with bridge(nats, tmp_path, entry("m1", meter.port, apart), deadline_s="0.15") as (ear, _):
        await until(lambda: len(ear.of("m1")) >= 2)
        for _ in range(3):
            meter.tell("delay", 0.3)
            await asyncio.sleep(0.5)  # so long every answer comes after its deadline
            meter.tell("delay", 0)
            seen = len(ear.of("m1"))
            await until(lambda seen=seen: len(ear.of("m1")) > seen)

    assert {reading.voltage_v for reading in ear.readings} == {400.0}
    assert {reading.power_w for reading in ear.readings} == {5000.0}


async def test_a_meter_that_refuses_connections_for_a_while_is_read_again_without_leaking_descriptors(
    nats, tmp_path, meter
):
    async with bridge(nats, tmp_path, entry("m1", meter.port, POWER)) as (ear, process):
        await until(lambda: ear.of("m1"))
        meter.tell("close")
        before = len(os.listdir(f"/proc/{process.pid}/fd"))
        seen = len(ear.of("m1"))
        await asyncio.sleep(5)  # some 25 refused connections

        meter.tell("open")

        await until(lambda: len(ear.of("m1")) > seen + 3, within_s=10)
        assert len(os.listdir(f"/proc/{process.pid}/fd")) <= before + 2


async def test_a_scale_fault_makes_power_unknown_and_is_told(nats, tmp_path, meter):
    meter.tell("set", 6, *floats(50.0))
    with_frequency = [*POWER, {"quantity": "frequency_hz", "address": 6, "type": "float32"}]

    async with bridge(nats, tmp_path, entry("m1", meter.port, with_frequency)) as (ear, _):
        await until(lambda: ear.of("m1"))

        meter.tell("set", 0, *floats(200000.0))

        bad = await until(lambda: next((r for r in ear.of("m1") if r.quality == "bad"), None))
        assert bad.power_w is None
        assert "scale" in bad.suspect
        await until(lambda: any(e["data"].get("condition") == "bad" for e in ear.events))


async def test_a_meter_without_power_for_a_reading_publishes_nothing(nats, tmp_path, meter):
    wrong_order = [{**POWER[0], "word_order": "little"}]
    meter.tell("set", 0, *floats(1234.5))

    async with bridge(nats, tmp_path, entry("m1", meter.port, wrong_order)) as (ear, _):
        event = await until(
            lambda: next((e for e in ear.events if e["data"].get("condition") == "refused"), None)
        )

        assert "word order big" in event["data"]["why"]
        assert not ear.readings


async def test_only_reads_reach_a_meter(nats, tmp_path):
    """A listener that notes every function code; the bridge's source has no word for writing either."""
    codes = []

    async def note(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(8)
                await reader.readexactly(int.from_bytes(head[4:6], "big") - 2)
                codes.append(head[7])
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, bridge(nats, tmp_path, entry("m1", port, POWER), deadline_s="0.1"):
        await until(lambda: len(codes) >= 5)

    assert set(codes) == {3}
    source = Path(__import__("easyrider_infra_bridge").__file__).parent / "adapters" / "modbus.py"
    assert "write" not in source.read_text().replace("can write", "")


def run_once(**settings: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        f"EASYRIDER_INFRA_BRIDGE_{name.upper()}": value for name, value in settings.items()
    }
    return subprocess.run(
        [sys.executable, "-m", "easyrider_infra_bridge"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_every_fault_of_the_meters_file_comes_in_one_message_and_exit_2(tmp_path):
    meters = tmp_path / "meters.yaml"
    wrong = entry("m1", 502, [{"quantity": "watts", "address": 0, "type": "float64"}], color="red")
    meters.write_text(yaml.safe_dump({"meters": [wrong, {"id": "m2"}]}))

    done = run_once(meters_file=str(meters))

    assert done.returncode == 2
    for word in ("watts", "float64", "color", "m2", "host", "registers"):
        assert word in done.stderr, word


def test_a_missing_meters_file_is_named(tmp_path):
    done = run_once(meters_file=str(tmp_path / "none.yaml"))

    assert done.returncode == 2
    assert "none.yaml" in done.stderr


def test_a_free_port_is_no_meter(tmp_path):
    """The guard for the tests above: nothing else answers where a meter was closed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0
