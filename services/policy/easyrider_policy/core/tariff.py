"""What a peak and a kilowatt-hour cost at a moment, by a tariff that prices every minute once."""

from datetime import UTC, datetime
from typing import NamedTuple

from easyrider.moments import local, zone
from easyrider.tariff_checks import minute
from easyrider.tariffs import DAYS, Tariff, TariffPeriod

WEEK_MIN = 7 * 24 * 60


class Hour(NamedTuple):
    """Prices in force, by which of the tariff's periods, and how much of a week such hours are."""

    period: int
    energy_price_per_kwh: float
    demand_price_per_kw: float
    week_share: float


def hour_at(tariff: Tariff, unix_s: float) -> Hour:
    """Prices at a moment (Unix seconds). A tariff that leaves it out has no price there: it was refused before."""
    at = local(unix_s, tariff.timezone)
    day, now = DAYS[at.weekday()], at.hour * 60 + at.minute
    for index, period in enumerate(tariff.periods):
        if day in period.days and at.month in period.months and _begin(period) <= now < _end(period):
            share = len(set(period.days)) * (_end(period) - _begin(period)) / WEEK_MIN
            return Hour(index, period.energy_price_per_kwh, period.demand_price_per_kw, share)
    return Hour(-1, 0.0, 0.0, 0.0)


def month_at(tariff: Tariff, unix_s: float) -> str:
    """The billing month, YYYY-MM of the tariff's own clock."""
    return local(unix_s, tariff.timezone).strftime("%Y-%m")


def month_left_s(tariff: Tariff, unix_s: float) -> float:
    """Seconds until the billing month ends."""
    at = local(unix_s, tariff.timezone)
    year, month = (at.year + 1, 1) if at.month == 12 else (at.year, at.month + 1)
    ends = datetime(year, month, 1, tzinfo=zone(tariff.timezone))
    return (ends.astimezone(UTC) - at.astimezone(UTC)).total_seconds()


def months_before(month: str, count: int) -> set[str]:
    """The billing months right before one."""
    at = int(month[:4]) * 12 + int(month[5:]) - 1
    return {f"{k // 12:04d}-{k % 12 + 1:02d}" for k in range(at - count, at)}


def _begin(period: TariffPeriod) -> int:
    return minute(period.begins) or 0


def _end(period: TariffPeriod) -> int:
    return minute(period.ends) or 0
