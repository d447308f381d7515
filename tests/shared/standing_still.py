"""Waiting until limits stand still."""

import time

from live_site import MIN_W, Site, until


def still(
    site: Site, for_s: float = 2.0, within_s: float = 25.0, above_w: float = MIN_W
) -> dict[str, list[float]]:
    """Limits once they have been above so many watts and unmoved for a while."""
    since_s, last_w = time.monotonic(), site.limits_w()

    def unmoved() -> dict[str, list[float]] | None:
        nonlocal since_s, last_w
        now_w = site.limits_w()
        if now_w != last_w or min(map(min, now_w.values())) <= above_w:
            since_s, last_w = time.monotonic(), now_w
        return now_w if time.monotonic() - since_s >= for_s else None

    found: dict[str, list[float]] = until(unmoved, within_s, "limits that stand still")
    return found
