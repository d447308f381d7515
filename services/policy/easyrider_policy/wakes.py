"""Jobs that have woken since a plan was made, and what they and those beside them get before the next whole one."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.giving_way import given_way
from easyrider_policy.core.records import Decision, Situation
from easyrider_policy.picture import Picture
from easyrider_policy.situations import asked_w

WHOLE_BELOW: Final = 1000
"""Jobs: a plan of so few takes a few milliseconds, and sees everything."""


def large(picture: Picture) -> bool:
    """Whether a plan of everything takes so long that others should not wait for it."""
    return picture.observation.layout.job_count >= WHOLE_BELOW


class Wakes:
    """Rows of the present layout's jobs; those of another one are void."""

    def __init__(self) -> None:
        self._rows: set[int] = set()

    def add(self, jobs: NDArray[np.int64]) -> None:
        """These woke."""
        self._rows.update(jobs.tolist())

    def planned(self) -> None:
        """A whole plan has seen them."""
        self._rows.clear()

    def answered(
        self, picture: Picture, decision: Decision | None, situation: Situation | None, now_s: float
    ) -> Decision | None:
        """The decision with what they get now; None where a whole plan must tell."""
        seen = picture.observation
        if decision is None or situation is None or not self._rows or not large(picture):
            return None
        woken = np.array(sorted(self._rows), dtype=np.int64)
        if woken[-1] >= seen.layout.job_count:
            return None
        now = replace(situation, now_s=now_s, limit_w=asked_w(picture))
        answer = given_way(seen, now, decision, woken, picture.rules.pacing)
        if answer is not None:
            self._rows.clear()
        return answer
