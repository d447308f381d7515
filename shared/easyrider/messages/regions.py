"""What passes between a coordinator and its parent.

The two may be of neighbouring versions for as long as an upgrade lasts, on hosts that nobody upgrades together: a field
that a reader does not know is passed over (shared/decisions/0040).
"""

from easyrider.messages.base import Count, Message, Name, Watts


class Demand(Message, tag="demand", frozen=True, forbid_unknown_fields=False):
    """A child's need: observed, floor and want, and what watts are worth (concave, watts against weighted work).

    Wall watts of the region's domain. It also answers: `highest_epoch` and `highest_seq` name the newest `Budget`
    that the region obeys and behind which it takes no older one, `counted_w` all that could be drawn there now.
    Columns are packed little-endian, [job].
    """

    parent: Name
    region: Name
    boot_id: Name
    nonce: Count
    observed_w: Watts | None
    floor_w: Watts | None  # None: not known
    want_w: Watts
    curve_w: tuple[float, ...]
    curve_value: tuple[float, ...]
    t_ns: int
    mono_ns: Count
    tree: str = ""
    tree_version: Count = 0
    epoch: Count = 0  # of the region's own leader: orders demands with `seq`
    seq: Count = 0
    highest_epoch: Count = 0
    highest_seq: Count = 0
    granted_w: Watts | None = None  # in force now; None: no lease runs, the guaranteed share holds
    counted_w: Watts | None = None  # None: something there cannot be counted
    job_keys: bytes = b""  # u8: first 8 bytes of SHA-256 over the id of each job that is limited there
    job_shares: bytes = b""  # f4: share of natural draw that its own limits leave to each, 0 to 1


class Budget(Message, tag="budget", frozen=True, forbid_unknown_fields=False):
    """A parent's grant; the lease counts from the mint of the echoed nonce.

    Of jobs that other coordinators limit too it echoes the smallest share: there is no use in more. Columns as in
    `Demand`.
    """

    parent: Name
    region: Name
    epoch: Count
    seq: Count
    nonce: Count
    lease_s: float
    granted_w: Watts  # what could be drawn at most
    guaranteed_w: Watts
    t_ns: int
    tree: str = ""
    target_w: Watts | None = None  # what is drawn at most, as a mean; None: the same
    job_keys: bytes = b""  # u8
    job_shares: bytes = b""  # f4
