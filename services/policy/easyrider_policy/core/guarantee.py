"""The guaranteed share that a region may obey: what its rules name, but no more than it had until its parent agrees.

Rules that swap shares reach regions one by one. Who gets less has it at once; who gets more waits until a budget
names the higher share, which the parent does when every sum holds with it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Wall watts of the region's domain that are obeyed without a lease, under this version of the rules."""

    version: int
    watts: float


class Guarantee:
    """`obeyed` now; `kept`: the newest on disk, whose version alone may be told: it disavows the shares before."""

    def __init__(self, kept: Share | None) -> None:
        self.obeyed = self.kept = kept
        self._ruled_w = 0.0

    def adopt(self, version: int, ruled_w: float) -> bool:
        """Rules name this share. Whether less is obeyed than before."""
        before, self._ruled_w = self.obeyed, ruled_w
        watts = ruled_w if before is None else min(before.watts, ruled_w)
        self.obeyed = Share(version=version, watts=watts)
        return before is not None and watts < before.watts

    def higher(self, named_w: float) -> Share | None:
        """What is to be kept on disk before `take`, where the parent names a higher share than is obeyed."""
        now, watts = self.obeyed, min(named_w, self._ruled_w)
        if now is None or watts <= now.watts:
            return None
        return Share(version=now.version, watts=watts)

    def unkept(self) -> Share | None:
        """What the disk does not hold yet."""
        return None if self.obeyed == self.kept else self.obeyed

    def take(self, share: Share) -> None:
        """It is on disk. A share of rules that are no longer ours is not obeyed."""
        self.kept = share
        if self.obeyed is not None and self.obeyed.version == share.version:
            self.obeyed = share
