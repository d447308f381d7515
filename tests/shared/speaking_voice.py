"""A link that only speaks, tended as a node would tend it, and all its news."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from easyrider import subjects
from easyrider.bus_greeting import Caller
from easyrider.messages import Hold
from easyrider.speaking_link import LinkNews, SpeakingLink, head_of
from easyrider.wire import encode

SUBJECT = subjects.command("r1", "n1")
HEAD = head_of(SUBJECT)


def hold(seq: int, size: int = 0) -> bytes:
    return encode(
        Hold(tree="site", region="r1", node="n1", epoch=1, seq=seq, nonce=3, ttl_s=5.0, sig=bytes(size))
    )


class Voice:
    """A link, tended ten times as often as a node would, and all its news."""

    def __init__(self, url: str, **caller: object) -> None:
        self.news: list[LinkNews] = []
        self.link = SpeakingLink(url, Caller(name="telemetry.n1.frames", **caller), self.news.append)  # type: ignore[arg-type]
        self.link.open()

    def says(self, what: str) -> list[str]:
        return [news.why for news in self.news if news.what == what]

    async def until(self, condition: Callable[[], object], within_s: float = 5.0, tend: bool = True) -> None:
        end_s = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < end_s, f"not within {within_s} s; {self.news}"
            if tend:
                self.link.tend()
            await asyncio.sleep(0.02)

    async def stays(self, for_s: float, condition: Callable[[], object]) -> None:
        end_s = time.monotonic() + for_s
        while time.monotonic() < end_s:
            assert condition(), self.news
            self.link.tend()
            await asyncio.sleep(0.02)


MakeVoice = Callable[..., Voice]


@contextmanager
def voices() -> Iterator[MakeVoice]:
    """Makes voices, and closes them."""
    made: list[Voice] = []

    def make(url: str, **caller: object) -> Voice:
        made.append(Voice(url, **caller))
        return made[-1]

    yield make
    for each in made:
        each.link.close()
