"""Whether a board has to be written without a command: drift, and what the dead-man still owes."""

from dataclasses import dataclass
from typing import Literal

from easyrider.units import nanoseconds
from easyrider_guardian.core.records import VERIFY_TOLERANCE_W, Holding, Reading

Cause = Literal["command", "dead_man_1", "dead_man_2", "restore", "exit", "repair"]

PERIOD_S = 1.0
QUARANTINE_AFTER = 3
QUARANTINE_PERIOD_S = 5.0
NO_PERMISSION_PERIOD_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """How one board took its writes. `blocked` says why it takes none, as the ack says it."""

    mismatches: int = 0
    tried_ns: int | None = None
    blocked: Literal["no_permission", "not_supported", None] = None

    @property
    def quarantined(self) -> bool:
        """Three writes in a row had not the effect that was read back."""
        return self.mismatches >= QUARANTINE_AFTER

    @property
    def period_s(self) -> float:
        """Shortest time between two attempts of our own."""
        if self.blocked == "no_permission":
            return NO_PERMISSION_PERIOD_S
        return QUARANTINE_PERIOD_S if self.quarantined else PERIOD_S

    def rested(self, now_ns: int) -> bool:
        """Whether another attempt is due."""
        return self.tried_ns is None or now_ns - self.tried_ns >= nanoseconds(self.period_s)


def drifted(held: Holding, reading: Reading) -> bool:
    """The board may draw more than it shall: somebody wrote, or the driver fell back to stock."""
    return held.controlled and reading.highest_w > held.present_w + VERIFY_TOLERANCE_W


def below(held: Holding, reading: Reading) -> bool:
    """Less is asked of the board than it shall hold. An outside cap does not count: it is left alone."""
    return held.controlled and reading.requested_w < held.present_w - VERIFY_TOLERANCE_W


def due(held: Holding, reading: Reading, record: Record, stage: int, now_ns: int) -> float | None:
    """The limit to write now without a command; None: nothing. Only stage 2 ever raises.

    Whatever another writer took away stays away until the coordinator asks anew: giving it back is a raise.
    """
    if record.blocked == "not_supported" or not record.rested(now_ns):
        return None
    if drifted(held, reading):
        return max(held.present_w, reading.min_w)
    if stage == 2 and below(held, reading) and not record.quarantined:
        return min(held.present_w, reading.max_w)
    return None


def cause_of(stage: int) -> Cause:
    """The word for such a write."""
    if stage == 0:
        return "repair"
    return "dead_man_1" if stage == 1 else "dead_man_2"


def took(record: Record, verified: bool, now_ns: int) -> Record:
    """The record after a write: a verified one ends a quarantine, another is not tried again at once."""
    if verified:
        return Record(tried_ns=record.tried_ns)
    return Record(mismatches=record.mismatches + 1, tried_ns=now_ns)


def matches(limit_w: float, reading: Reading) -> bool:
    """Whether a write had its effect: asked as written, and not more in force."""
    return (
        reading.enforced_w <= limit_w + VERIFY_TOLERANCE_W
        and abs(reading.requested_w - limit_w) <= VERIFY_TOLERANCE_W
    )
