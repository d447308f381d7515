"""What training code announced: its iteration period, from the begins of one phase that comes once an iteration."""

from collections import deque

import numpy as np

_ONCE_AN_ITERATION = ("optimizer", "all_reduce", "forward")
_PAUSES = ("checkpoint", "evaluation")
_KEPT = 9
_STALE_PERIODS = 5


class Marks:
    """Begins of phases by job, in the receiver's clock; a job has 16 GPUs but one rank may say it for all."""

    def __init__(self) -> None:
        self._begins: dict[str, dict[str, deque[float]]] = {}
        self._pauses: dict[str, float] = {}

    def take(self, job: str, phase: str, begin_s: float) -> None:
        """A phase began; the same begin said by several nodes within 50 ms counts once."""
        if phase in _PAUSES:
            self._pauses[job] = begin_s
        if phase not in _ONCE_AN_ITERATION:
            return
        begins = self._begins.setdefault(job, {}).setdefault(phase, deque(maxlen=_KEPT))
        if not begins or begin_s > begins[-1] + 0.05:
            begins.append(begin_s)

    def period_s(self, job: str, now_s: float) -> float | None:
        """Median distance of the last begins; None without four of them, or where they stopped coming."""
        for phase in _ONCE_AN_ITERATION:
            begins = self._begins.get(job, {}).get(phase, deque())
            if len(begins) >= 4:
                period_s = float(np.median(np.diff(np.asarray(begins))))
                if now_s - begins[-1] <= _STALE_PERIODS * period_s + 1.0:
                    return period_s
        return None

    def new_pauses(self) -> dict[str, float]:
        """When jobs said that a checkpoint or an evaluation begins, since the last call."""
        said, self._pauses = self._pauses, {}
        return said

    def forget(self, job: str) -> None:
        """The job ended."""
        self._begins.pop(job, None)
