"""A message that finds its link at rest leaves at once: in order with the others, and under the same rules."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from easyrider import subjects
from easyrider.bus import Bus, BusDown
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold
from easyrider.testing.servers import nats_server

Eventually = Callable[..., Awaitable[None]]
SUBJECT = subjects.command("r1", "n1")


def hold(seq: int, sig: bytes = b"") -> Hold:
    return Hold(tree="site", region="r1", node="n1", epoch=1, seq=seq, nonce=3, ttl_s=5.0, sig=sig)


@pytest.fixture
def own_nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


async def test_alone_or_in_a_crowd_messages_leave_in_the_order_in_which_they_were_said(
    own_nats: ServerProcess, eventually: Eventually
) -> None:
    heard: list[int] = []
    async with (
        Bus.connect(own_nats.url, name="policy") as bus,
        Bus.connect(own_nats.url, name="actuator") as other,
    ):
        await other.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        for seq in range(0, 300, 3):
            await bus.publish(SUBJECT, hold(seq))  # finds the link at rest
            await bus.publish(SUBJECT, hold(seq + 1, sig=bytes(50_000)))  # these two do not
            await bus.publish(SUBJECT, hold(seq + 2))
            await asyncio.sleep(0.001)
        await eventually(lambda: len(heard) >= 300)

    assert heard == list(range(300))


@pytest.mark.parametrize("subject", ["", "a b", "a\r\nPUB b 0\r\n", "a\tb"])
async def test_a_subject_that_would_say_more_than_a_place_is_refused(
    own_nats: ServerProcess, subject: str
) -> None:
    async with Bus.connect(own_nats.url, name="policy") as bus:
        with pytest.raises(BusDown):
            await bus.publish(subject, hold(1))

        await bus.publish(SUBJECT, hold(2))
        assert bus.connected
