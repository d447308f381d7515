"""How far forecasts are to be trusted now: their confidences, merged by job over as many messages as they take."""

from collections.abc import Mapping

from easyrider.messages import SeriesForecast

STALE_S = 3.0
"""A forecast counts for three of its periods."""


class Trust:
    """Newest confidence of each job, and when its message was minted."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, float]] = {}

    def heard(self, series: tuple[SeriesForecast, ...], jobs: Mapping[str, int], minted_s: float) -> None:
        """Take the jobs of one message; others are left aside, so that strange ids pile up nowhere."""
        for each in series:
            if each.scope == "job" and each.id in jobs:
                self._told[each.id] = (each.confidence, minted_s)

    def confidence(self, boards: Mapping[str, int], now_s: float) -> float | None:
        """Mean over the boards of jobs with a fresh forecast, `boards` of each by our own count; None without any."""
        self._told = {job: told for job, told in self._told.items() if now_s - told[1] <= STALE_S}
        fresh = {job: confidence for job, (confidence, _) in self._told.items() if boards.get(job, 0) > 0}
        weight = sum(boards[job] for job in fresh)
        return sum(boards[job] * confidence for job, confidence in fresh.items()) / weight if weight else None
