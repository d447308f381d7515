"""A vector of limits against the live ranges: what is lowered, what is raised, what is refused."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from easyrider.messages import GpuLimit
from easyrider_guardian.core.records import VERIFY_TOLERANCE_W, Holding, Reading

HELD = "held"
"""Why a raise is not taken where an operator holds."""
BELOW_MIN_RATIO = 0.99
"""A limit this little under the minimum is rounding of a percentage: the minimum is meant (and counted)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one board of a vector comes to.

    `refused`: why it is not written. `open_lower`: it should fall and is not proved to have fallen; while one
    such is left, nothing of the same message may rise.
    """

    uuid: str
    limit_w: float | None = None
    fallback_w: float | None = None
    refused: str | None = None
    lowers: bool = False
    raises: bool = False
    open_lower: bool = False


def weigh(
    limits: Iterable[GpuLimit],
    readings: Mapping[str, Reading | None],
    last_enforced_w: Mapping[str, float],
    asked_w: Mapping[str, float],
    unwritable: Mapping[str, str],
    lower_only: frozenset[str] = frozenset(),
) -> tuple[Entry, ...]:
    """One entry a limit, in order.

    `readings` holds a live reading of each board of the node (None: it does not answer), `last_enforced_w`
    the last one seen, `asked_w` what was asked of it before, `unwritable` why a board takes no limit
    (quarantined, no permission, ...).
    """
    return tuple(
        _weigh(limit, readings, last_enforced_w, asked_w, unwritable, lower_only) for limit in limits
    )


def _weigh(
    limit: GpuLimit,
    readings: Mapping[str, Reading | None],
    last_enforced_w: Mapping[str, float],
    asked_w: Mapping[str, float],
    unwritable: Mapping[str, str],
    lower_only: frozenset[str],
) -> Entry:
    uuid = limit.uuid
    if limit.limit_w is None:
        return Entry(uuid=uuid)
    if uuid not in readings:
        return _refused(limit, "unknown_gpu", last_enforced_w.get(uuid))
    reading = readings[uuid]
    if reading is None:
        return _refused(limit, "no_answer", last_enforced_w.get(uuid))
    limit_w = in_range_w(limit.limit_w, reading)
    if limit_w is None:
        return _refused(limit, f"out_of_range {reading.min_w:g}..{reading.max_w:g} W", reading.enforced_w)
    # A driver that rounds shows another value for ever; it is asked again only for a value of its own.
    slack_w = VERIFY_TOLERANCE_W if asked_w.get(uuid) == limit_w else 0.0005
    lowers = reading.highest_w > limit_w + slack_w
    raises = not lowers and reading.requested_w < limit_w - slack_w
    if (lowers or raises) and uuid in unwritable:
        return _refused(limit, unwritable[uuid], reading.enforced_w)
    if raises and uuid in lower_only:
        return _refused(limit, "quarantined", reading.enforced_w)
    return Entry(uuid=uuid, limit_w=limit_w, fallback_w=limit.fallback_w, lowers=lowers, raises=raises)


def without_raises(entries: Iterable[Entry], holdings: Mapping[str, Holding]) -> tuple[Entry, ...]:
    """The same vector for a node that is held: what should rise is refused, and so is a higher fallback."""
    return tuple(_held(entry, holdings.get(entry.uuid)) for entry in entries)


def _held(entry: Entry, before: Holding | None) -> Entry:
    if entry.limit_w is None or (entry.refused is not None):
        return entry
    if before is not None and before.controlled:
        entry = replace(entry, fallback_w=_lower_w(entry.fallback_w, before.fallback_w))
    return replace(entry, refused=HELD, raises=False) if entry.raises else entry


def _lower_w(told_w: float | None, before_w: float | None) -> float | None:
    """None is the guardian's own setting, of which it is not known here which is lower: it stays."""
    return before_w if told_w is None or before_w is None else min(told_w, before_w)


def in_range_w(limit_w: float, reading: Reading) -> float | None:
    """The limit in whole milliwatts inside the live range; None where it lies outside.

    Up to 1 % under the minimum becomes the minimum.
    """
    whole_w = round(limit_w, 3)
    if reading.min_w * BELOW_MIN_RATIO <= whole_w < reading.min_w:
        return reading.min_w
    return whole_w if reading.min_w <= whole_w <= reading.max_w else None


def _refused(limit: GpuLimit, reason: str, enforced_w: float | None) -> Entry:
    assert limit.limit_w is not None
    should_fall = enforced_w is None or enforced_w > limit.limit_w + VERIFY_TOLERANCE_W
    return Entry(uuid=limit.uuid, refused=reason, open_lower=should_fall)
