"""A write to be made, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass

from easyrider_guardian.core.records import Reading
from easyrider_guardian.core.repair import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One limit for one board. `permit` is asked with CLOCK_BOOTTIME at the moment of the write: why not, or None."""

    uuid: str
    limit_w: float
    raises: bool
    cause: Cause
    epoch: int
    seq: int
    mint_ns: int
    ttl_s: float
    permit: Callable[[int], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of an order. `refused`: it was not written; `fault`: the driver failed; else read-back decides.

    `reading` is the last one after the write, None where the board did not answer.
    """

    order: Order
    at_ns: int
    reading: Reading | None = None
    verified: bool = False
    refused: str | None = None
    fault: str | None = None

    @property
    def problem(self) -> str | None:
        """Why the board does not verifiably hold the limit, as the ack says it; None if it does."""
        if self.verified:
            return None
        return self.refused or self.fault or "not_verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reading of one board, or why there is none. `uuid` is None where the board never told it."""

    index: int
    uuid: str | None
    at_ns: int
    reading: Reading | None = None
    fault: str | None = None
