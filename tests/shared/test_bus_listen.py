"""What a bus promises to those who take bytes as they come: the fake and the real one take the same exam."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from easyrider import subjects, wire
from easyrider.bus import Bus
from easyrider.bus_port import Arrival, BusPort
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold
from easyrider.testing import Exchange, FakeBus

Open = Callable[[], AbstractAsyncContextManager[BusPort]]
Eventually = Callable[..., Awaitable[None]]


def hold(seq: int, node: str = "n1") -> Hold:
    return Hold(tree="site", region="r1", node=node, epoch=1, seq=seq, nonce=3, ttl_s=5.0)


@pytest.fixture(params=["fake", "real"])
def open_bus(request: pytest.FixtureRequest) -> Open:
    if request.param == "fake":
        exchange = Exchange()
        return lambda: FakeBus.connect(exchange)
    server: ServerProcess = request.getfixturevalue("nats")
    return lambda: Bus.connect(server.url, name="test", wait_s=10)


async def test_a_listener_gets_the_bytes_as_they_were_said_and_the_next_ones_after_a_failure(
    open_bus: Open, eventually: Eventually
) -> None:
    heard: list[tuple[str, bytes]] = []

    def listener(data: bytes, arrival: Arrival) -> None:
        if not heard:
            heard.append(("failed", b""))
            raise ValueError("on purpose")
        heard.append((arrival.subject, data))

    async with open_bus() as bus, open_bus() as other:
        await other.listen(subjects.everything(), listener)

        await bus.publish(subjects.command("r1", "n1"), hold(1))
        await bus.publish(subjects.command("r1", "n2"), hold(2, "n2"))
        xid = {"node": "n1", "gpu": "GPU-1", "xid": 79}
        await bus.publish_event("xid", "r1", xid, source="telemetry/n1")
        await eventually(lambda: len(heard) == 3)

    assert heard[1] == (subjects.command("r1", "n2"), wire.encode(hold(2, "n2")))
    assert heard[2][0] == subjects.event("xid", "r1")
