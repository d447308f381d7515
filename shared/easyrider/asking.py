"""Question and answer over the bus: the admin API asks a scope, the leader of that scope answers, others are silent."""

from abc import ABC, abstractmethod

from easyrider import subjects, wire
from easyrider.bus_port import Answerer, Arrival, Handler, NoAnswer
from easyrider.errors import MalformedMessage
from easyrider.messages import Answer, Ask, Message

_INBOX = "_INBOX_"


class Asking(ABC):
    """The two verbs, for a bus that can say, hear and wait for bytes in its inbox."""

    async def ask(self, region: str, ask: Ask, deadline_s: float) -> Answer:
        """See `BusPort`."""
        subject = subjects.ask(region)
        data = await self._request(subject, wire.encode(ask), deadline_s)
        try:
            answer = wire.decode(data, (Answer,))
        except MalformedMessage as fault:
            raise NoAnswer(subject, f"what came is no answer ({fault})") from fault
        assert isinstance(answer, Answer)
        if (answer.tree, answer.region) != (ask.tree, ask.region):
            raise NoAnswer(subject, f"tree {answer.tree} region {answer.region} answered in another's place")
        return answer

    async def answer(self, region: str, answerer: Answerer) -> None:
        """See `BusPort`."""

        async def on_ask(ask: Ask, arrival: Arrival) -> None:
            if not arrival.reply.startswith(_INBOX):
                return  # nobody waits, or an answer is wanted where orders are given
            answer = await answerer(ask)
            if answer is not None:
                await self.publish(arrival.reply, answer)

        await self.subscribe(subjects.ask(region), (Ask,), on_ask)

    @abstractmethod
    async def publish(self, subject: str, message: Message) -> None:
        """See `BusPort`."""

    @abstractmethod
    async def subscribe(
        self, pattern: str, types: tuple[type[Message], ...], handler: Handler, *, keep: int | None = None
    ) -> None:
        """See `BusPort`."""

    @abstractmethod
    async def _request(
        self, subject: str, body: bytes, wait_s: float, headers: dict[str, str] | None = None
    ) -> bytes:
        """The first thing said in reply. Raises `NoAnswer`, `BusDown`."""
