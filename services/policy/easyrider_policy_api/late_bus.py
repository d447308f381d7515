"""A bus that may still come: until then nothing leaves, and whoever asks is told so at once."""

from typing import Any

from easyrider import subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider.messages import Answer, Ask


class LateBus:
    """What of a bus the API uses; `came` hands it the real one."""

    def __init__(self) -> None:
        self._bus: BusPort | None = None

    def came(self, bus: BusPort) -> None:
        """From here on it is this one."""
        self._bus = bus

    @property
    def connected(self) -> bool:
        """See `BusPort`."""
        return self._bus is not None and self._bus.connected

    async def ask(self, region: str, ask: Ask, deadline_s: float) -> Answer:
        """See `BusPort`."""
        return await self._there(subjects.ask(region)).ask(region, ask, deadline_s)

    async def publish_event(
        self, kind: str, region: str, data: dict[str, Any], *, source: str, ack_s: float | None = None
    ) -> None:
        """See `BusPort`."""
        bus = self._there(subjects.event(kind, region))
        await bus.publish_event(kind, region, data, source=source, ack_s=ack_s)

    def _there(self, subject: str) -> BusPort:
        if self._bus is None:
            raise BusDown(subject, "the bus was not reached since this API started")
        return self._bus
