"""Moments as people give them on the command line."""

from datetime import UTC, datetime

from easyrider.errors import EasyRiderError


class BadMoment(EasyRiderError):
    """No moment in time that can be understood."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            f"{text!r} is no moment: give RFC 3339, like 2026-01-09T12:30:00Z (UTC without a zone)"
        )


def unix_ns(text: str) -> int:
    """Unix ns of an RFC 3339 moment. Raises `BadMoment`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as fault:
        raise BadMoment(text) from fault
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1e9)
