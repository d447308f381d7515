"""The telemetry service: settings, bus, threads, and how they meet."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from easyrider import service
from easyrider.bus import Bus
from easyrider.devices.library import Library
from easyrider.life import Life
from easyrider_telemetry.adapters.both_jobs import BothJobs
from easyrider_telemetry.adapters.docker_jobs import DockerJobs
from easyrider_telemetry.adapters.driver import Driver
from easyrider_telemetry.adapters.jobs_file import JobsFile
from easyrider_telemetry.adapters.phase_socket import PhaseSocket
from easyrider_telemetry.adapters.sampler import Sampler
from easyrider_telemetry.config import PREFIX, Config
from easyrider_telemetry.core.job_watch import JobSource, JobWatch
from easyrider_telemetry.handlers import Desk

STALE_AFTER_S = 3.0


async def start(config: Config, life: Life) -> None:
    """Everything opened and introduced; ends when the service is told to stop."""
    loop = asyncio.get_running_loop()
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def from_thread(handle: Callable[..., None]) -> Callable[..., None]:
        def hand(*what: Any) -> None:
            if not life.stopping.is_set():
                loop.call_soon_threadsafe(handle, *what)

        return hand

    async with Bus.connect(
        config.nats_url, name=f"telemetry.{config.node}", seed_file=config.seed_file, tls=config.tls
    ) as bus:
        sampler = Sampler(
            1 / config.sampling_hz,
            from_thread(lambda row: desk.on_row(row)),
            from_thread(lambda slot, reads: desk.on_burst(slot, reads)),
        )
        driver = Driver(Library(config.library), from_thread(lambda report: desk.on_report(report)))
        desk = Desk(config, boot_id, bus, sampler, driver)
        life.watch("readings", desk.age_s, STALE_AFTER_S)
        life.flag("bus", lambda: bus.connected)
        life.on_stop(sampler.stop)
        life.on_stop(driver.stop)
        driver.start()
        if (source := _jobs(config, life, desk)) is not None:
            watch = JobWatch(config.region, config.node, boot_id)
            life.spawn("jobs", _repeat(lambda: desk.on_jobs(watch, source)))
        if config.phase_socket is not None:
            phases = PhaseSocket(config.phase_socket, config.region, config.node, boot_id)
            loop.add_reader(phases.fileno(), phases.take, lambda data: desk.on_phase(data, phases))
            life.on_stop(lambda: _close(loop, phases))
        await life.until_stopped()


def _jobs(config: Config, life: Life, desk: Desk) -> JobSource | None:
    """Where jobs come from: a file, containers, or both, the file going first."""
    file = None if config.jobs_file is None else JobsFile(config.jobs_file)
    if config.jobs_docker is None:
        return file
    containers = DockerJobs(
        config.jobs_docker,
        lambda: list(desk.roster.uuids),
        prefix=config.docker_labels,
        every_s=config.docker_every_s,
    )
    containers.start()
    life.on_stop(containers.stop)
    return containers if file is None else BothJobs(file, containers)


def _close(loop: asyncio.AbstractEventLoop, phases: PhaseSocket) -> None:
    loop.remove_reader(phases.fileno())
    phases.close()


async def _repeat(step: Callable[[], float]) -> None:
    """Calls `step` for ever, each time after the seconds that it asked for."""
    while True:  # noqa: ASYNC110 - nothing is waited for: this is a clock
        await asyncio.sleep(step())


def main() -> int:
    """Entry point of `easyrider-telemetry`."""
    return service.run("easyrider-telemetry", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
