"""Nonces that carry the moment of their mint, on this node's boot clock, provably of this boot and node.

A nonce is the mint in microseconds since boot (48 bits) over a tag of 15 bits drawn from boot, tree and node.
It needs no memory: a guardian that was killed and started again can still tell the age of a nonce it said
before. The tag is no secret; it catches a nonce of another boot or node, not a forger.
"""

import hashlib
from dataclasses import dataclass

_TAG_BITS = 15
_TAG_MASK = (1 << _TAG_BITS) - 1
_US_LIMIT = 1 << 48


@dataclass(frozen=True, slots=True)
class Minter:
    """Mints and reads the nonces of one boot of one node of one tree."""

    boot_id: str
    tree: str
    node: str

    def mint(self, now_ns: int) -> int:
        """The nonce of `now_ns` (CLOCK_BOOTTIME); never younger than the moment itself."""
        mint_us = now_ns // 1000
        return mint_us << _TAG_BITS | self._tag(mint_us)

    def mint_ns(self, nonce: int) -> int | None:
        """When the nonce was minted, on CLOCK_BOOTTIME; None if it is not of this boot, tree and node."""
        mint_us = nonce >> _TAG_BITS
        if nonce < 0 or mint_us >= _US_LIMIT or nonce & _TAG_MASK != self._tag(mint_us):
            return None
        return mint_us * 1000

    def _tag(self, mint_us: int) -> int:
        text = f"{self.boot_id}/{self.tree}/{self.node}/{mint_us}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=2).digest(), "big") & _TAG_MASK
