"""The infrastructure bridge: settings, bus, one poll a meter."""

import asyncio
import sys
from pathlib import Path

from easyrider import service
from easyrider.bus import Bus
from easyrider.life import Life
from easyrider_infra_bridge.adapters.meters_file import read_meters
from easyrider_infra_bridge.adapters.modbus import ModbusLink
from easyrider_infra_bridge.config import PREFIX, Config
from easyrider_infra_bridge.core.meter_desk import MeterDesk, Place
from easyrider_infra_bridge.handlers import MeterPoll

_STALE_POLLS = 3
_MEASURE_EVERY_S = 5.0


async def start(config: Config, life: Life) -> None:
    """Everything opened and introduced; ends when the service is told to stop."""
    specs = read_meters(config.meters_file)
    place = Place(region=config.region, boot_id=Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    async with Bus.connect(
        config.nats_url, name="infra-bridge", seed_file=config.seed_file, tls=config.tls
    ) as bus:
        life.flag("bus", lambda: bus.connected)
        polls = []
        for number, spec in enumerate(specs):
            deadline_s = min(config.deadline_s, spec.poll_s)
            link = ModbusLink(spec.id, spec.host, spec.port, spec.device_id, deadline_s)
            poll = MeterPoll(MeterDesk(spec, place, config.gate_polls), link, bus, config.region)
            polls.append(poll)
            life.spawn(f"meter {spec.id}", poll.run(spec.poll_s * number / len(specs)))
        if polls:  # a silent meter shows by its own age; the bridge works while one of them answers
            slowest_s = max(spec.poll_s for spec in specs)
            life.watch("meters", lambda: _youngest_s(polls), _STALE_POLLS * slowest_s)
        life.spawn("measure", _measure(polls))
        await life.until_stopped()


def _youngest_s(polls: list[MeterPoll]) -> float | None:
    ages = [age_s for poll in polls if (age_s := poll.age_s()) is not None]
    return min(ages, default=None)


async def _measure(polls: list[MeterPoll]) -> None:
    while True:
        for poll in polls:
            poll.measure()
        await asyncio.sleep(_MEASURE_EVERY_S)


def main() -> int:
    """Entry point of `easyrider-infra-bridge`."""
    return service.run("easyrider-infra-bridge", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
