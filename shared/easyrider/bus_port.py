"""What a bus is to the services: say, hear, ask, answer; and what can go wrong with it. No client library here."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from easyrider.errors import EasyRiderError
from easyrider.messages import Answer, Ask, Message

M_contra = TypeVar("M_contra", bound=Message, contravariant=True)


class BusDown(EasyRiderError):
    """The message was not sent and is not kept: no connection, or the server takes no more."""

    def __init__(self, subject: str, why: str) -> None:
        self.subject, self.why = subject, why
        super().__init__(f"nothing sent on {subject}: {why}")


class BusShut(BusDown):
    """The server is there, and lets no user with this key in; whoever waits for ever tries again."""


class BusRefused(EasyRiderError):
    """The server does not allow this user what it asked for."""

    def __init__(self, subject: str, why: str) -> None:
        self.subject, self.why = subject, why
        super().__init__(
            f"{subject} is not allowed to this user of the bus: do region, node and seed_file belong together? "
            f"({why})"
        )


class BusClosed(EasyRiderError):
    """The client gave up for good; a process without its bus must end and be started anew."""


class NoAnswer(EasyRiderError):
    """Nobody answered in time; whether the question was heard is not known."""

    def __init__(self, subject: str, why: str) -> None:
        self.subject, self.why = subject, why
        super().__init__(f"no answer on {subject}: {why}")


class EventNotKept(EasyRiderError):
    """An event was sent, but no stream said that it keeps it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where and when a message came: the receiver's CLOCK_MONOTONIC as its handler begins.

    A backlog of our own therefore counts as age, like a slow network does.
    """

    subject: str
    mono_ns: int
    reply: str = ""  # where an answer is awaited


Handler = Callable[[Any, Arrival], Awaitable[None] | None]
Listener = Callable[[bytes, Arrival], Awaitable[None] | None]
"""Takes the bytes of one message as they came."""
Crowd = list[tuple[bytes, bytes]]
"""Messages in the order in which they came: subject and bytes of each."""
CrowdListener = Callable[[Crowd, int], None]
"""Takes a crowd, and the receiver's CLOCK_MONOTONIC in ns at which it was there."""
Answerer = Callable[[Ask], Awaitable[Answer | None]]
"""None: not ours to answer, because another leads or another tree is asked."""


class BusPort(Protocol):
    """Said by `easyrider.bus.Bus` and `easyrider.testing.FakeBus`; both take the same exam."""

    @property
    def connected(self) -> bool:
        """Whether a message said now would leave."""
        ...

    async def subscribe(
        self, pattern: str, types: tuple[type[Message], ...], handler: Handler, *, keep: int | None = None
    ) -> None:
        """Have every message on `pattern` handled, in order. Returns when the server knows. Raises `BusRefused`.

        Malformed bytes are counted by reason, logged at a bounded rate and dropped. `keep`: while the handler
        lags, only so many newest messages per subject wait for it; older ones are dropped and counted.
        """
        ...

    async def listen(self, pattern: str, listener: Listener) -> None:
        """Have the bytes of every message on `pattern` handed over, unread: events, recordings. Raises `BusRefused`."""
        ...

    async def listen_to_crowd(self, pattern: str, listener: CrowdListener) -> None:
        """The same of senders that say thousands a second: what comes together is handed over together.

        Nothing is kept back: what lags behind waits at the server, and shows its age.
        """
        ...

    async def publish(self, subject: str, message: Message) -> None:
        """Say it now. Raises `BusDown` when it cannot leave now; never waits."""
        ...

    def publish_together(self, words: Sequence[tuple[str, Message]]) -> bool:
        """Say several in one go, in their order; False, and nothing is said, where they have to go one by one."""
        ...

    async def publish_event(
        self, kind: str, region: str, data: dict[str, Any], *, source: str, ack_s: float | None = None
    ) -> None:
        """Say a CloudEvent on `event.<kind>.<region>`. With `ack_s`, wait so long for the stream's word."""
        ...

    async def ask(self, region: str, ask: Ask, deadline_s: float) -> Answer:
        """The leader's answer. Raises `NoAnswer` after `deadline_s` or where it makes no sense, `BusDown` unsent."""
        ...

    async def answer(self, region: str, answerer: Answerer) -> None:
        """Answer what is asked of `region`, one after the other. Returns when the server knows; see `subscribe`."""
        ...
