"""Frames leave on a link of their own: a bus that freezes, falls or forbids, and a fault where nobody would see it."""

import asyncio
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from telemetry_ear import readiness, running, until
from telemetry_node import moving_node

from easyrider.testing.servers import nats_server

pytestmark = pytest.mark.system

SCRIPT = """
import sys
from easyrider_telemetry import __main__, rows

def break_down(*_):
    raise ZeroDivisionError("no such thing")

rows.RowDesk._on_tick = break_down
sys.exit(__main__.main())
"""


@pytest.fixture
def own_nats():
    with nats_server() as server:
        yield server


async def test_a_frozen_bus_delays_no_look(own_nats, tmp_path):
    async with running(own_nats, tmp_path) as (_node, ear, _process):
        await until(lambda: len(ear.frames) >= 5)
        begun = len(ear.frames)
        own_nats.freeze()
        await asyncio.sleep(2.0)  # a bus that is stuck, not a wait for something
        own_nats.thaw()

        await until(lambda: len(ear.frames) >= begun + 30)

    frames = ear.frames[begun : begun + 30]
    gaps_ms = np.diff([frame.mono_ns for frame in frames]) / 1e6
    assert np.percentile(gaps_ms, 90) < 200
    assert [frame.seq for frame in frames] == list(range(frames[0].seq, frames[0].seq + 30))


async def test_a_bus_that_falls_is_found_again_and_what_was_seen_meanwhile_is_lost_not_late(
    own_nats, tmp_path
):
    async with running(own_nats, tmp_path) as (_node, ear, _process):
        await until(lambda: len(ear.frames) >= 5)
        await until(lambda: readiness(tmp_path) == 200)
        own_nats.kill()
        await until(lambda: readiness(tmp_path) == 503)
        begun, last = len(ear.frames), ear.frames[-1].seq
        own_nats.start()
        ages_s = []

        def heard() -> bool:
            new = ear.frames[begun + len(ages_s) :]
            ages_s.extend((time.monotonic_ns() - frame.mono_ns) / 1e9 for frame in new)
            return len(ages_s) >= 5

        await until(heard)
        await until(lambda: readiness(tmp_path) == 200)

    assert max(ages_s) < 1.0
    assert ear.frames[begun].seq > last + 1


def test_a_fault_in_a_thread_that_reads_boards_ends_the_service(own_nats, tmp_path):
    with moving_node(tmp_path) as node:
        settings = {"NODE": "n1", "NATS_URL": own_nats.url}
        environ = node.environment(**{f"EASYRIDER_TELEMETRY_{name}": text for name, text in settings.items()})

        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=os.environ | environ, capture_output=True, text=True, timeout=30,
            check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert "no such thing" in done.stderr
