"""How a frame leaves the thread that made it."""

from collections.abc import Callable
from typing import Protocol

from easyrider.speaking_link import SpeakingLink, head_of


class FrameWay(Protocol):
    """Takes frames from one thread at a time; never waits."""

    def open(self) -> None:
        """Begin, boards being found; more often does no harm."""
        ...

    def say(self, body: bytes) -> bool:
        """False, and the frame is lost, where it cannot leave now."""
        ...

    def tend(self) -> None:
        """To be called every second or so."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class OwnLink:
    """Straight to the bus, on a link of its own: no other thread wakes for a frame."""

    def __init__(self, link: SpeakingLink, subject: str) -> None:
        self._link, self._head = link, head_of(subject)

    def open(self) -> None:
        """See `FrameWay`: a link that nobody tends would be closed by the server."""
        self._link.open()

    def say(self, body: bytes) -> bool:
        """See `FrameWay`."""
        return self._link.say(self._head, body)

    def tend(self) -> None:
        """See `FrameWay`."""
        self._link.tend()

    def close(self) -> None:
        """See `FrameWay`."""
        self._link.close()


class ThroughTheLoop:
    """Over the connection of the event loop, for a bus that is reached by websocket."""

    def __init__(self, hand: Callable[[bytes], None]) -> None:
        self._hand = hand

    def open(self) -> None:
        """The connection of the loop is opened by others."""

    def say(self, body: bytes) -> bool:
        """See `FrameWay`; whether it left is for the loop to count."""
        self._hand(body)
        return True

    def tend(self) -> None:
        """Nothing of its own to look after."""

    def close(self) -> None:
        """And closed by them."""
