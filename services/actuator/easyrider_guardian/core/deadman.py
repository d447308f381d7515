"""Where limits go when nobody grants them any more, and when."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from easyrider.units import nanoseconds
from easyrider_guardian.core.records import Holding, Reading, Standing, Terms

Stage = Literal[0, 1, 2]


def stage(standing: Standing, terms: Terms, now_ns: int) -> Stage:
    """0 granted, 1 no grant for `dead_man_s`, 2 none for `second_stage_s`; counted from the last one's mint.

    A stage once entered stays until a grant. Without a controlled board it is 0: nothing would be written.
    """
    if not standing.controlled:
        return 0
    silent_ns = now_ns - standing.grant_ns
    if standing.stage == 2 or silent_ns >= nanoseconds(terms.second_stage_s):
        return 2
    return 1 if standing.stage == 1 or silent_ns >= nanoseconds(terms.dead_man_s) else 0


def next_change_ns(standing: Standing, terms: Terms) -> int | None:
    """CLOCK_BOOTTIME of the next stage; None where none comes."""
    if not standing.controlled or standing.stage == 2:
        return None
    after_s = terms.dead_man_s if standing.stage == 0 else terms.second_stage_s
    return standing.grant_ns + nanoseconds(after_s)


def fallback_w(held: Holding | None, terms: Terms, reading: Reading) -> float:
    """Where the dead-man takes a board: as told, else as set, else the device minimum; inside its live range.

    A fallback outside the range is clamped, not refused: there is nobody left to refuse to.
    """
    told_w = held.fallback_w if held is not None else None
    asked_w = told_w if told_w is not None else terms.fallback_w
    if asked_w is None:
        return reading.min_w
    return min(max(asked_w, reading.min_w), reading.max_w)


def enter(
    standing: Standing, reached: Stage, terms: Terms, readings: Mapping[str, Reading | None]
) -> Standing:
    """The standing in stage `reached`: 1 holds min(present, fallback), lifting nothing, 2 the fallback.

    A board that does not answer keeps what was asked of it; it enters when it answers again (`settle`).
    """
    changed = {
        uuid: settle(held, reached, terms, reading)
        for uuid, held in standing.controlled.items()
        if (reading := readings.get(uuid)) is not None
    }
    return replace(standing.with_holdings(changed), stage=reached)


def settle(held: Holding, reached: Stage, terms: Terms, reading: Reading) -> Holding:
    """What one board shall hold in this stage; the same again when asked again."""
    if reached == 0 or not held.controlled:
        return held
    to_w = fallback_w(held, terms, reading)
    if reached == 1:
        to_w = max(reading.min_w, min(held.present_w, to_w))
    return replace(held, present_w=to_w)
