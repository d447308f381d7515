"""What was learned in the last run back to boards and jobs as they are heard, and from them to disk."""

import asyncio

from easyrider import log
from easyrider_policy.adapters.learned_file import LearnedFile
from easyrider_policy.core.learned_kept import Learned, gathered, recall
from easyrider_policy.core.observe import Observation
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
LOOK_EVERY_S = 1.0
KEPT_EVERY = 60
"""Looks between two writes: a crash costs a minute of learning."""
GIVEN_UP_AFTER = 300
"""Looks after which what nobody has claimed is forgotten: a job that comes later is another."""


class LearnedKeeper:
    """Has `learned.json` follow one scope's boards and jobs."""

    def __init__(self, picture: Picture, file: LearnedFile) -> None:
        self._picture, self._file = picture, file
        self._waiting, self._looks = file.read(), 0
        self._seen: Observation | None = None  # another comes with every board and job

    async def run(self) -> None:
        """For ever; a disk that does not take it is asked again."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()
            if self._looks % KEPT_EVERY == 0:
                await self.keep()

    def look(self) -> None:
        """Give those that came since what was kept of them."""
        self._looks += 1
        if self._looks > GIVEN_UP_AFTER:
            self._waiting = Learned()
        if self._picture.observation is not self._seen:
            self._seen = self._picture.observation
            recall(self._seen, self._waiting)

    async def keep(self) -> None:
        """Write what is known now, and beside it what still waits for its board or job."""
        now = gathered(self._picture.observation)
        waiting = self._waiting
        learned = Learned(boards=waiting.boards | now.boards, jobs=waiting.jobs | now.jobs)
        if not learned.boards and not learned.jobs:
            return
        try:
            await asyncio.to_thread(self._file.keep, learned)
        except OSError as fault:
            log.bounded(_LOG, "learned", 60.0).error("what was learned was not kept", fault=str(fault))
