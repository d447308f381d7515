"""Hear plans and events with nothing of EasyRider installed: `pip install 'nats-py[nkeys]' msgpack`, then
`python hello.py nats://127.0.0.1:4222 integration.nk`. Subjects and fields: docs/subjects.md, docs/events.md."""

import asyncio
import json
import sys

import msgpack
import nats


async def main(url: str, seed_file: str | None = None) -> None:
    bus = await nats.connect(url, nkeys_seed=seed_file, inbox_prefix="_INBOX_integration")
    plans = await bus.subscribe("easyrider.v1.plan.>")  # now and then gone: a newer one is always better
    kept = await bus.jetstream().subscribe("easyrider.v1.event.>", ordered_consumer=True)  # from the first on
    await asyncio.gather(told(plans, show_plan), told(kept, show_event))


async def told(subscription, show) -> None:
    async for message in subscription.messages:
        show(message.data)


def show_plan(data: bytes) -> None:
    for domain in msgpack.unpackb(data)["domains"]:
        watts = "unknown" if domain["observed_w"] is None else f"{domain['observed_w']:.0f} W"
        print(f"{domain['domain']}: {watts} of {domain['target_w']:.0f} W", flush=True)


def show_event(data: bytes) -> None:
    event = json.loads(data)
    print(event["time"], event["type"], event["data"], flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
