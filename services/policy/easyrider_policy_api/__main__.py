"""The REST admin API: config, open, introduce, wait."""

import os
import socket
import sys
import time

from easyrider import subjects
from easyrider.admin_store import AdminStore
from easyrider.bus import Bus
from easyrider.journal import Journal
from easyrider.life import Life
from easyrider.messages import Plan
from easyrider.service import run
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_policy_api.adapters.first_token import FirstToken
from easyrider_policy_api.adapters.patience import Patience
from easyrider_policy_api.adapters.web_server import bound, serving
from easyrider_policy_api.app import build
from easyrider_policy_api.auditor import Auditor
from easyrider_policy_api.config import PREFIX, Config
from easyrider_policy_api.coordinator_link import CoordinatorLink
from easyrider_policy_api.core import peers
from easyrider_policy_api.gatekeeper import Gatekeeper
from easyrider_policy_api.guard import Guard
from easyrider_policy_api.house import House
from easyrider_policy_api.late_bus import LateBus
from easyrider_policy_api.once import Once
from easyrider_policy_api.pulse import Pulse
from easyrider_policy_api.rules_desk import RulesDesk


async def start(config: Config, life: Life) -> None:
    """Wire one API. It answers before bus and store are there, and says what is missing."""
    os.nice(config.niceness)
    door, bus = bound(config.address, config.address_file), LateBus()
    async with AdminStore.connect(config.redis_url, login=config.login, tls=config.tls) as store:
        source = f"policy-api/{socket.gethostname()}.{os.getpid()}"
        auditor = Auditor(Journal(config.state_dir), bus, config.region, source)
        link = CoordinatorLink(bus, config.tree, config.region, config.ask_deadline_s, time.monotonic)
        pulse = Pulse(store, config.tree)
        gatekeeper = Gatekeeper(
            store,
            config.tree,
            first=FirstToken(config.bootstrap_file, config.state_dir),
            per_s=config.token_requests_per_s,
            failures_per_min=config.login_failures_per_min,
            now_s=time.time,
            mono_s=time.monotonic,
        )
        house = House(
            tree=config.tree,
            region=config.region,
            store=store,
            gatekeeper=gatekeeper,
            link=link,
            rules=RulesDesk(store, config.tree, link, auditor),
            auditor=auditor,
            once=Once(store, config.tree),
            body_limit_bytes=config.body_limit_bytes,
            body_timeout_s=config.body_timeout_s,
            healthy=lambda: {"bus": bus.connected, "store": pulse.beats, "audit": auditor.whole},
            model_file=None if config.estimator_file is None else ModelFile(config.estimator_file),
        )
        guard = Guard(
            build(house),
            auditor,
            proxies=peers.networks(config.proxies),
            per_s=config.peer_requests_per_s,
            body_limit_bytes=config.body_limit_bytes,
            mono_s=time.monotonic,
        )
        life.flag("bus", lambda: bus.connected)
        life.flag("store", lambda: pulse.beats)
        life.flag("audit", lambda: auditor.whole)
        life.on_stop(auditor.close)
        life.spawn("pulse", pulse.run())
        life.spawn("first token", gatekeeper.follow())
        async with (
            serving(
                guard,
                door,
                certificate=config.server_certificate_file,
                key=config.server_key_file,
                patience=Patience(
                    head_timeout_s=config.head_timeout_s,
                    peer_connections=config.peer_connections,
                    proxies=peers.networks(config.proxies),
                ),
                spawn=life.spawn,
            ),
            Bus.connect(config.nats_url, name="api", seed_file=config.seed_file, tls=config.tls) as found,
        ):
            bus.came(found)
            await found.subscribe(subjects.every("plan"), (Plan,), link.on_plan, keep=1)
            await life.until_stopped()


def main() -> int:
    """Exit code of the service."""
    return run("easyrider-policy-api", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
