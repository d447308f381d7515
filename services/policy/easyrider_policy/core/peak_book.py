"""Peaks of billing months: what is billed at least, so that drawing up to it costs nothing more."""

from collections.abc import Mapping

from easyrider.tariffs import DemandWindow, Tariff
from easyrider_policy.core.tariff import months_before

Months = dict[str, dict[int, float]]
"""Highest closed interval in W, by month and period of the tariff."""


class PeakBook:
    """The peaks of one demand window. A month that nobody has told of and nobody saw begin is not known."""

    def __init__(
        self, window: DemandWindow, tariff: Tariff, months: Mapping[str, Mapping[int, float]]
    ) -> None:
        self.window, self.tariff = window, tariff
        self.months: Months = {month: dict(peaks) for month, peaks in months.items()}
        self._month = ""

    def begins(self, month: str) -> None:
        """The clock is in this month; one that begins while it is watched has no peak yet, and that is known."""
        if self._month and month > self._month:
            self.months.setdefault(month, {})
        self._month = month

    def billed_w(self, month: str, period: int) -> float | None:
        """What this month's bill counts for such hours whatever comes; None: not known."""
        told_w = self.window.month_peak_w if self.window.month == month else None
        if told_w is None and month not in self.months:
            return None
        peak_w = max(told_w or 0.0, self.months.get(month, {}).get(period, 0.0))
        return max(peak_w, self.tariff.ratchet_share * self._year_w(month))

    def closed(self, month: str, period: int, mean_w: float) -> None:
        """A whole interval closed. A month that is not known stays so: it may have had a higher one."""
        if self.billed_w(month, period) is None:
            return
        peaks = self.months.setdefault(month, {})
        peaks[period] = max(mean_w, peaks.get(period, 0.0))
        kept = months_before(month, max(self.tariff.ratchet_months, 1)) | {month}
        self.months = {name: row for name, row in self.months.items() if name in kept}

    def _year_w(self, month: str) -> float:
        before = months_before(month, self.tariff.ratchet_months)
        seen = [w for name, peaks in self.months.items() if name in before for w in peaks.values()]
        return max([self.window.year_peak_w or 0.0, *seen])
