"""Hear plans and events with nothing of EasyRider installed: `pip install 'nats-py[nkeys]' msgpack`, then
`python hello.py nats://127.0.0.1:4222 integration.nk`. Subjects and fields: docs/subjects.md, docs/events.md."""

import asyncio
import os
import ssl
import sys
from pathlib import Path

import msgpack
import nats
import nkeys


async def main(url, seed_file=None, ca_file=None, *own_certificate) -> None:
    tls = ssl.create_default_context(cafile=ca_file) if ca_file else None
    if own_certificate:
        tls.load_cert_chain(*own_certificate)
    options = {"nkeys_seed": seed_file, "tls": tls, "error_cb": passed_over}
    bus = await asyncio.wait_for(nats.connect(url, inbox_prefix="_INBOX_integration", **options), 10.0)
    plans = await bus.subscribe("easyrider.v1.plan.>")  # now and then gone: a newer one is always better
    kept = await bus.jetstream().subscribe("easyrider.v1.event.>", ordered_consumer=True)  # from the first on
    await asyncio.gather(told(plans, show_plan), told(kept, lambda data: print(data.decode(), flush=True)))


async def passed_over(_fault) -> None:
    """The library tries again for ever; after ten seconds we do not."""


async def told(subscription, show) -> None:
    async for message in subscription.messages:
        show(message.data)


def show_plan(data: bytes) -> None:
    for domain in msgpack.unpackb(data)["domains"]:
        watts = "unknown" if domain["observed_w"] is None else f"{domain['observed_w']:.0f} W"
        print(f"{domain['domain']}: {watts} of {domain['target_w']:.0f} W", flush=True)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 6:
        sys.exit("usage: hello.py URL [SEED_FILE [CA_FILE [CERTIFICATE KEY]]]")
    if missing := [name for name in sys.argv[2:] if not Path(name).is_file()]:
        sys.exit(f"hello.py: there is no file {', '.join(missing)}")
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (BrokenPipeError, KeyboardInterrupt):  # whoever read is gone, as `head` is, or had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, nkeys.NkeysError, nats.errors.Error, TimeoutError) as fault:
        sys.exit(f"hello.py: {sys.argv[1]}: {str(fault) or 'no bus there lets us in within 10 s'}")
