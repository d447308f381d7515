"""Moments as people give them on the command line."""

from easyrider import moments
from easyrider.errors import EasyRiderError


class BadMomentOption(EasyRiderError):
    """An option holds no moment that can be understood."""

    def __init__(self, why: str) -> None:
        super().__init__(f"--from or --to {why}")


def unix_ns(text: str) -> int:
    """Unix ns of an RFC 3339 moment. Raises `BadMomentOption`."""
    try:
        return round(moments.unix_s(text) * 1e9)
    except moments.BadMoment as fault:
        raise BadMomentOption(str(fault)) from fault
