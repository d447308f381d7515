"""The coordinator: hears every node and meter of its scope, plans, commands; one instance leads."""

import os
import socket
import sys

from easyrider import log, subjects
from easyrider.bus import Bus
from easyrider.bus_port import BusRefused
from easyrider.life import Life
from easyrider.messages import (
    JobEvent,
    Leaving,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    PowerForecast,
)
from easyrider.service import run
from easyrider.store import Store
from easyrider_policy.adapters.journal import Journal
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.config import PREFIX, Config
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.leadership import Leadership
from easyrider_policy.loop import Clocks, Loop, write_behind
from easyrider_policy.picture import Picture
from easyrider_policy.rulebook import first_rules, reseed

STALE_S = 3.0


async def keep_events(bus: Bus) -> None:
    """Have the stream of integration events made; without one they are said and not kept."""
    try:
        await bus.keep_events()
    except BusRefused as fault:
        log.get("policy").warning("events are not kept", fault=str(fault))


async def start(config: Config, life: Life) -> None:
    """Wire one coordinator: two connections, so that commands never queue behind telemetry."""
    rules = first_rules(RulesFolder(config.state_dir), config.tree_file)
    if rules is None:
        log.get("policy").warning("no rules: nothing is controlled; give EASYRIDER_POLICY_TREE_FILE")
        life.flag("rules", lambda: False)
        await life.until_stopped()
        return
    clocks, journal = Clocks(), Journal(config.state_dir)
    picture = Picture(rules, config.region, clocks.now_s())
    coordinator = Coordinator(picture, config.control_period_s)
    owner = config.instance or f"{socket.gethostname()}-{os.getpid()}"
    async with (
        Bus.connect(config.nats_url, name="policy", seed_file=config.seed_file) as bus,
        Bus.connect(
            config.nats_url, name="policy", seed_file=config.seed_file, buffered=False
        ) as command_bus,
        Store.connect(config.redis_url) as store,
    ):
        loop = Loop(
            coordinator,
            command_bus,
            store,
            journal,
            region=config.region,
            tick_s=config.tick_s,
            clocks=clocks,
        )
        desk = Desk(picture, coordinator, loop.note)
        region = config.region
        await command_bus.subscribe(subjects.states_in(region), (NodeState, Leaving), desk.on_state)
        await command_bus.subscribe(subjects.acks_in(region), (LimitAck,), desk.on_ack)
        await bus.subscribe(subjects.frames_in(region), (NodeFrame,), desk.on_frame)
        await bus.subscribe(subjects.meters_in(region), (MeterReading,), desk.on_meter)
        await bus.subscribe(subjects.jobs_in(region), (JobEvent,), desk.on_job)
        await bus.subscribe(subjects.forecast(region), (PowerForecast,), desk.on_forecast)
        life.spawn("event stream", keep_events(command_bus))
        leadership = Leadership(store, picture, config.tree, region, owner, clocks.now_s)
        life.watch("loop", lambda: clocks.now_s() - loop.looked_s, STALE_S)
        life.watch("states", lambda: clocks.now_s() - desk.states_s, STALE_S)
        life.watch("frames", lambda: clocks.now_s() - desk.frames_s, STALE_S)
        life.flag("bus", lambda: command_bus.connected)
        life.on_stop(leadership.give_up)
        life.on_stop(journal.close)
        life.spawn("leadership", leadership.run())
        life.spawn("loop", loop.run())
        life.spawn("write behind", write_behind(loop, store, config.tree, region))
        life.spawn("reseed", reseed(store, config.tree, rules))
        await life.until_stopped()


def main() -> int:
    """Exit code of the service."""
    return run("easyrider-policy", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
