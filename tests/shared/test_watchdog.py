"""Systemd hears: ready once everything is open, alive as long as the loop turns; where nobody listens, nothing."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from easyrider.watchdog import Watchdog

SERVICE = """
import asyncio, sys, time
from dataclasses import dataclass
from easyrider import process

@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    log_level: str = "info"

async def start(config, life):
    if "stuck" in sys.argv[1]:
        asyncio.get_running_loop().call_later(0.5, time.sleep, 60)
    if "late" not in sys.argv[1]:
        await life.until_stopped()
    await asyncio.sleep(60)

sys.exit(process.run("small", Config, "SMALL_", start, arguments=[]))
"""


class Systemd:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.bind(str(path))

    def hears(self, word: str, within_s: float) -> bool:
        """Whether this is said before the time is over."""
        end_s = time.monotonic() + within_s
        while (left_s := end_s - time.monotonic()) > 0:
            self.line.settimeout(left_s)
            try:
                if word in self.line.recv(4096).decode():
                    return True
            except TimeoutError:
                return False
        return False

    def environ(self, watchdog_s: float) -> dict[str, str]:
        """What a service of a unit finds."""
        return {"NOTIFY_SOCKET": str(self.path), "WATCHDOG_USEC": str(round(watchdog_s * 1e6))}


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    one = Systemd(tmp_path / "notify")
    yield one
    one.line.close()


@pytest.fixture
def service(systemd: Systemd) -> Iterator[list[subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.kill()
        process.wait()


def _start(systemd: Systemd, how: str) -> subprocess.Popen[bytes]:
    environ = os.environ | systemd.environ(watchdog_s=0.4)
    return subprocess.Popen([sys.executable, "-c", SERVICE, how], env=environ, start_new_session=True)


def test_a_service_is_ready_when_all_is_open_and_says_again_and_again_that_its_loop_turns(
    systemd: Systemd, service: list[subprocess.Popen[bytes]]
) -> None:
    service.append(_start(systemd, "open"))

    assert systemd.hears("READY=1", 20)
    for _ in range(3):
        assert systemd.hears("WATCHDOG=1", 5)
    service[0].send_signal(signal.SIGTERM)
    assert systemd.hears("STOPPING=1", 10)
    assert service[0].wait(10) == 0


def test_a_loop_that_is_stuck_says_nothing_more(
    systemd: Systemd, service: list[subprocess.Popen[bytes]]
) -> None:
    service.append(_start(systemd, "stuck"))
    assert systemd.hears("WATCHDOG=1", 20)

    time.sleep(1.0)  # what was said before it stuck is heard and done with
    while systemd.hears("", 0.1):
        pass

    assert not systemd.hears("WATCHDOG=1", 1.5)


def test_a_service_that_still_waits_asks_for_time_and_is_not_ready(
    systemd: Systemd, service: list[subprocess.Popen[bytes]]
) -> None:
    service.append(_start(systemd, "late"))

    assert systemd.hears("EXTEND_TIMEOUT_USEC=", 20)
    assert not systemd.hears("READY=1", 1.0)


def test_an_abstract_socket_is_spoken_to_as_well(tmp_path: Path) -> None:
    name = f"@easyrider-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(f"\0{name[1:]}")
        line.settimeout(5)

        Watchdog({"NOTIFY_SOCKET": name}).ready()

        assert line.recv(4096).startswith(b"READY=1")


def test_where_nobody_listens_nothing_is_said_and_nothing_breaks(tmp_path: Path) -> None:
    assert not Watchdog({}).watches
    Watchdog({}).turn()
    Watchdog({"NOTIFY_SOCKET": str(tmp_path / "gone")}).turn()


@pytest.mark.parametrize(
    ("environ", "period_s"),
    [
        ({"WATCHDOG_USEC": "4000000"}, 2.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}, 5.0),  # another process is meant
        ({"WATCHDOG_USEC": "nonsense"}, 5.0),
        ({}, 5.0),
    ],
)
def test_it_speaks_twice_within_the_time_it_may_be_silent(environ: dict[str, str], period_s: float) -> None:
    assert Watchdog(environ | {"NOTIFY_SOCKET": "/there"}, pid=7).period_s == period_s


async def test_a_turn_is_told_at_most_once_a_period(systemd: Systemd) -> None:
    watchdog = Watchdog(systemd.environ(watchdog_s=10.0))

    for _ in range(50):
        watchdog.turn()
    await asyncio.sleep(0)

    assert systemd.hears("WATCHDOG=1", 1)
    assert not systemd.hears("WATCHDOG=1", 0.2)
