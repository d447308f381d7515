"""easyrider-actuator: relays between the bus and this node's guardian. It holds neither privilege nor authority."""

import sys

from easyrider import service, subjects
from easyrider.bus import Bus
from easyrider.life import Life
from easyrider_actuator.config import PREFIX, Config
from easyrider_actuator.handlers import COMMANDS, Relay

STALE_AFTER_S = 3.0
BACKLOG = 16


async def start(config: Config, life: Life) -> None:
    """Everything opened and introduced; ends when the service is told to stop."""
    name = f"actuator.{config.node}"
    async with Bus.connect(
        config.nats_url, name=name, seed_file=config.seed_file, tls=config.tls, buffered=False
    ) as bus:
        relay = Relay(config, bus)
        life.watch("guardian", relay.age_s, STALE_AFTER_S)
        life.flag("bus", lambda: bus.connected)
        life.on_stop(relay.linger)
        life.spawn("follow", relay.follow())
        life.spawn("speak", relay.speak())
        await bus.subscribe(
            subjects.command(config.region, config.node), COMMANDS, relay.on_command, keep=BACKLOG
        )
        await life.until_stopped()


def main() -> int:
    """Entry point of `easyrider-actuator`."""
    return service.run("easyrider-actuator", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
