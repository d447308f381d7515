"""Storing within a deadline: a disk that hangs costs half a second, not the dead-man."""

from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as NotInTime

from easyrider import log
from easyrider_guardian.adapters.files import StateFolder
from easyrider_guardian.adapters.worker import Worker
from easyrider_guardian.core.records import Baseline, HoldOrder, Standing

DEADLINE_S = 0.5


class Keeper:
    """Standing and baselines on disk, or the word that they are not: then limits may only fall."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._worker = Worker("state folder")
        self._log = log.get("keeper")

    def keep(self, standing: Standing) -> bool:
        """Whether the standing is on disk."""
        return self._stored("state", lambda: self._folder.save_standing(standing))

    def keep_baselines(self, gpus: Mapping[str, Baseline]) -> bool:
        """Whether the baselines are on disk; none left removes the file."""
        if gpus:
            return self._stored("baselines", lambda: self._folder.save_baselines(gpus))
        return self._stored("baselines", self._folder.remove_baselines)

    def keep_hold(self, hold: HoldOrder | None) -> bool:
        """Whether the hold is on disk, or off it."""
        if hold is not None:
            return self._stored("hold", lambda: self._folder.save_hold(hold))
        return self._stored("hold", self._folder.remove_hold)

    def _stored(self, what: str, call: Callable[[], None]) -> bool:
        if self._worker.busy:
            log.bounded(self._log, "slow", 10).error(
                "the state folder hangs; limits may only fall", what=what
            )
            return False
        future = self._worker.submit(call)
        try:
            future.result(DEADLINE_S)
        except NotInTime:
            log.bounded(self._log, "slow", 10).error(
                "the state folder hangs; limits may only fall", what=what
            )
            return False
        except OSError as fault:
            log.bounded(self._log, what, 10).error(
                "cannot store; limits may only fall", what=what, fault=str(fault)
            )
            return False
        return True
