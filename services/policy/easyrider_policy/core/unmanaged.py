"""Load that no limit of ours holds: what the meter shows above what we manage, or what is declared.

In a domain with a meter it is the 0.99 quantile over 24 h of (meter - managed), never less than at present. The
quantile is taken over the highest 10 s mean of each minute, each held against what was managed up to 3 s before,
so that a meter which lags shows no load that is not there. A meter older than three of its periods makes it the
larger of the declared maximum and the highest of 24 h, and justifies no raise. Negative load is 0 and reported.
Without a meter it is the declared maximum, never less than boards that nobody limits are read to draw, nor than
what the domains below say; where there is neither, it is what the domains below say, and boards that nobody limits
count device maximum and allow no raise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from easyrider_policy.core.fleet import Bools, Fleet, Floats

Reading = tuple[float, float, float]  # when, meter, managed

DAY_MINUTES = 1440
MEAN_S = 10.0
LAG_S = 3.0
"""A meter shows what was drawn up to so long ago."""
LAGS_S = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
MINUTE_S = 60.0
STALE_PERIODS = 3
LONGEST_PERIOD_S = 60.0
"""A meter that claims to speak more rarely is judged silent by this."""
SHORT_MINUTES = 60
"""Until this much is known the quantile says nothing: the highest seen and the declared maximum count."""

_CARRIED = (
    *("heard_s", "period_s", "gated", "present_w", "negative_w", "newest_w"),
    *("_since_s", "_minute_w", "_minute_s", "_quantile_w"),
)


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """(D,) watts of unmanaged load, own and below, and the domains where it allows no raise."""

    watts: Floats
    blocked: Mapping[int, str]


@dataclass(frozen=True, eq=False, slots=True)
class Estimates:
    """(D,) unmanaged wall watts per domain, NaN where nothing says. `unfit`: says, but bounds no foreign board;
    `reasons`: domains whose meter is silent, where no raise may happen; `unmetered`: domains that no meter shows
    now, of which the domains below may know more."""

    watts: Floats
    unfit: Bools
    reasons: Mapping[int, str] = field(default_factory=dict)
    unmetered: frozenset[int] = frozenset()

    def load(self, fleet: Fleet, managed: Bools) -> Load:
        """Unmanaged load everywhere, boards outside `managed` (G,) included."""
        outside_w = np.where(managed, 0.0, fleet.max_w) * fleet.overhead_slope[fleet.gpu_node]
        node_w = np.bincount(fleet.gpu_node, weights=outside_w, minlength=len(fleet.nodes))
        here_w = np.bincount(fleet.node_domain, weights=node_w, minlength=len(fleet.domains))
        watts: Floats = here_w.astype(np.float64)
        if not watts.any() and np.isnan(self.watts).all():
            return Load(watts, dict(self.reasons))
        feeds = {p for parents in fleet.parents if len(parents) > 1 for p in parents}
        below_w = np.zeros(len(fleet.domains))
        unbounded = watts > 0  # boards that nobody limits, and nothing but device maximum to count them by
        for domain in reversed(range(len(fleet.domains))):
            if np.isfinite(self.watts[domain]):
                # A feed's own meter shows its share only; without the other feed it carries all.
                least_w = watts[domain] if domain in feeds else 0.0
                if domain in self.unmetered:  # what is told of the domains below is drawn through it too
                    least_w = max(least_w, below_w[domain])
                watts[domain] = max(self.watts[domain], least_w)
                unbounded[domain] &= self.unfit[domain]
            for parent in fleet.parents[domain]:
                below_w[parent] += watts[domain]
                watts[parent] += watts[domain]  # all of it on each feed: the other one may be lost
                unbounded[parent] |= unbounded[domain]
        reasons = {int(domain): f"open:{fleet.domains[domain]}" for domain in np.flatnonzero(unbounded)}
        reasons.update(self.reasons)
        return Load(watts, reasons)


class Meters:
    """What the meters of a fleet's domains have shown over the last day. Times in the coordinator's seconds."""

    def __init__(self, fleet: Fleet) -> None:
        count = len(fleet.domains)
        self.fleet = fleet
        declared = [record.unmanaged_max_w for record in fleet.domain_records]
        self.declared_w = np.array([np.nan if w is None else w for w in declared], dtype=np.float64)
        self.minutes: dict[int, list[float]] = {}  # highest 10 s mean of each minute, oldest first
        self._metered = {row for row, record in enumerate(fleet.domain_records) if record.meters}
        self.heard_s: Floats = np.full(count, -np.inf)
        self.period_s: Floats = np.full(count, np.inf)
        self.gated: Bools = np.zeros(count, dtype=np.bool_)
        self.newest_w: Floats = np.full(count, np.nan)  # as it was shown last, whenever that was
        self.present_w: Floats = np.full(count, np.nan)  # mean of the last 10 s
        self.negative_w: Floats = np.zeros(count)  # how far below 0 it is now, for the report
        self._readings: dict[
            int, list[Reading]
        ] = {}  # of the last window and the lag before it, oldest first
        self._since_s: Floats = np.full(count, np.nan)
        self._minute_w: Floats = np.full(count, -np.inf)
        self._minute_s: Floats = np.full(count, np.nan)
        self._quantile_w: Floats = np.full(count, np.nan)

    def heard(
        self, domain: int, meter_w: float, managed_w: float, now_s: float, period_s: float, gated: bool
    ) -> None:
        """One good reading beside what we managed in the same moment: wall watts declared for measured boards.

        A reading that is malformed or not of good quality is none: leave it out, and its age grows.
        """
        difference_w = meter_w - managed_w
        self._metered.add(domain)
        self.newest_w[domain] = meter_w
        self.heard_s[domain], self.period_s[domain], self.gated[domain] = now_s, period_s, gated
        if np.isnan(self._since_s[domain]):
            self._since_s[domain] = self._minute_s[domain] = now_s
            self.present_w[domain] = difference_w
        self._readings.setdefault(domain, []).append((now_s, meter_w, managed_w))
        if now_s - self._since_s[domain] >= MEAN_S:
            self._ten_seconds(domain, now_s)
        if now_s - self._minute_s[domain] >= MINUTE_S:
            self._minute(domain, now_s)

    def shown_w(self, now_s: float) -> Floats:
        """(D,) what meters show, NaN where there is none or it has fallen silent."""
        with np.errstate(invalid="ignore"):
            return np.where(now_s - self.heard_s <= STALE_PERIODS * self.period_s, self.newest_w, np.nan)

    def estimates(self, now_s: float, drawn_w: Floats | None = None) -> Estimates:
        """Unmanaged load per domain as of now; `drawn_w` (D,): what boards that nobody limits are read to draw."""
        least_w = np.zeros(len(self.declared_w)) if drawn_w is None else drawn_w
        watts, unfit = np.maximum(self.declared_w, least_w), np.zeros(len(self.declared_w), dtype=np.bool_)
        unmetered = set(range(len(self.declared_w)))
        reasons: dict[int, str] = {}
        self.negative_w = np.maximum(0.0, -np.nan_to_num(self.present_w, nan=0.0))
        stale = now_s - self.heard_s > STALE_PERIODS * self.period_s
        for d in self._metered:
            declared_w = float(np.nan_to_num(self.declared_w[d], nan=0.0))
            heard, past = bool(np.isfinite(self.heard_s[d])), self.minutes.get(d, [])
            if stale[d] or not heard:
                reasons[d] = f"meter:{self.fleet.domains[d]}"
            if not heard:
                continue
            seen_w = max(0.0, self.present_w[d], self._minute_w[d])
            if stale[d]:
                watts[d] = max(declared_w, seen_w, float(least_w[d]), *past)
                unfit[d] = True
                continue
            unmetered.discard(d)
            if len(past) < SHORT_MINUTES or not self.gated[d]:
                watts[d] = max(declared_w, seen_w, *past)
                unfit[d] = not self.gated[d] and bool(np.isnan(self.declared_w[d]))
            else:
                watts[d] = max(0.0, self.present_w[d], self._quantile_w[d])
        return Estimates(watts, unfit, reasons, frozenset(unmetered))

    def moved_to(self, fleet: Fleet) -> "Meters":
        """The same day on another fleet; domains go by id."""
        moved = Meters(fleet)
        for row, name in enumerate(fleet.domains):
            before = self.fleet.domain_index.get(name)
            if before is None:
                continue
            for column in _CARRIED:
                getattr(moved, column)[row] = getattr(self, column)[before]
            if before in self.minutes:
                moved.minutes[row] = self.minutes[before]
            if before in self._readings and (fleet.domain_records[row].meters or not self._ruled(before)):
                moved._readings[row] = self._readings[before]
                moved._metered.add(row)
        return moved

    def _ruled(self, domain: int) -> bool:
        return bool(self.fleet.domain_records[domain].meters)

    def _ten_seconds(self, domain: int, now_s: float) -> None:
        """The mean difference, with the meter as late as makes it least: a late meter shows no load of its own."""
        readings = self._readings[domain] = [
            r for r in self._readings[domain] if r[0] > now_s - MEAN_S - LAG_S
        ]
        meter_w = np.mean([shown_w for at_s, shown_w, _ in readings if at_s > now_s - MEAN_S])
        managed_w = []
        for lag_s in LAGS_S:
            then = [w for at_s, _, w in readings if now_s - MEAN_S < at_s + lag_s <= now_s]
            reaches = readings[0][0] <= now_s - MEAN_S - lag_s + self.period_s[domain]
            if then and (reaches or lag_s == 0.0):
                managed_w.append(np.mean(then))
        mean_w = float(meter_w - max(managed_w))
        self.present_w[domain] = mean_w
        self._minute_w[domain] = max(self._minute_w[domain], mean_w)
        self._since_s[domain] = now_s

    def _minute(self, domain: int, now_s: float) -> None:
        past = self.minutes.setdefault(domain, [])
        past.append(float(self._minute_w[domain]))
        del past[:-DAY_MINUTES]
        self._quantile_w[domain] = float(np.quantile(past, 0.99, method="higher"))
        self._minute_w[domain], self._minute_s[domain] = -np.inf, now_s
