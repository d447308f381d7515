"""The recorder: keeps what is said on the bus, as it was said. It says nothing, so it can disturb nothing."""

import sys
from pathlib import Path
from typing import Any

from easyrider import __version__, log, service, subjects
from easyrider.bus import Bus
from easyrider.errors import BadConfig
from easyrider.life import Life
from easyrider.store import Store
from easyrider_recorder.adapters.shelf import Shelf
from easyrider_recorder.adapters.writer import Writer
from easyrider_recorder.config import PREFIX, Config
from easyrider_recorder.handlers import Desk, RulesWatch

_MIB = 1024 * 1024
STALE_S = 10.0


async def start(config: Config, life: Life) -> None:
    """Wire one recorder."""
    shelf = Shelf(config.folder, round(config.keep_mib * _MIB), round(config.min_free_mib * _MIB))
    try:
        shelf.open()
        torn = shelf.newest_damage()
    except OSError as fault:
        raise BadConfig("settings", [f"folder cannot be written in: {fault}"]) from fault
    for damage in torn:
        log.get("recorder").warning("an earlier run ended in the middle of a block", lost=str(damage))
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def about(region: str) -> dict[str, Any]:
        said = {"region": region, "tree": config.tree, "boot_id": boot_id}
        return {**said, "recorder": config.region, "easyrider": __version__}

    writer = Writer(shelf, about, round(config.queue_mib * _MIB))
    desk = Desk(writer)
    async with (
        Bus.connect(config.nats_url, name="recorder", seed_file=config.seed_file, tls=config.tls) as bus,
        Store.connect(config.redis_url, login=config.login, tls=config.tls) as store,
    ):
        writer.start()
        life.on_stop(writer.stop)
        for kind in config.kinds:
            await bus.listen(subjects.every(kind), desk.on_message)
        life.flag("bus", lambda: bus.connected)
        life.flag("disk", lambda: writer.fault is None)
        life.flag("writer", lambda: writer.writes)
        life.watch("messages", desk.age_s, STALE_S)
        life.spawn("rules", RulesWatch(store, writer, config.tree).run())
        await life.until_stopped()


def main() -> int:
    """Entry point of `easyrider-recorder`."""
    return service.run("easyrider-recorder", Config, PREFIX, start)


if __name__ == "__main__":
    sys.exit(main())
