"""The recorder as an operator starts it, beside a real bus and store: what it hears, and what a kill costs."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from easyrider import subjects, wire
from easyrider.bus import Bus
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold
from easyrider.store import Store
from easyrider.testing.servers import nats_server, redis_server
from easyrider_recorder.adapters.reader import Recording

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


class Running:
    """A recorder process, and its door."""

    def __init__(self, place: Path, nats: ServerProcess, redis: ServerProcess, **settings: str) -> None:
        self.folder = Path(settings.get("folder", place / "recordings"))
        self._health = place / "health"
        told = {
            "folder": str(self.folder), "nats_url": nats.url, "redis_url": redis.url,
            "health_file": str(self._health), "min_free_mib": "1", **settings,
        }  # fmt: skip
        environ = {name: v for name, v in os.environ.items() if not name.startswith("EASYRIDER_")}
        environ |= {f"EASYRIDER_RECORDER_{name.upper()}": value for name, value in told.items()}
        self.log = place / "recorder.log"
        self._health.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "easyrider_recorder"], env=environ, stderr=log
            )

    def door(self, path: str) -> tuple[int, str]:
        try:
            address = self._health.read_text().strip()
            with urllib.request.urlopen(f"http://{address}{path}", timeout=2) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()
        except OSError:
            return 0, ""

    def listening(self) -> bool:
        told = self.door("/ready")[1]
        return bool(told) and bool(json.loads(told)["checks"]["running"]["ok"])

    def count(self, name: str) -> float:
        lines = self.door("/metrics")[1].splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


@contextlib.contextmanager
def recorder(place: Path, nats: ServerProcess, redis: ServerProcess, **settings: str) -> Iterator[Running]:
    running = Running(place, nats, redis, **settings)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait(10)


async def until(true: Callable[[], Any], within_s: float = 20.0) -> Any:
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, "in vain"
        await asyncio.sleep(0.05)
    return found


@contextlib.asynccontextmanager
async def speaking(nats: ServerProcess) -> AsyncIterator[Bus]:
    async with Bus.connect(nats.url, name="test") as bus:
        yield bus


def hold(seq: int) -> Hold:
    return Hold(tree="site", region="r1", node="n1", epoch=1, seq=seq, nonce=3, ttl_s=5.0)


def found(folder: Path, region: str = "r1") -> list[tuple[str, bytes]]:
    return [(each.subject, each.body) for _boot, each in Recording.open(folder, region).records()]


async def test_messages_and_events_are_recorded_as_the_bytes_that_were_said(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    with recorder(tmp_path, nats, redis) as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            await bus.publish(subjects.command("r1", "n1"), hold(1))
            await bus.publish_event(
                "xid", "r1", {"node": "n1", "gpu": "GPU-1", "xid": 79}, source="telemetry/n1"
            )
            await until(lambda: running.count("easyrider_recorder_messages_total") >= 2)
            assert running.door("/ready")[0] == 200

        told = found(running.folder)

    assert told[0] == (subjects.command("r1", "n1"), wire.encode(hold(1)))
    assert told[1][0] == subjects.event("xid", "r1")
    assert b'"specversion":"1.0"' in told[1][1]


async def test_the_rules_in_force_are_recorded_beside_the_messages_of_each_region(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    async with Store.connect(redis.url, deadline_s=5.0) as store:
        await store.save_rules("site-a", 3, b'{"tree": "three"}')

    with recorder(tmp_path, nats, redis, tree="site-a") as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            for region in ("r1", "r2"):
                await bus.publish(subjects.command(region, "n1"), hold(1))
            await until(lambda: running.count("easyrider_recorder_messages_total") >= 4)
        told = {region: found(running.folder, region)[1:] for region in ("r1", "r2")}

    assert told == {
        region: [(f"rules.site-a.rules.{region}", b'{"tree": "three"}')] for region in ("r1", "r2")
    }


async def test_a_kill_costs_at_most_the_last_second_and_the_next_start_goes_on(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    with recorder(tmp_path, nats, redis) as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            for seq in range(300):
                await bus.publish(subjects.command("r1", "n1"), hold(seq))
                await asyncio.sleep(0.01)
            written = await until(lambda: running.count("easyrider_recorder_messages_total"))
            running.process.kill()
            running.process.wait(10)

    before = found(running.folder)
    assert len(before) >= written >= 100
    with recorder(tmp_path, nats, redis) as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            await bus.publish(subjects.command("r1", "n1"), hold(1000))
            await until(lambda: running.count("easyrider_recorder_messages_total") >= 1)
        after = found(running.folder)

    assert after[: len(before)] == before
    assert after[-1][1] == wire.encode(hold(1000))
    assert [wire.decode(body, (Hold,)).seq for _subject, body in before] == list(range(len(before)))  # type: ignore[attr-defined]


async def test_what_an_earlier_run_left_torn_is_named_at_the_next_start(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    with recorder(tmp_path, nats, redis) as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            await bus.publish(subjects.command("r1", "n1"), hold(1))
            await until(lambda: running.count("easyrider_recorder_messages_total") >= 1)
    (path,) = running.folder.rglob("*.errec")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-90:-40])

    with recorder(tmp_path, nats, redis) as running:
        await until(running.listening)

    said = running.log.read_text()
    assert "ended in the middle of a block" in said
    assert f"50 bytes from {len(whole)} on" in said


async def test_a_disk_without_room_shows_at_the_door_and_ends_nothing(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    with recorder(tmp_path, nats, redis, min_free_mib="1e9") as running:
        await until(running.listening)
        async with speaking(nats) as bus:
            await bus.publish(subjects.command("r1", "n1"), hold(1))
            await until(lambda: running.count("easyrider_recorder_dropped_total{") >= 1)

        status, told = running.door("/ready")

        assert status == 503
        assert "disk" in told
        assert running.process.poll() is None
        assert "nothing is recorded" in running.log.read_text()


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of a quarter of a megabyte."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k,mode=777", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def test_a_disk_that_fills_up_stops_the_recording_alone_and_room_lets_it_go_on(
    nats: ServerProcess, redis: ServerProcess, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(os.urandom(180_000))
        with recorder(tmp_path, nats, redis, folder=str(disk / "recordings"), min_free_mib="0") as running:
            await until(running.listening)
            async with speaking(nats) as bus:

                async def speak(count: int) -> None:
                    for _ in range(count):
                        await bus._client.publish(subjects.command("r1", "n1"), os.urandom(2_000))
                    await asyncio.sleep(0.2)

                end_s = time.monotonic() + 20
                while not running.count("easyrider_recorder_dropped_total{"):
                    assert time.monotonic() < end_s
                    await speak(50)
                full = running.door("/ready")
                written = running.count("easyrider_recorder_messages_total")
                ballast.unlink()
                end_s = time.monotonic() + 30
                while running.count("easyrider_recorder_messages_total") <= written:
                    assert time.monotonic() < end_s
                    await speak(2)

            assert full[0] == 503
            assert running.process.poll() is None
        recording = Recording.open(disk / "recordings", "r1")
        whole = sum(1 for _ in recording.records())

    assert recording.damage == [], "half a block was taken back"
    assert whole > written
    assert recording.dropped > 0


async def test_settings_that_make_no_sense_are_one_line(tmp_path: Path) -> None:
    environ = {name: v for name, v in os.environ.items() if not name.startswith("EASYRIDER_")}
    environ |= {"EASYRIDER_RECORDER_FOLDER": str(tmp_path), "EASYRIDER_RECORDER_KINDS": "plan,gossip"}

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_recorder"], env=environ, capture_output=True, text=True, timeout=30
    )

    assert done.returncode == 2
    assert "gossip" in done.stderr
