"""What a region may draw by its parent's word: a lease that counts from the mint of the nonce it echoes.

Times are this host's boot clock, in ns, so that sleep counts too. What is obeyed was kept on disk before (`Tenure`),
so that the same boot can prove a running lease; a new host or boot has none, and keeps the guaranteed share.
"""

import math
from collections import deque
from dataclasses import dataclass, replace

from easyrider.messages import Budget

NONCES = 128
SECOND_NS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """A budget as it was taken: the fence for older ones, and a lease that runs on the boot it was minted on."""

    boot_id: str
    epoch: int
    seq: int
    minted_ns: int
    lease_s: float
    granted_w: float
    target_w: float
    led_epoch: int = -1  # of the region's own leader that took it; -1: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Wall watts of the region's domain: `hard_w` for what could be drawn, `target_w` for what is. `left_s`: 0 in
    silence; `granted_w` None where the guaranteed share holds."""

    hard_w: float
    target_w: float
    left_s: float
    granted_w: float | None


class Lease:
    """One region's side. `reaction_s`: from a smaller envelope until every reachable board surely keeps it."""

    def __init__(
        self, boot_id: str, *, guaranteed_w: float, reaction_s: float, longest_s: float, kept: Tenure | None
    ) -> None:
        self.guaranteed_w, self.reaction_s, self.longest_s = guaranteed_w, reaction_s, longest_s
        self.tenure = self.kept = kept  # obeyed, and on disk: what a restart would obey
        self.led_epoch = -1
        self._boot_id = boot_id
        self._minted: deque[int] = deque(maxlen=NONCES)
        self._newest = -1

    @property
    def fence(self) -> tuple[int, int]:
        """(epoch, seq) of the newest budget obeyed, on whatever boot; nothing at or below it is obeyed."""
        return _key(self.tenure)

    @property
    def named(self) -> tuple[int, int]:
        """The same as a demand may name it: of a budget that is on disk. Naming one frees those before it."""
        return _key(self.kept)

    def led_by(self, epoch: int) -> None:
        """The region's leader has this epoch now, ours. If another can have led since the lease was taken, it is
        void and its fence stays: that other one may have named a smaller budget, and the rest is lent on."""
        if epoch == self.led_epoch:
            return
        self.led_epoch = epoch
        if self.tenure is not None and self.tenure.led_epoch not in (epoch - 1, epoch):
            self.tenure = replace(self.tenure, lease_s=0.0)
            self.kept = None if self.kept is None else replace(self.kept, lease_s=0.0)

    def mint(self, boot_ns: int) -> int:
        """A nonce that only this process will know as its own."""
        nonce = self._newest = max(boot_ns, self._newest + 1)
        self._minted.append(nonce)
        return nonce

    def forget_nonces(self) -> None:
        """Obey no budget that is on its way."""
        self._minted.clear()

    def refusal(self, budget: Budget, boot_ns: int) -> str | None:
        """Why a budget is not obeyed; None: take it."""
        if (budget.epoch, budget.seq) <= self.fence:
            return "fenced"
        if budget.nonce not in self._minted:
            return "nonce_unknown"
        if not (math.isfinite(budget.lease_s) and budget.lease_s > 0):
            return "no_lease"
        if boot_ns - budget.nonce >= min(budget.lease_s, self.longest_s) * SECOND_NS:
            return "late"
        return None

    def as_taken(self, budget: Budget, boot_ns: int) -> Tenure:
        """What is to be kept on disk before `take`.

        The first budget of a leader raises nothing: it may rest on a demand from before the last word of the
        leader before. It fences that one, and what is obeyed is told with the next demand.
        """
        granted_w = budget.granted_w
        target_w = granted_w if budget.target_w is None else min(budget.target_w, granted_w)
        if budget.epoch > self.named[0]:
            now = self.envelope(boot_ns)
            granted_w, target_w = min(granted_w, now.hard_w), min(target_w, now.target_w)
        return Tenure(
            boot_id=self._boot_id,
            epoch=budget.epoch,
            seq=budget.seq,
            minted_ns=budget.nonce,
            lease_s=min(budget.lease_s, self.longest_s),
            granted_w=granted_w,
            target_w=target_w,
            led_epoch=self.led_epoch,
        )

    def take(self, tenure: Tenure) -> None:
        """Obey a budget that is on disk. After the first one of a leader its others raise nothing either, until it
        has heard what this one came to."""
        if _key(tenure) > self.fence:
            if tenure.epoch > self.named[0]:
                self.forget_nonces()
            self.tenure = self.kept = tenure

    def take_unkept(self, tenure: Tenure) -> None:
        """Obey a budget that the disk did not take, as far as it asks for less; its lease is not begun anew. It is
        not named: a restart would obey the one on disk."""
        now = self.tenure
        if now is None or now.boot_id != self._boot_id or _key(tenure) <= self.fence:
            return
        self.tenure = replace(
            now,
            epoch=tenure.epoch,
            seq=tenure.seq,
            granted_w=min(now.granted_w, tenure.granted_w),
            target_w=min(now.target_w, tenure.target_w),
        )

    def envelope(self, boot_ns: int) -> Envelope:
        """What holds now: the grant until `reaction_s` before its lease ends, then the guaranteed share."""
        return self._envelope(self.tenure, boot_ns)

    def provable_w(self, boot_ns: int) -> float | None:
        """What a restart would obey of the budget named, the most that a demand has to tell; None: no lease runs."""
        return self._envelope(self.kept, boot_ns).granted_w

    def _envelope(self, now: Tenure | None, boot_ns: int) -> Envelope:
        left_s = 0.0
        if now is not None and now.boot_id == self._boot_id and boot_ns >= now.minted_ns - SECOND_NS:
            left_s = max(0.0, now.lease_s - max(0, boot_ns - now.minted_ns) / SECOND_NS)
        if now is None or left_s <= self.reaction_s:
            return Envelope(
                hard_w=self.guaranteed_w, target_w=self.guaranteed_w, left_s=left_s, granted_w=None
            )
        return Envelope(
            hard_w=now.granted_w,
            target_w=min(now.target_w, now.granted_w),
            left_s=left_s,
            granted_w=now.granted_w,
        )


def _key(tenure: Tenure | None) -> tuple[int, int]:
    return (0, 0) if tenure is None else (tenure.epoch, tenure.seq)
