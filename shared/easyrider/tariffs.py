"""What power costs, and over which intervals a peak of it is billed: records of the rules document."""

from dataclasses import dataclass
from typing import Literal

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""In the order of `date.weekday()`."""
MONTHS = tuple(range(1, 13))


@dataclass(frozen=True, slots=True, kw_only=True)
class TariffPeriod:
    """Prices of some hours of some days; from `begins` to `ends`, HH:MM of the tariff's time zone, 24:00 the end."""

    days: tuple[Day, ...] = DAYS
    months: tuple[int, ...] = MONTHS
    begins: str = "00:00"
    ends: str = "24:00"
    energy_price_per_kwh: float = 0.0
    demand_price_per_kw: float = 0.0  # a month, for the highest interval that closes in such hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """Prices that cover every minute of the year once. `ratchet_share`: of the year's peak, billed at least."""

    id: str
    currency: str
    periods: tuple[TariffPeriod, ...]
    timezone: str = "UTC"  # IANA name, like Europe/Berlin
    ratchet_share: float = 0.0
    ratchet_months: int = 11  # for so long after its month a peak sets the least that is billed


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandWindow:
    """A domain whose mean over each interval of its meter's clock is billed by a tariff.

    `work_price_per_gpu_h` prices lost work, in the tariff's currency: one GPU at full speed for an hour, of weight 1.
    """

    id: str
    domain: str
    tariff: str
    work_price_per_gpu_h: float
    interval_min: Literal[15, 30] = 15
    clock_ahead_s: float = 0.0  # of the meter, against ours
    month: str = ""  # YYYY-MM in which `month_peak_w` was reached
    month_peak_w: float | None = (
        None  # until something higher closes; none said: learned from closed intervals
    )
    year_peak_w: float | None = None  # highest billed month before, for the ratchet
