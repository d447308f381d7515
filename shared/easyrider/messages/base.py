"""What every message is: a frozen record with a version and a kind, known fields only."""

from typing import Annotated, ClassVar, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A whole number that never falls below 0."""
Watts = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A power or a limit that cannot be negative."""
Ratio = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A share."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
"""An id of something."""
_VISIBLE = r"^(?![\s\S]*[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069])"
"""No control character and nothing that turns the direction of writing: these texts end on terminals."""
GivenName = Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern=_VISIBLE)]
"""An id that users choose."""
Label = Annotated[str, msgspec.Meta(max_length=256, pattern=_VISIBLE)]
"""What users say of something; may be empty."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a message."""


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """One MessagePack map: `v`, `kind`, then fields by full name. Fields may be added with defaults."""

    v: Literal[1] = 1
    said_when_set: ClassVar[tuple[str, ...]] = ()
    """Fields that are left out while they hold their default: to a reader who never heard of them nothing is new."""
