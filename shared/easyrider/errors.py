"""The root of every error of ours, and those that more than one room raises."""


class EasyRiderError(Exception):
    """Something named happened; the message says what still holds and what to do next."""


class BadConfig(EasyRiderError):
    """Settings are wrong; nothing was started. `faults` names every one of them."""

    def __init__(self, source: str, faults: list[str]) -> None:
        self.source, self.faults = source, faults
        super().__init__(f"{source}: " + "; ".join(faults))


class BadTree(EasyRiderError):
    """A power tree or rules document was refused; one in force would stay. `faults` names every fault."""

    def __init__(self, source: str, faults: list[str]) -> None:
        self.source, self.faults = source, faults
        super().__init__(f"{source} was refused: " + "; ".join(faults))


class MalformedMessage(EasyRiderError):
    """Bytes that are no message of ours; they were counted and dropped, state is unchanged."""

    reason = "malformed"


class NotAMap(MalformedMessage):
    """The bytes do not hold one MessagePack map with text keys."""

    reason = "not_a_map"


class TrailingBytes(MalformedMessage):
    """Bytes follow the message."""

    reason = "trailing_bytes"


class Oversize(MalformedMessage):
    """The message is larger than its kind may be."""

    reason = "oversize"

    def __init__(self, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(f"{size} bytes where {limit} are allowed")


class UnknownVersion(MalformedMessage):
    """The field `v` names a version this program does not speak."""

    reason = "unknown_version"

    def __init__(self, version: object) -> None:
        self.version = version
        super().__init__(f"version {version!r}; this program speaks version 1")


class UnknownKind(MalformedMessage):
    """The field `kind` names no message expected on this subject."""

    reason = "unknown_kind"

    def __init__(self, kind: object) -> None:
        self.kind = kind
        super().__init__(f"kind {kind!r} is not expected here")


class DuplicateKey(MalformedMessage):
    """A key stands twice in one map."""

    reason = "duplicate_key"


class NotFinite(MalformedMessage):
    """A number is NaN or infinite."""

    reason = "not_finite"


class WrongField(MalformedMessage):
    """A field is missing, unknown, or of another type (a truth value is no number)."""

    reason = "wrong_field"
