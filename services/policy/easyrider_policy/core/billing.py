"""Demand windows of a fleet: the energy account of each running interval, its ceiling, and what came of it.

A ceiling lowers the target of its domain and never raises anything. Times of day say where an interval begins, since
it is an appointment with a meter; energy is counted over monotonic seconds.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider.tariffs import DemandWindow, Tariff
from easyrider_policy.core.demand_window import Aim, Bill, Interval, Load, choose, interval_at
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.peak_book import Months, PeakBook
from easyrider_policy.core.tariff import Hour, hour_at, month_at, month_left_s

Floats = NDArray[np.float64]

EVERY_S: Final = 1.0
GAP_S: Final = 5.0
"""Seconds between two readings beyond which what was drawn between them is not known."""
WHOLE: Final = 0.98
"""Of an interval: what is known of less than this is no interval to learn from."""
PAST: Final = 7 * 96
SETTLES_S: Final = 120.0
"""With this time constant it is learned how far below their highest ten seconds jobs draw as a longer mean."""


class Closed(NamedTuple):
    """What came of one interval. `saved` against the bill as it stood; None where the month's peak is not known."""

    window: str
    domain: str
    currency: str
    ends_s: float
    mean_w: float
    would_w: float  # without the ceiling
    billed_w: float | None
    known_ratio: float
    saved: float | None
    cost: float
    energy_cost: float


@dataclass(slots=True)
class Standing:
    """One demand window on this fleet, in its running interval."""

    window: DemandWindow
    tariff: Tariff
    row: int
    book: PeakBook
    past_w: deque[float] = field(default_factory=lambda: deque(maxlen=PAST))
    interval: Interval | None = None
    energy_j: float = 0.0
    feared_j: float = 0.0  # what could have been drawn besides while nobody looked
    would_j: float = 0.0
    known_s: float = 0.0
    cost: float = 0.0
    energy_cost: float = 0.0
    left_s: float = 0.0
    natural_w: float | None = None
    ratio: float = 1.0  # of what jobs would draw at the most, learned while no ceiling of ours holds
    aim: Aim | None = None
    why: str = "nothing is known yet"

    @property
    def length_s(self) -> float:
        """Of an interval."""
        return self.window.interval_min * 60.0

    @property
    def close_w(self) -> float | None:
        """The mean it would close at if nothing limited the rest; None: not known yet."""
        if self.natural_w is None:
            return None
        return (self.energy_j + self.natural_w * self.left_s) / self.length_s

    def billed_w(self, unix_s: float) -> float | None:
        """What is billed for such hours anyhow."""
        return self.book.billed_w(month_at(self.tariff, unix_s), hour_at(self.tariff, unix_s).period)


_RUNNING = (
    *("interval", "energy_j", "feared_j", "would_j", "known_s", "cost", "energy_cost", "left_s"),
    *("natural_w", "ratio", "aim", "why"),
)


