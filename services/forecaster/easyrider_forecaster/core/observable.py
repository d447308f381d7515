"""Which waves a sensor can show at all: nothing faster than two of its windows, refreshes or samples."""

_WHOLE = 0.9
"""A window of nine tenths of a refresh or more leaves hardly any time unseen: such a field has no aliases."""


def is_partial(window_s: float, refresh_s: float) -> bool:
    """Whether a field leaves time unseen between its looks, so that fast waves can show as slow ones."""
    return window_s < _WHOLE * refresh_s


def slowest_s(*, window_s: float, refresh_s: float, step_s: float, by_counter: bool) -> float:
    """The slowest link between a wave and us, s; twice that is the shortest period there is to see.

    An energy counter has no window but its refresh; a mean power made of the power field has that field's window.
    """
    return max(refresh_s, step_s, 0.0 if by_counter else window_s)
