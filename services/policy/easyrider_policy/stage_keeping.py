"""What was seen of scopes from the last run into the book, and from the book to disk, beside the loop."""

import asyncio

import msgspec

from easyrider import log
from easyrider_policy.adapters.stages_file import StagesFile
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
LOOK_EVERY_S = 30.0


class StageKeeper:
    """Has `stages.json` follow the book of one scope: a crash costs half a minute of it."""

    def __init__(self, picture: Picture, file: StagesFile) -> None:
        self._picture, self._file = picture, file
        picture.stages = file.read()
        self._written = msgspec.json.encode(picture.stages)

    async def run(self) -> None:
        """For ever; a disk that does not take it is asked again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.once()

    async def once(self) -> None:
        """Write what has changed since the last time."""
        book = msgspec.json.encode(self._picture.stages)
        if book == self._written:
            return
        try:
            await asyncio.to_thread(self._file.keep, book)
            self._written = book
        except OSError as fault:
            log.bounded(_LOG, "stages", 60.0).error("what was seen of scopes was not kept", fault=str(fault))
