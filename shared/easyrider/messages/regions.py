"""What passes between a coordinator and its parent."""

from easyrider.messages.base import Count, Message, Name, Watts


class Demand(Message, tag="demand", frozen=True):
    """A child's need: observed, floor and want, and what watts are worth (concave, watts against weighted work)."""

    parent: Name
    region: Name
    boot_id: Name
    nonce: Count
    observed_w: Watts | None
    floor_w: Watts
    want_w: Watts
    curve_w: tuple[float, ...]
    curve_value: tuple[float, ...]
    t_ns: int
    mono_ns: int


class Budget(Message, tag="budget", frozen=True):
    """A parent's grant; the lease counts from the mint of the echoed nonce."""

    parent: Name
    region: Name
    epoch: Count
    seq: Count
    nonce: Count
    lease_s: float
    granted_w: Watts
    guaranteed_w: Watts
    t_ns: int
