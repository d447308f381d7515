"""How far forecasts are to be trusted now: their confidences, merged by job over as many messages as they take."""

from collections.abc import Mapping

from easyrider.messages import SeriesForecast

STALE_S = 3.0
"""A forecast counts for three of its periods."""
TRUSTED = 0.6
"""Merged confidence at which the planner begins to trust again."""
LONGEST = 300


class Trust:
    """Newest confidence of each job with its reasons, and when its message was minted."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[float, float]] = {}
        self._reasons: dict[str, tuple[str, ...]] = {}

    def heard(self, series: tuple[SeriesForecast, ...], jobs: Mapping[str, int], minted_s: float) -> None:
        """Take the jobs of one message; others are left aside, so that strange ids pile up nowhere."""
        for each in series:
            if each.scope == "job" and each.id in jobs:
                self._told[each.id] = (each.confidence, minted_s)
                self._reasons[each.id] = each.reasons

    def confidence(self, boards: Mapping[str, int], now_s: float) -> float | None:
        """Mean over the boards of jobs with a fresh forecast, `boards` of each by our own count; None without any."""
        fresh = self._fresh(boards, now_s)
        weight = sum(boards[job] for job in fresh)
        return sum(boards[job] * confidence for job, confidence in fresh.items()) / weight if weight else None

    def doubt(self, boards: Mapping[str, int], now_s: float) -> str:
        """What keeps forecasts from being trusted: the words of the job that weighs most."""
        if not any(boards.values()):
            return "no job runs that could be forecast"
        fresh = self._fresh(boards, now_s)
        if not fresh:
            return "no fresh forecast"
        if (merged := self.confidence(boards, now_s)) is not None and merged >= TRUSTED:
            return "forecasts are good again, not yet for long enough"
        job = max(fresh, key=lambda each: (1.0 - fresh[each]) * boards[each])
        words = "; ".join(self._reasons[job]) or "no reason told"
        return f"job {job}, confidence {fresh[job]:.2f}: {words}"[:LONGEST]

    def _fresh(self, boards: Mapping[str, int], now_s: float) -> dict[str, float]:
        self._told = {job: told for job, told in self._told.items() if now_s - told[1] <= STALE_S}
        self._reasons = {job: words for job, words in self._reasons.items() if job in self._told}
        return {job: confidence for job, (confidence, _) in self._told.items() if boards.get(job, 0) > 0}