class Billing:
    """The demand windows of one fleet."""

    def __init__(
        self,
        fleet: Fleet,
        tariffs: Iterable[Tariff],
        windows: Iterable[DemandWindow],
        months: Mapping[str, Months] | None = None,
    ) -> None:
        priced, kept = {tariff.id: tariff for tariff in tariffs}, months or {}
        self.fleet = fleet
        self.every = [
            Standing(
                w,
                priced[w.tariff],
                fleet.domain_index[w.domain],
                PeakBook(w, priced[w.tariff], kept.get(w.id, {})),
            )
            for w in windows
            if w.domain in fleet.domain_index and w.tariff in priced
        ]
        self.ceiling_w: Floats = np.full(len(fleet.domains), np.inf)
        self._closed: list[Closed] = []
        self._at_s: float | None = None
        self.unix_s = 0.0

    def pass_to(self, now_s: float, unix_s: float, drawn_w: Floats, loads: Mapping[int, Load]) -> bool:
        """Time passes; `drawn_w` (D,): means since the last time, NaN unknown; `loads` by row of a domain.

        Whether a ceiling began, ended or moved.
        """
        elapsed_s = 0.0 if self._at_s is None else max(0.0, now_s - self._at_s)
        if self._at_s is not None and elapsed_s < EVERY_S - 1e-3:
            return False
        self._at_s, self.unix_s = now_s, unix_s
        before, self.ceiling_w = self.ceiling_w, np.full_like(self.ceiling_w, np.inf)
        for one in self.every:
            drawn, load = float(drawn_w[one.row]), loads.get(one.row)
            load = None if load is None else _as_a_mean(one, load, drawn, elapsed_s)
            self._account(one, unix_s, elapsed_s, drawn, load)
            one.aim = None if load is None else self._aim(one, unix_s, load)
            if one.aim is not None:
                self.ceiling_w[one.row] = min(self.ceiling_w[one.row], one.aim.ceiling_w)
        return bool((before != self.ceiling_w).any())

    def take_closed(self) -> list[Closed]:
        """Intervals that closed since the last time, each once."""
        taken, self._closed = self._closed, []
        return taken

    def months(self) -> dict[str, Months]:
        """Peaks by window: what must outlive this process."""
        return {one.window.id: one.book.months for one in self.every}

    def moved_to(self, fleet: Fleet, tariffs: Iterable[Tariff], windows: Iterable[DemandWindow]) -> "Billing":
        """Of newer rules or another fleet; peaks stay, and the running account of a window that is unchanged."""
        moved = Billing(fleet, tariffs, windows, self.months())
        known = {one.window.id: one for one in self.every}
        for one in moved.every:
            before = known.get(one.window.id)
            if before is None:
                continue
            one.past_w = before.past_w
            one.book.begins(before.book._month)
            if (before.window, before.tariff) == (one.window, one.tariff):
                for name in _RUNNING:
                    setattr(one, name, getattr(before, name))
            if one.aim is not None:
                moved.ceiling_w[one.row] = one.aim.ceiling_w
        moved._closed, moved._at_s, moved.unix_s = list(self._closed), self._at_s, self.unix_s
        return moved

    def _account(
        self, one: Standing, unix_s: float, elapsed_s: float, drawn_w: float, load: Load | None
    ) -> None:
        interval = interval_at(one.window, unix_s)
        one.book.begins(month_at(one.tariff, unix_s))
        if interval != one.interval:
            if one.interval is not None:
                self._close(one)
            # What was drawn before we looked is not known; it is taken to have been as now.
            gone_s = unix_s - interval.begins_s if one.interval is None or elapsed_s > GAP_S else 0.0
            fill_w = drawn_w if np.isfinite(drawn_w) else 0.0 if load is None else load.natural_w
            # It may have been the month's highest all the same, and whoever holds a peak reckons with that.
            one.feared_j = gone_s * max(0.0, (one.billed_w(unix_s) or 0.0) - fill_w)
            one.interval, one.known_s, one.cost, one.energy_cost = interval, 0.0, 0.0, 0.0
            one.energy_j = one.would_j = gone_s * fill_w
            elapsed_s = min(elapsed_s, unix_s - interval.begins_s)
        one.left_s = max(0.0, interval.ends_s - unix_s)
        one.natural_w = None if load is None else load.natural_w
        if elapsed_s <= 0:
            return
        watts = drawn_w if np.isfinite(drawn_w) else one.natural_w or 0.0
        would_w = watts if one.aim is None or load is None else max(watts, load.natural_w)
        one.energy_j += watts * elapsed_s
        one.would_j += would_w * elapsed_s
        one.energy_cost += hour_at(one.tariff, unix_s).energy_price_per_kwh * watts * elapsed_s / 3.6e6
        if elapsed_s <= GAP_S and np.isfinite(drawn_w):
            one.known_s += elapsed_s
        if one.aim is not None and load is not None:
            lost = load.lost_gpus(np.array([load.natural_w]), np.array([one.aim.ceiling_w]))
            one.cost += one.window.work_price_per_gpu_h * float(lost[0]) * elapsed_s / 3600.0

    def _aim(self, one: Standing, unix_s: float, load: Load) -> Aim | None:
        hour, month = hour_at(one.tariff, unix_s), month_at(one.tariff, unix_s)
        billed_w = one.book.billed_w(month, hour.period)
        if billed_w is None:
            one.why = (
                f"the peak of {month} is not known: say month and month_peak_w, or wait for the next month"
            )
            return None
        left = month_left_s(one.tariff, unix_s) - one.left_s
        bill = Bill(
            billed_w=billed_w,
            price_per_kw=hour.demand_price_per_kw,
            work_price_per_gpu_h=one.window.work_price_per_gpu_h,
            past_w=np.array(one.past_w, dtype=np.float64),
            intervals_left=max(0.0, left / one.length_s * hour.week_share),
        )
        aim = choose(load, bill, one.energy_j + one.feared_j, one.left_s, one.length_s)
        close_w = one.close_w or 0.0
        one.why = (
            "it pays" if aim else "below what is billed anyhow" if close_w <= billed_w else "it would not pay"
        )
        return aim

    def _close(self, one: Standing) -> None:
        assert one.interval is not None
        at_s = one.interval.ends_s - 1.0  # an interval belongs to the hours in which it ran
        hour: Hour = hour_at(one.tariff, at_s)
        month, known = month_at(one.tariff, at_s), min(1.0, one.known_s / one.length_s)
        mean_w, would_w = one.energy_j / one.length_s, one.would_j / one.length_s
        billed_w = one.book.billed_w(month, hour.period)
        saved = None
        if billed_w is not None:
            more_w = max(would_w, billed_w) - max(mean_w, billed_w)
            saved = hour.demand_price_per_kw * more_w / 1e3
        if known >= WHOLE:
            one.past_w.append(would_w)
            one.book.closed(month, hour.period, mean_w)
        self._closed.append(
            Closed(
                one.window.id,
                one.window.domain,
                one.tariff.currency,
                one.interval.ends_s,
                mean_w,
                would_w,
                billed_w,
                known,
                saved,
                one.cost,
                one.energy_cost,
            )
        )


def _as_a_mean(one: Standing, load: Load, drawn_w: float, elapsed_s: float) -> Load:
    """The load with the natural draw of a longer mean, other limits included: what would be drawn without us."""
    spare_w = load.natural_w - load.standing_w
    if one.aim is None and np.isfinite(drawn_w) and spare_w > 0:
        seen = min(1.0, max(0.0, (drawn_w - load.standing_w) / spare_w))
        one.ratio += min(1.0, elapsed_s / SETTLES_S) * (seen - one.ratio)
    return replace(load, natural_w=max(load.least_w, load.standing_w + one.ratio * max(spare_w, 0.0)))
