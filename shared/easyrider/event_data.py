"""What the data of integration events is made of, and the events of who may decide and how far."""

from typing import Literal

import msgspec

from easyrider.messages.base import Name

Mode = Literal["observe", "shadow", "pilot", "enforce"]


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands in the `data` of an event."""


class PolicyRefused(Data, frozen=True):
    """A plug-in policy may not decide, or decided what cannot be taken: the product's plan does."""

    policy: Name
    why: str
