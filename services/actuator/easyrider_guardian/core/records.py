"""What the guardian knows: of each board, of what it was told last, and of what it found before that."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

VERIFY_TOLERANCE_W = 0.5
"""Drivers round a limit to their own steps; the count in the sums is by read-back, not by this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one board said of its limits, in W: `requested_w` was asked of it, `enforced_w` is the truth."""

    min_w: float
    max_w: float
    default_w: float
    requested_w: float
    enforced_w: float
    settable: bool = True

    @property
    def highest_w(self) -> float:
        """What the board may draw until somebody writes again."""
        return max(self.requested_w, self.enforced_w)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What is asked of one board: the limit it shall hold, and where the dead-man takes it.

    `fallback_w` None: the guardian's own setting, else the device minimum. Not `controlled`: never written.
    """

    present_w: float
    fallback_w: float | None
    controlled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a board was found with, before the first write to it ever, and its range then."""

    requested_w: float
    enforced_w: float
    min_w: float
    max_w: float
    default_w: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOrder:
    """An operator's word that nothing may rise here, and why; it outlives the guardian."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is stored before every write; with it a guardian that was killed goes on where it stood.

    `grant_ns` is the CLOCK_BOOTTIME mint of the youngest grant accepted; `stage` the dead-man stage already
    entered (it falls back to 0 with a grant and never by itself).
    """

    boot_id: str
    tree: str
    node: str
    epoch: int = 0
    seq: int = 0
    grant_ns: int = 0
    ttl_s: float = 0.0
    stage: Literal[0, 1, 2] = 0
    holdings: Mapping[str, Holding] = field(default_factory=lambda: MappingProxyType({}))

    def with_holdings(self, changed: Mapping[str, Holding]) -> "Standing":
        """The same standing with some boards replaced."""
        return replace(self, holdings=MappingProxyType({**self.holdings, **changed}))

    def without(self, uuids: frozenset[str]) -> "Standing":
        """The same standing that no longer controls these boards."""
        left = {uuid: held for uuid, held in self.holdings.items() if uuid not in uuids}
        return replace(self, holdings=MappingProxyType(left))

    @property
    def controlled(self) -> Mapping[str, Holding]:
        """The boards under the dead-man."""
        return {uuid: held for uuid, held in self.holdings.items() if held.controlled}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings that decide: who this node is, when the dead-man acts, and where to without a word."""

    tree: str
    region: str
    node: str
    fallback_w: float | None = None
    dead_man_s: float = 10.0
    second_stage_s: float = 60.0
