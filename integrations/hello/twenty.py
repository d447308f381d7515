"""Plans and kept events of a stack of `make run`: `python twenty.py nats://127.0.0.1:PORT SEED_FILE`."""

import asyncio
import signal
import sys

import msgpack
import nats


async def main(url, seed_file=None) -> None:
    async def show_plan(message) -> None:
        for domain in msgpack.unpackb(message.data)["domains"]:
            print(domain["domain"], domain["observed_w"], "W of", domain["target_w"], "W", flush=True)

    async def show_event(message) -> None:
        print(message.data.decode(), flush=True)

    async def tries_again(_fault) -> None: ...

    options = {"nkeys_seed": seed_file, "inbox_prefix": "_INBOX_integration", "error_cb": tries_again}
    bus = await asyncio.wait_for(nats.connect(url, **options), 10)
    await bus.subscribe("easyrider.v1.plan.>", cb=show_plan)
    await bus.jetstream().subscribe("easyrider.v1.event.>", cb=show_event, ordered_consumer=True)
    await asyncio.Event().wait()


signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever read is gone, as `head` is
sys.excepthook = lambda kind, why, _: sys.stderr.write(f"twenty.py: {kind.__name__} at {sys.argv[1]} {why}\n")
asyncio.run(main(*sys.argv[1:3] or sys.exit(f"usage: {__doc__}")))
