"""The telemetry service: settings, bus, threads, and how they meet."""

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from easyrider import log, service, subjects
from easyrider.bus import Bus
from easyrider.bus_greeting import Caller
from easyrider.devices.library import Library
from easyrider.life import Life
from easyrider.speaking_link import SpeakingLink
from easyrider_telemetry.adapters.both_jobs import BothJobs
from easyrider_telemetry.adapters.docker_jobs import DockerJobs
from easyrider_telemetry.adapters.driver import Driver
from easyrider_telemetry.adapters.frame_way import FrameWay, OwnLink, ThroughTheLoop
from easyrider_telemetry.adapters.jobs_file import JobsFile
from easyrider_telemetry.adapters.overdue import OverdueTimer
from easyrider_telemetry.adapters.phase_socket import PhaseSocket
from easyrider_telemetry.adapters.sampler import Sampler
from easyrider_telemetry.config import PREFIX, Config
from easyrider_telemetry.core.frame import FrameBuilder
from easyrider_telemetry.core.job_watch import JobSource, JobWatch
from easyrider_telemetry.core.roster import Roster
from easyrider_telemetry.handlers import Desk
from easyrider_telemetry.rows import RowDesk

STALE_AFTER_S = 3.0
GRACE_S, LOOK_AGAIN_S = 0.005, 0.01
"""A row may be so late beyond what a slow board may take; while it does not come it is looked for again and again."""


async def start(config: Config, life: Life) -> None:
    """Everything opened and introduced; ends when the service is told to stop."""
    loop = asyncio.get_running_loop()
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def from_thread(handle: Callable[..., None]) -> Callable[..., None]:
        def hand(*what: Any) -> None:
            if not life.stopping.is_set():
                loop.call_soon_threadsafe(handle, *what)

        return hand

    def thread_failed(ended: threading.ExceptHookArgs) -> None:
        what = "a thread failed, and the service ends with it"
        log.get("telemetry").error(what, thread=ended.thread and ended.thread.name, exc_info=ended.exc_value)
        from_thread(life.fail)(ended.exc_value)

    threading.excepthook = thread_failed
    name = f"telemetry.{config.node}"
    async with Bus.connect(config.nats_url, name=name, seed_file=config.seed_file, tls=config.tls) as bus:
        way: FrameWay = ThroughTheLoop(from_thread(lambda body: desk.on_frame(body)))
        if "ws" not in config.nats_url.partition("://")[0]:
            caller = Caller(name=f"{name}.frames", seed_file=config.seed_file, tls=config.tls)
            link = SpeakingLink(config.nats_url, caller, from_thread(lambda news: desk.on_link(news)))
            life.flag("frames", lambda: link.connected)
            way = OwnLink(link, subjects.frame(config.region, config.node))
        sampler = Sampler(
            1 / config.sampling_hz,
            lambda row: rows.on_row(row),
            lambda slot, reads: rows.on_burst(slot, reads),
        )
        overdue = OverdueTimer((sampler.period_ns + sampler.overrun_ns) / 1e9 + GRACE_S, LOOK_AGAIN_S)
        roster = Roster(look_s=1 / config.sampling_hz)
        rows = RowDesk(
            FrameBuilder(config.region, config.node, boot_id),
            roster,
            sampler,
            way,
            overdue.put_off,
            from_thread(lambda news: desk.on_rows(news)),
            frame_s=config.frame_s,
        )
        driver = Driver(Library(config.library), from_thread(lambda report: desk.on_report(report)))
        desk = Desk(config, bus, sampler, driver, rows, roster, overdue)
        life.watch("readings", rows.age_s, STALE_AFTER_S)
        life.flag("bus", lambda: bus.connected)
        loop.add_reader(overdue.fileno(), desk.on_overdue)
        life.on_stop(sampler.stop)
        life.on_stop(driver.stop)
        life.on_stop(lambda: _unwatch(loop, overdue))
        life.on_stop(rows.close)
        driver.start()
        if (source := _jobs(config, life, roster)) is not None:
            watch = JobWatch(config.region, config.node, boot_id)
            life.spawn("jobs", _repeat(lambda: desk.on_jobs(watch, source)))
        if config.phase_socket is not None:
            phases = PhaseSocket(config.phase_socket, config.region, config.node, boot_id)
            loop.add_reader(phases.fileno(), phases.take, lambda data: desk.on_phase(data, phases))
            life.on_stop(lambda: _close(loop, phases))
        await life.until_stopped()


def _jobs(config: Config, life: Life, roster: Roster) -> JobSource | None:
    """Where jobs come from: a file, containers, or both, the file going first."""
    file = None if config.jobs_file is None else JobsFile(config.jobs_file)
    if config.jobs_docker is None:
        return file
    containers = DockerJobs(
        config.jobs_docker,
        lambda: list(roster.uuids),
        prefix=config.docker_labels,
        every_s=config.docker_every_s,
    )
    containers.start()
    life.on_stop(containers.stop)
    return containers if file is None else BothJobs(file, containers)


def _close(loop: asyncio.AbstractEventLoop, phases: PhaseSocket) -> None:
    loop.remove_reader(phases.fileno())
    phases.close()


def _unwatch(loop: asyncio.AbstractEventLoop, overdue: OverdueTimer) -> None:
    loop.remove_reader(overdue.fileno())


async def _repeat(step: Callable[[], float]) -> None:
    """Calls `step` for ever, each time after the seconds that it asked for."""
    while True:  # noqa: ASYNC110 - nothing is waited for: this is a clock
        await asyncio.sleep(step())


def main() -> int:
    """Entry point of `easyrider-telemetry`."""
    return service.run("easyrider-telemetry", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
