"""Which groups are due for a fit of their level's parameters, and what came back."""

from dataclasses import dataclass

import numpy as np

from easyrider_forecaster.core.arrays import Array
from easyrider_forecaster.core.groups import Groups
from easyrider_forecaster.core.level import LevelParameters
from easyrider_forecaster.core.outlook import Outlook

LEAST_VALUES = 40
_AGAIN_AFTER = 300
_DRIFT_AFTER = 60
_BATCH = 16


@dataclass(frozen=True, slots=True)
class FitRequest:
    """One-second means of one group without gaps, watts per GPU."""

    job: str
    age: int  # of the history, to recognise that it was emptied meanwhile
    values_w: Array


@dataclass(frozen=True, slots=True)
class FitResult:
    """Parameters, or why there are none."""

    job: str
    age: int
    parameters: LevelParameters | None
    fault: str = ""


class FitDesk:
    """Asks for the groups that wait longest, every 300 s or on drift, and hands results to the recursion."""

    def __init__(self) -> None:
        self.refused = 0
        self._asked_at: dict[str, tuple[int, int]] = {}  # job -> (its age, block) at the last request

    def due(self, groups: Groups, outlook: Outlook) -> list[FitRequest]:
        """The next batch; empty where nothing is due. What is returned counts as asked."""
        history, drifted = outlook.history, outlook.levels.drifted()
        waiting: list[tuple[int, str, int]] = []
        for group in groups.known.values():
            if group.kind != "job" or group.row >= len(history.age):
                continue  # no job, or one whose first sample is still to come
            age = int(history.age[group.row])
            asked_age, asked_block = self._asked_at.get(group.id, (age, -_AGAIN_AFTER))
            since = history.block - asked_block if age >= asked_age else _AGAIN_AFTER
            if age >= 60 and (since >= _AGAIN_AFTER or (since >= _DRIFT_AFTER and drifted[group.row])):
                waiting.append((-since, group.id, group.row))
        requests = []
        for _, job, row in sorted(waiting)[:_BATCH]:
            age, values_w = int(history.age[row]), history.gap_free_tail(row)
            self._asked_at[job] = (age, history.block)
            if len(values_w) >= LEAST_VALUES and np.ptp(values_w) > 0:
                requests.append(FitRequest(job, age, values_w))
        self._asked_at = {job: asked for job, asked in self._asked_at.items() if groups.job(job)}
        return requests

    def take(self, results: list[FitResult], groups: Groups, outlook: Outlook) -> None:
        """Use what was fitted; a job that ended or began anew meanwhile gets nothing."""
        for result in results:
            group = groups.job(result.job)
            if group is None or outlook.history.age[group.row] < result.age:
                continue
            if result.parameters is None or not outlook.levels.take(group.row, result.parameters):
                self.refused += 1
