"""A recording made without processes: a wired coordinator and its boxes, and all that was heard and said by it."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "policy" / "wiring"))

from wired_site import REGION, TICK_S, Wired

from easyrider import wire
from easyrider.bus_port import Arrival
from easyrider.tree_reader import dump
from easyrider_policy.handlers import Desk
from easyrider_recorder.adapters.segment import Segment
from easyrider_recorder.core.framing import Record
from easyrider_recorder.core.places import hour_of

UNIX_NS = 1_767_960_000_000_000_000


class HeardDesk(Desk):
    """Keeps every message with its arrival before it is handled."""

    kept: list[Record]

    def _keep(self, message: Any, arrival: Arrival) -> None:
        body = wire.encode(message)
        self.kept.append(Record(arrival.subject, arrival.mono_ns, UNIX_NS + arrival.mono_ns, body))

    def on_frame(self, frame: Any, arrival: Arrival) -> None:
        self._keep(frame, arrival)
        super().on_frame(frame, arrival)

    def on_state(self, message: Any, arrival: Arrival) -> None:
        self._keep(message, arrival)
        super().on_state(message, arrival)

    def on_meter(self, reading: Any, arrival: Arrival) -> None:
        self._keep(reading, arrival)
        super().on_meter(reading, arrival)

    def on_job(self, event: Any, arrival: Arrival) -> None:
        self._keep(event, arrival)
        super().on_job(event, arrival)


class Recorded(Wired):
    """The same site, with a recorder beside its coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = HeardDesk(self.picture, self.coordinator, self.scribe.note, self.scribe.meant)
        self.desk.kept = self.kept = []  # type: list[Record]
        self.metered = True
        self._told = 0

    async def seconds(self, count: float) -> None:
        for _ in range(round(count / TICK_S)):
            await self.look()
            said, at_ns = self.bus.exchange.said, int(self.now_s * 1e9)
            for subject, body in said[self._told :]:
                self.kept.append(Record(subject, at_ns, UNIX_NS + at_ns, body))
            self._told = len(said)

    def write(self, folder: Path) -> Path:
        """The recording as files, the rules first."""
        first = self.kept[0]
        rules = Record(f"rules.site.rules.{REGION}", first.mono_ns, first.unix_ns, dump(self.picture.rules))
        told = [rules, *self.kept]
        segment = Segment.create(folder / REGION, hour_of(first.unix_ns), {"boot_id": "boot-r"})
        for at in range(0, len(told), 500):
            segment.write(told[at : at + 500], 0)
        segment.close()
        return folder


async def a_while() -> Recorded:
    """Two jobs on two nodes of a rack that cannot give both what they want; then the supply shrinks for a while."""
    site = Recorded()
    await site.seconds(3)
    for name in "ab":
        site.starts(f"job-{name}", name)
    await site.seconds(42)
    return site
