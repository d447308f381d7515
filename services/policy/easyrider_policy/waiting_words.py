"""Words as the bus hands them over, which wait for a moment to be taken together."""

from collections.abc import Sequence

import numpy as np

from easyrider import log
from easyrider_policy.core.fleet import Ints

_LOG = log.get("policy")
Word = tuple[bytes, bytes, int]
"""Subject, message, and the receiver's nanoseconds at which it came."""


def arrived_ns(words: Sequence[Word]) -> Ints:
    """(F,) when they came."""
    return np.array([ns for _, _, ns in words], dtype=np.int64)


def tell_together(what: str, fault: Exception) -> None:
    """Words of this kind could not be taken together: each is judged, and costs nobody else theirs."""
    log.bounded(_LOG, what, 10.0).error(f"{what} had to be judged one by one", exc_info=fault)
