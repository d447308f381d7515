"""A loop that is busy with other things still lets a subscription take many messages in a turn."""

import asyncio
import time
from dataclasses import dataclass

import pytest

from easyrider import log, subjects, wire
from easyrider.delivery import Delivery, RawDelivery
from easyrider.messages import Hold

HOLD = Hold(tree="t", region="r", node="n", epoch=1, seq=1, nonce=1, ttl_s=5.0)
BUSY_S = 0.01


@dataclass
class Raw:
    subject: str
    data: bytes
    reply: str = ""


@pytest.mark.parametrize("raw", [False, True])
async def test_many_messages_are_taken_in_a_turn_of_a_loop_whose_turns_are_long(raw: bool) -> None:
    taken: list[object] = []
    logger, message = log.get("test"), Raw(subjects.command("r", "n"), wire.encode(HOLD))
    take = lambda what, _: taken.append(what)  # noqa: E731
    delivery = RawDelivery(logger, take) if raw else Delivery(logger, (Hold,), take)

    async def busy() -> int:
        turns = 0
        while len(taken) < 200:
            time.sleep(BUSY_S)  # other work of this loop
            turns += 1
            await asyncio.sleep(0)
        return turns

    async def deliver() -> None:
        for _ in range(200):
            await delivery.on_message(message)

    turns, _ = await asyncio.gather(busy(), deliver())

    assert turns < 40, "one message a turn would take 200"
