"""Plans and kept events of a stack of `make run`: `python twenty.py nats://127.0.0.1:PORT SEED_FILE`."""

import asyncio
import sys

import msgpack
import nats


async def main(url, seed_file=None) -> None:
    async def show_plan(message) -> None:
        for domain in msgpack.unpackb(message.data)["domains"]:
            print(domain["domain"], domain["observed_w"], "W of", domain["target_w"], "W", flush=True)

    async def show_event(message) -> None:
        print(message.data.decode(), flush=True)

    bus = await nats.connect(url, nkeys_seed=seed_file, inbox_prefix="_INBOX_integration")
    await bus.subscribe("easyrider.v1.plan.>", cb=show_plan)
    await bus.jetstream().subscribe("easyrider.v1.event.>", cb=show_event, ordered_consumer=True)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
