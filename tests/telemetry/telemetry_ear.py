"""A telemetry process on a simulated node, and an ear on the bus that hears all it says."""

import asyncio
import contextlib
import time
import urllib.error
import urllib.request
from pathlib import Path

from telemetry_node import moving_node, telemetry

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.messages import JobEvent, NodeFrame, PhaseMark

UUIDS = [f"GPU-5ead0a10-0000-4000-8000-{index:012x}" for index in range(8)]


class Ear:
    """Everything that one node says, in order."""

    def __init__(self) -> None:
        self.frames: list[NodeFrame] = []
        self.jobs: list[JobEvent] = []
        self.phases: list[PhaseMark] = []

    async def listen(self, bus: Bus) -> None:
        await bus.subscribe(subjects.frames_in("local"), (NodeFrame,), lambda m, _: self.frames.append(m))
        await bus.subscribe(subjects.jobs_in("local"), (JobEvent,), lambda m, _: self.jobs.append(m))
        await bus.subscribe(subjects.phases_in("local"), (PhaseMark,), lambda m, _: self.phases.append(m))


async def until(condition, within_s=20.0):
    deadline_s = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, "in vain"
        await asyncio.sleep(0.02)
    return found


@contextlib.asynccontextmanager
async def running(nats, folder: Path, before=lambda node: None, **settings: str):
    """A node, its telemetry, and an ear on the bus."""
    with moving_node(folder) as node:
        before(node)
        async with Bus.connect(nats.url, name="test") as bus:
            ear = Ear()
            await ear.listen(bus)
            with telemetry(node, nats.url, folder, **settings) as process:
                yield node, ear, process


def readiness(folder: Path) -> int:
    try:
        with urllib.request.urlopen(
            f"http://{(folder / 'health').read_text().strip()}/ready", timeout=2
        ) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0


def valid(frame: NodeFrame, slot: int) -> bool:
    return frame.power_ok[slot] == 0
