"""The moments after a limit fell, in which what stands above it is nobody's fault yet."""

from easyrider_bench.cases import Case
from easyrider_twin.referee.mixtures import AFTER_RECEIPT_NS, WINDOW_NS

Window = tuple[float, float]
"""(begin, end) in s of the run's clock."""


def drop_windows(case: Case) -> dict[int, list[Window]]:
    """Windows of each domain whose limit falls in this case, or that has to carry a lost feed's load as well."""
    found: dict[int, list[Window]] = {}
    for loss in case.losses:
        place = loss.domain
        if loss.feed and case.site.feeds is not None:
            place = sum(case.site.feeds) - place
        for_s = min(WINDOW_NS / 1e9, case.site.event_delay_s + AFTER_RECEIPT_NS / 1e9)
        found.setdefault(place, []).append((loss.begin_s, loss.begin_s + for_s))
    return found
