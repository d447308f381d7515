"""Which node was heard when, on which boot, and the freshest nonce it minted.

Times are the coordinator's monotonic seconds at which a message was *minted*: arrival less the age that the
source's own clock shows, so that a bus which held messages back makes nobody look alive.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Fleet, Floats

TRUST_S = 20.0
"""A host that says nothing for longer may have rebooted, and a rebooted host is uncapped."""
HEARTBEAT_S = 1.0
"""Period of `NodeState`."""
QUIET_S = 3 * HEARTBEAT_S
"""A node quiet for longer gets no raise: nobody would see what came of it."""
BOOTS_KEPT = 16
"""Of a node that were replaced. One that is forgotten is taken for a new one when it speaks: its boards count device
maximum until an ack, and no ack at or below the newest key taken counts, whatever boot it names. So forgetting one
costs room for raises and never a limit."""
_WORDS = 3
"""Of a boot that was replaced, at least, before it is believed to be the one that runs."""


class Going(NamedTuple):
    """A boot that was replaced and speaks on: since when without a word of the one that replaced it, how often."""

    boot_id: str
    since_s: float
    words: int


class Key(NamedTuple):
    """What orders commands: the leader's epoch, then its sequence."""

    epoch: int
    seq: int


NOTHING = Key(-1, -1)


class Roll:
    """One row per node of the fleet; nothing is known of a node never heard."""

    def __init__(self, fleet: Fleet) -> None:
        count = len(fleet.nodes)
        self.heard_s: Floats = np.full(count, -np.inf)
        self.nonce: NDArray[np.int64] = np.full(count, -1, dtype=np.int64)
        self.nonce_s: Floats = np.full(count, -np.inf)
        self.boot: list[str | None] = [None] * count
        self.earlier_boots: list[tuple[str, ...]] = [()] * count  # replaced ones, the newest last
        self._going: dict[int, Going] = {}

    def boot_is(self, node: int, boot_id: str) -> bool | None:
        """True: the boot known; False: a boot seen earlier, the message is old; None: a boot never seen."""
        if self.boot[node] == boot_id:
            return True
        return False if boot_id in self.earlier_boots[node] else None

    def booted(self, node: int, boot_id: str) -> None:
        """Take a new boot as the present one; its nonces start afresh."""
        before = self.boot[node]
        if before is not None:
            earlier = (*self.earlier_boots[node], before)
            self.earlier_boots[node] = tuple(boot for boot in earlier if boot != boot_id)[-BOOTS_KEPT:]
        self.boot[node] = boot_id
        self.nonce[node], self.nonce_s[node] = -1, -np.inf

    def goes_on(self, node: int, boot_id: str, minted_s: float) -> bool:
        """Whether an earlier boot is the one that runs: it speaks on, and the one that replaced it says nothing.

        What the old boot of a host had said before was minted before the new one's first word, however late it
        comes. So only words minted after the newest word of the present boot tell, over as long as a node may be
        quiet.
        """
        going = self._going.get(node)
        if minted_s <= self.heard_s[node]:
            return False
        if going is None or going.boot_id != boot_id or going.since_s <= self.heard_s[node]:
            going = Going(boot_id, minted_s, 0)
        going = self._going[node] = going._replace(words=going.words + 1)
        goes = minted_s - going.since_s >= QUIET_S and going.words >= _WORDS
        if goes:
            del self._going[node]
        return goes

    def heard(self, node: int, minted_s: float) -> None:
        """Any message of the present boot."""
        self.heard_s[node] = max(self.heard_s[node], minted_s)

    def all_heard(self, nodes: NDArray[np.int64], minted_s: Floats) -> None:
        """The same of several nodes, each once."""
        self.heard_s[nodes] = np.maximum(self.heard_s[nodes], minted_s)

    def nonce_heard(self, node: int, nonce: int, minted_s: float) -> None:
        """A nonce to echo; an older one that comes late is left."""
        if minted_s >= self.nonce_s[node]:
            self.nonce[node], self.nonce_s[node] = nonce, minted_s

    def nonces_heard(self, nodes: NDArray[np.int64], nonces: NDArray[np.int64], minted_s: Floats) -> None:
        """The same of several nodes, each once."""
        newer = minted_s >= self.nonce_s[nodes]
        fresh = nodes[newer]
        self.nonce[fresh], self.nonce_s[fresh] = nonces[newer], minted_s[newer]

    def moved_to(self, fleet: Fleet, old_nodes: NDArray[np.int64]) -> "Roll":
        """The same on another fleet; `old_nodes` (N,) says where each of its nodes stood, -1: nowhere."""
        moved = Roll(fleet)
        for node, before in enumerate(old_nodes):
            if before >= 0:
                moved.heard_s[node], moved.nonce_s[node] = self.heard_s[before], self.nonce_s[before]
                moved.nonce[node] = self.nonce[before]
                moved.boot[node], moved.earlier_boots[node] = self.boot[before], self.earlier_boots[before]
        return moved

    def silent(self, now_s: float) -> Bools:
        """(N,) nothing heard for longer than a reboot may hide in."""
        return now_s - self.heard_s > TRUST_S

    def quiet(self, now_s: float) -> Bools:
        """(N,) no nonce fresh enough for a raise."""
        return now_s - self.nonce_s > QUIET_S
