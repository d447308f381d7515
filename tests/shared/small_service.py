"""A service of a few lines, run as a process by the tests of what every service gets."""

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider import log, service
from easyrider.bus import Bus
from easyrider.config import setting
from easyrider.life import Life


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the test tells it to do."""

    act: Literal["run", "task fails", "start fails", "freeze", "stuck", "callback fails", "no bus", "end"] = (
        setting("run", help="what happens")
    )
    data_file: Path | None = setting(None, help="its age is the age of the data")
    health_address: str = setting("127.0.0.1:0", help="where /live, /ready and /metrics are")
    health_file: Path | None = setting(None, help="the address is written there")
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="from which level on")
    log_format: Literal["json", "console"] = setting("json", help="for machines or people")


async def start(config: Config, life: Life) -> None:
    """Do as told."""

    def age_s() -> float | None:
        if config.data_file is None or not config.data_file.exists():
            return None
        return time.time() - config.data_file.stat().st_mtime

    async def task() -> None:
        try:
            await asyncio.sleep(0.05)
            if config.act == "task fails":
                raise RuntimeError("the task is broken, says nats://anna:geheim@example")
            await asyncio.sleep(60)
        finally:
            print("task ends", flush=True)

    async def late() -> None:
        await asyncio.sleep(0.01)
        print("callback 2", flush=True)

    if config.act == "start fails":
        raise RuntimeError("no start")
    if config.act == "no bus":
        async with Bus.connect("nats://127.0.0.1:1", name="test"):
            return
    if config.data_file is not None:
        life.watch("data", age_s, 3.0)
    life.spawn("task", task())
    life.on_stop(lambda: print("callback 1", flush=True))
    if config.act == "callback fails":
        life.on_stop(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    if config.act == "stuck":
        life.on_stop(lambda: asyncio.sleep(60))
    life.on_stop(late)
    if config.act == "freeze":
        asyncio.get_running_loop().call_later(0.5, time.sleep, 5.0)
    log.get("test").info("running", password_in="redis://:geheim@example/0")
    print("up", flush=True)
    if config.act == "end":
        return
    await life.until_stopped()
    print("closing", flush=True)


if __name__ == "__main__":
    sys.exit(service.run("small-service", Config, "SMALL_", start))
