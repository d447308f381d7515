"""Bytes in from the bus, records out to the writer; and the rules in force, without which no plan can be replayed."""

import asyncio
import time

from easyrider import log
from easyrider.bus_port import Arrival
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_recorder.adapters.writer import Writer
from easyrider_recorder.core.framing import Record

_LOG = log.get("recorder")
RULES_SUBJECT = "rules"
"""Not a subject of the bus: the document as the store holds it, under `rules.<tree>.<region>`."""
ASK_EVERY_S, FIRST_EVERY_S = 10.0, 1.0
SAY_AGAIN_S = 600.0


class Desk:
    """Stamps and hands on; never waits."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.heard_s: float | None = None

    def on_message(self, body: bytes, arrival: Arrival) -> None:
        """One message, as it was said."""
        self.heard_s = arrival.mono_ns / 1e9
        self._writer.put(Record(arrival.subject, arrival.mono_ns, time.time_ns(), bytes(body)))

    def age_s(self) -> float | None:
        """Since anything was heard; None before."""
        return None if self.heard_s is None else time.monotonic() - self.heard_s


class RulesWatch:
    """Records the rules when they change, and every ten minutes, so that a later file can do without earlier ones.

    They are put beside the messages of every region that is recorded: each can be replayed alone.
    """

    def __init__(self, store: StorePort, writer: Writer, tree: str) -> None:
        self._store, self._writer, self._tree = store, writer, tree
        self._told: dict[str, tuple[int, float]] = {}  # region: version, when

    async def run(self) -> None:
        """For ever, beside the messages."""
        while True:
            await self.once(time.monotonic())
            await asyncio.sleep(ASK_EVERY_S if self._told else FIRST_EVERY_S)

    async def once(self, now_s: float) -> None:
        """Ask the store; what does not answer is asked again."""
        try:
            held = await self._store.load_rules(self._tree)
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(_LOG, "rules", 300.0).warning("rules are not recorded", fault=str(fault))
            return
        regions = self._writer.regions
        # A region that comes back begins another file, which needs them anew.
        self._told = {region: told for region, told in self._told.items() if region in regions}
        for region in regions if held is not None else ():
            version, at_s = self._told.get(region, (-1, -1e18))
            if held is None or (held[0] == version and now_s - at_s < SAY_AGAIN_S):
                continue
            self._told[region] = (held[0], now_s)
            subject = f"{RULES_SUBJECT}.{self._tree}.rules.{region}"
            self._writer.put(Record(subject, time.monotonic_ns(), time.time_ns(), held[1]))
