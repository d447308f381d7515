"""What the data of integration events is made of, and the events of who may decide and how far."""

from typing import Literal

import msgspec

from easyrider.messages.base import Count, Name

Mode = Literal["observe", "shadow", "pilot", "enforce"]


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands in the `data` of an event."""


class PolicyRefused(Data, frozen=True):
    """A plug-in policy may not decide, or decided what cannot be taken: the product's plan does."""

    policy: Name
    why: str


class GateMet(Data, frozen=True):
    """What was seen of a scope, the boards of one selector, would let it rise to `next`. `evidence`: every number."""

    scope: Name
    mode: Mode
    next: Mode
    evidence: str


class TrustLost(Data, frozen=True):
    """A scope is taken back: its jobs were slowed far beyond what was foretold, or it lost the forecasts it needs."""

    scope: Name
    was: Mode = msgspec.field(name="from")
    now: Mode = msgspec.field(name="to")
    cause: Literal["slowdown", "forecast"]
    detail: str
    evidence: str
    gpus: Count


class ModeChange(Data, frozen=True):
    """Newer rules put boards into another mode. Of a promotion: whether its gate was met or passed over."""

    version: Count
    was: Mode = msgspec.field(name="from")
    now: Mode = msgspec.field(name="to")
    gpus: Count
    scope: str = ""  # the selector whose boards they were
    gate: Literal["", "met", "overridden", "followed"] = ""  # followed: by a coordinator that did not lead
    evidence: str = ""  # every number that the gate asks for
    override: str = ""  # why it was passed over, in the operator's words
