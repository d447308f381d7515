"""What tariffs and demand windows must say: every minute of the year priced once, names and numbers that make sense."""

import math
import re
from collections.abc import Iterable, Iterator

from easyrider.id_checks import check_ids
from easyrider.moments import NoZone, zone
from easyrider.records import Faults
from easyrider.tariffs import DAYS, MONTHS, DemandWindow, Tariff, TariffPeriod
from easyrider.tree import Rules

DAY_MIN = 24 * 60
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00", re.ASCII)
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII)


def minute(text: str) -> int | None:
    """Minutes since midnight of HH:MM, 24:00 the end of the day; None: it is no such time."""
    if not _CLOCK.fullmatch(text):
        return None
    return int(text[:2]) * 60 + int(text[3:])


def check_tariffs(rules: Rules, domain_ids: set[str], faults: Faults) -> None:
    """Adds every fault of the sections `tariffs` and `demands`."""
    check_ids("tariffs", (tariff.id for tariff in rules.tariffs), faults)
    check_ids("demands", (window.id for window in rules.demands), faults)
    for tariff in rules.tariffs:
        _check_tariff(f"tariffs[{tariff.id}]", tariff, faults)
    names, seen = {tariff.id for tariff in rules.tariffs}, dict[str, str]()
    for window in rules.demands:
        _check_window(f"demands[{window.id}]", window, names, domain_ids, faults)
        if (other := seen.setdefault(window.domain, window.id)) != window.id:
            faults.add(f"demands[{window.id}].domain", f"is {window.domain!r}, which {other!r} bills already")


def _check_tariff(place: str, tariff: Tariff, faults: Faults) -> None:
    try:
        zone(tariff.timezone)
    except NoZone as fault:
        faults.add(f"{place}.timezone", str(fault))
    if not 0 <= tariff.ratchet_share <= 1:
        faults.add(f"{place}.ratchet_share", f"is {tariff.ratchet_share:g}, outside 0..1")
    if not 0 <= tariff.ratchet_months <= 60:
        faults.add(f"{place}.ratchet_months", f"is {tariff.ratchet_months}, outside 0..60")
    before = len(faults)
    for index, period in enumerate(tariff.periods):
        _check_period(f"{place}.periods[{index}]", period, faults)
    if len(faults) == before:
        faults.extend(f"{place}.periods {fault}" for fault in _uncovered(tariff.periods))


def _check_period(place: str, period: TariffPeriod, faults: Faults) -> None:
    begins, ends = minute(period.begins), minute(period.ends)
    for name, text, at in (("begins", period.begins, begins), ("ends", period.ends, ends)):
        if at is None:
            faults.add(f"{place}.{name}", f"is {text[:20]!r}, no time of day like 06:00")
    if begins is not None and ends is not None and ends <= begins:
        faults.add(place, f"ends at {period.ends}, not after {period.begins}; a night is two periods")
    for month in period.months:
        if month not in MONTHS:
            faults.add(f"{place}.months", f"names {month}, outside 1..12")
    for name, price in (
        ("energy_price_per_kwh", period.energy_price_per_kwh),
        ("demand_price_per_kw", period.demand_price_per_kw),
    ):
        # Energy has been sold below nothing; a peak never was.
        if name.startswith("demand") and price < 0:
            faults.add(f"{place}.{name}", f"is {price:g}, below 0")


def _uncovered(periods: Iterable[TariffPeriod]) -> Iterator[str]:
    """The first gap and the first overlap in the year, each told once with how often it comes."""
    gaps: dict[tuple[str, str], list[str]] = {}
    overlaps: dict[tuple[str, str], list[str]] = {}
    rows = [(p, minute(p.begins) or 0, minute(p.ends) or 0) for p in periods]
    for month in MONTHS:
        for day in DAYS:
            spans = sorted((b, e) for p, b, e in rows if month in p.months and day in p.days)
            at = 0
            for begins, ends in [*spans, (DAY_MIN, DAY_MIN)]:
                if begins > at:
                    gaps.setdefault((_clock(at), _clock(begins)), []).append(f"{day} of month {month}")
                elif begins < at and ends > begins:
                    span = (_clock(begins), _clock(min(at, ends)))
                    overlaps.setdefault(span, []).append(f"{day} of month {month}")
                at = max(at, ends)
    for found, says in ((gaps, "leave a gap"), (overlaps, "overlap")):
        for (begins_at, ends_at), days in list(found.items())[:3]:
            more = "" if len(days) == 1 else f" and {len(days) - 1} more"
            yield f"{says} from {begins_at} to {ends_at} on {days[0]}{more}"


def _check_window(
    place: str, window: DemandWindow, tariffs: set[str], domain_ids: set[str], faults: Faults
) -> None:
    if window.domain not in domain_ids:
        faults.add(f"{place}.domain", f"names {window.domain!r}, which is no domain")
    if window.tariff not in tariffs:
        faults.add(f"{place}.tariff", f"names {window.tariff!r}, which is no tariff")
    if window.work_price_per_gpu_h <= 0:
        faults.add(
            f"{place}.work_price_per_gpu_h",
            f"is {window.work_price_per_gpu_h:g}, not above 0: work that costs nothing would always yield",
        )
    if not math.fabs(window.clock_ahead_s) < window.interval_min * 60:
        faults.add(f"{place}.clock_ahead_s", f"is {window.clock_ahead_s:g}, an interval or more")
    for name, watts in (("month_peak_w", window.month_peak_w), ("year_peak_w", window.year_peak_w)):
        if watts is not None and watts < 0:
            faults.add(f"{place}.{name}", f"is {watts:g}, below 0")
    if window.month and not _MONTH.fullmatch(window.month):
        faults.add(f"{place}.month", f"is {window.month[:20]!r}, no month like 2026-12")
    if bool(window.month) != (window.month_peak_w is not None):
        faults.add(place, "says month and month_peak_w together or neither")


def _clock(at: int) -> str:
    return f"{at // 60:02d}:{at % 60:02d}"
