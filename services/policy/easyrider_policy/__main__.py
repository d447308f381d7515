"""The coordinator: hears every node and meter of its scope, plans, commands; one instance leads."""

import socket
import sys
import uuid
from pathlib import Path

from easyrider import log, subjects
from easyrider.bus import Bus
from easyrider.bus_port import BusRefused
from easyrider.journal import Journal
from easyrider.life import Life
from easyrider.messages import (
    JobEvent,
    MeterReading,
    PowerForecast,
)
from easyrider.service import run
from easyrider.store import Store
from easyrider_policy.adapters.demotions_file import DemotionsFile
from easyrider_policy.adapters.learned_file import LearnedFile
from easyrider_policy.adapters.peaks_file import PeaksFile
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.adapters.stages_file import StagesFile
from easyrider_policy.adapters.tenure_file import TenureFile
from easyrider_policy.asks import AskDesk
from easyrider_policy.checking import check
from easyrider_policy.choosing import planner
from easyrider_policy.clocks import Clocks
from easyrider_policy.config import PREFIX, Config
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.demotion import Demotions
from easyrider_policy.core.leader import settled
from easyrider_policy.core.tidings import Tiding
from easyrider_policy.dark_regions import DarkRegions
from easyrider_policy.demoting import DemotionDesk, hear_nodes
from easyrider_policy.handlers import Desk
from easyrider_policy.heap import settle_collector
from easyrider_policy.intake import Intake
from easyrider_policy.keeping import write_behind
from easyrider_policy.leaders_word import LeadersWord, hear_leader
from easyrider_policy.leadership import Leadership
from easyrider_policy.learned_keeping import LearnedKeeper
from easyrider_policy.loop import Loop
from easyrider_policy.news import News
from easyrider_policy.peak_keeping import PeakKeeper
from easyrider_policy.picture import Picture
from easyrider_policy.regional import wire_regions
from easyrider_policy.rulebook import Rulebook
from easyrider_policy.rules_at_start import check_scope, first_rules, stored_rules
from easyrider_policy.scribe import Scribe
from easyrider_policy.stage_keeping import StageKeeper
from easyrider_policy.turns import take_short_turns
from easyrider_policy.words import Words

STALE_S = 3.0
KEPT = 20
"""Newest messages of one sender that wait while handlers lag: two seconds of frames. Acks and states are all kept."""


async def keep_events(bus: Bus) -> None:
    """Have the stream of integration events made; without one they are said and not kept."""
    try:
        await bus.keep_events()
    except BusRefused as fault:
        log.get("policy").warning("events are not kept", fault=str(fault))


async def start(config: Config, life: Life) -> None:
    """Wire one coordinator: two connections, so that commands never queue behind telemetry."""
    settle_collector()
    take_short_turns()
    folder, region, clocks = RulesFolder(config.state_dir), config.region, Clocks()
    rules = first_rules(folder, config.tree_file, config.tree, region, config.parent)
    async with (
        Bus.connect(config.nats_url, name="policy", seed_file=config.seed_file, tls=config.tls) as bus,
        Bus.connect(
            config.nats_url, name="policy", seed_file=config.seed_file, tls=config.tls, buffered=False
        ) as command_bus,
        Store.connect(config.redis_url, login=config.login, tls=config.tls) as store,
    ):
        if rules is None:
            log.get("policy").warning(
                "no rules yet: nothing is controlled; EASYRIDER_POLICY_TREE_FILE or the API"
            )
            rules = await stored_rules(store, folder, config.tree)
            check_scope(rules, region, config.parent)
        journal = Journal(config.state_dir)
        picture = Picture(rules, region, clocks.now_s())
        demoted = DemotionsFile(config.state_dir)
        picture.demotions = Demotions(demoted.read(), rules.version)
        stages = StageKeeper(picture, StagesFile(config.state_dir))
        peaks = PeakKeeper(picture, PeaksFile(config.state_dir))
        learned = LearnedKeeper(picture, LearnedFile(config.state_dir))
        scribe = Scribe(journal, clocks.boot_ns)
        untold: list[Tiding] = []
        chosen = planner(config.policy, lambda: picture.rules, untold.append)
        coordinator = Coordinator(picture, chosen, untold)
        news = News(command_bus, coordinator, region, scribe.note)
        loop = Loop(coordinator, command_bus, scribe, news, tick_s=config.tick_s, clocks=clocks)
        desk = Desk(picture, coordinator, scribe.note, scribe.meant)
        intake = Intake(desk, loop.frames_taken)
        words = Words(desk)
        coordinator.prepares.append(words.take)
        await command_bus.listen_to_crowd(subjects.states_in(region), words.on_states)
        await command_bus.listen_to_crowd(subjects.acks_in(region), words.on_acks)
        await bus.listen_to_crowd(subjects.frames_in(region), intake.on_crowd)
        await bus.subscribe(subjects.meters_in(region), (MeterReading,), desk.on_meter, keep=KEPT)
        await bus.subscribe(subjects.jobs_in(region), (JobEvent,), desk.on_job)
        await bus.subscribe(subjects.forecast(region), (PowerForecast,), desk.on_forecast, keep=KEPT)
        demoting = DemotionDesk(picture, demoted, news.say)
        await hear_nodes(bus, region, demoting)
        parent, child = await wire_regions(
            coordinator, loop, command_bus, TenureFile(config.state_dir), clocks, scribe
        )
        leadership = Leadership(
            store,
            picture,
            config.tree,
            region,
            # Its own for every start: two that took each other for themselves would pull the lead to and fro.
            f"{config.instance or socket.gethostname()}-{uuid.uuid4().hex[:8]}",
            clocks.now_s,
            lambda: command_bus.connected and clocks.now_s() - loop.looked_s < STALE_S,
        )
        word = LeadersWord(picture, clocks.now_s)
        await hear_leader(bus, region, word)
        rulebook = Rulebook(store, folder, picture, config.tree, scribe.note, news.say, word.version)
        dark = DarkRegions(store, picture, config.tree, scribe.note, clocks.now_s)
        asks = AskDesk(coordinator, rulebook, scribe.note, clocks.now_s, lambda: clocks.stamps_ns()[0], dark)
        await bus.answer(region, asks.answer)
        life.watch("loop", lambda: clocks.now_s() - loop.looked_s, STALE_S)
        if picture.fleet.nodes:
            life.watch("states", lambda: clocks.now_s() - desk.states_s, STALE_S)
            life.watch("frames", lambda: clocks.now_s() - desk.frames_s, STALE_S)
        else:
            life.watch("demands", lambda: clocks.now_s() - parent.demands_s, STALE_S)
        life.flag("bus", lambda: command_bus.connected)
        life.flag("lead", lambda: settled(picture.safety.lead))
        life.flag("journal", lambda: scribe.whole)
        life.on_stop(leadership.give_up)
        life.on_stop(journal.close)
        life.spawn("event stream", keep_events(command_bus))
        life.spawn("leadership", leadership.run())
        life.spawn("loop", loop.run())
        life.spawn("write behind", write_behind(loop, store, config.tree, region))
        life.spawn("rules", rulebook.run())
        life.spawn("demands", child.run())
        life.spawn("peaks", peaks.run())
        life.spawn("stages", stages.run())
        life.spawn("learned", learned.run())
        life.spawn("dark regions", dark.run())
        life.spawn("demotions", demoting.run())
        await life.until_stopped()


def main() -> int:
    """Exit code of the service."""
    match sys.argv[1:]:
        case ["--check", file]:
            return check(Path(file))
        case _:
            return run("easyrider-policy", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
