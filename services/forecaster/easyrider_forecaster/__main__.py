"""Wiring of the forecaster."""

from easyrider.bus import Bus
from easyrider.errors import BadConfig, BadTree
from easyrider.life import Life
from easyrider.service import run
from easyrider.store import Store
from easyrider_forecaster.accuracy_desk import AccuracyDesk
from easyrider_forecaster.adapters.fit_pool import FitPool
from easyrider_forecaster.config import PREFIX, Config
from easyrider_forecaster.core.engine import Engine
from easyrider_forecaster.fingerprint_desk import FingerprintDesk
from easyrider_forecaster.handlers import Desk

_STALE_S = 3.0


async def start(config: Config, life: Life) -> None:
    """Open, introduce, wait."""
    engine = Engine(nameplate_w=config.gpu_max_w, beside=True)
    pool = FitPool() if config.fits else None
    async with (
        Bus.connect(config.nats_url, name="forecaster", seed_file=config.seed_file, tls=config.tls) as bus,
        Store.connect(config.redis_url, login=config.login, tls=config.tls) as store,
    ):
        desk = Desk(bus=bus, engine=engine, region=config.region, tree=config.tree, pool=pool)
        if config.tree_file is not None:
            try:
                desk.read_rules(config.tree_file)
            except BadTree as fault:
                raise BadConfig(fault.source, fault.faults) from fault
            except OSError as fault:
                raise BadConfig("tree_file", [str(fault)]) from fault
        await desk.subscribe()
        life.watch("frames", desk.silence_s, _STALE_S)
        life.flag("bus", lambda: bus.connected)
        life.spawn("speak", desk.speak(config.control_period_s))
        life.spawn("compile", desk.compile(config.compiled_from))
        life.spawn("rules", desk.follow_rules(store))
        keeper = FingerprintDesk(shelf=engine.shelf, store=store, tree=config.tree)
        life.spawn("fingerprints", keeper.keep())
        ledger = AccuracyDesk(engine=engine, store=store, tree=config.tree, region=config.region)
        life.spawn("accuracy", ledger.keep())
        if pool is not None:
            life.spawn("fits", desk.fit())
            life.on_stop(pool.close)
        await life.until_stopped()


def main() -> int:
    """The console script."""
    return run("easyrider-forecaster", Config, PREFIX, start)


if __name__ == "__main__":
    raise SystemExit(main())
