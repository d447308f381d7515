"""GPU names of every node's columns: said now and then, referred to by their hash in between."""

import hashlib

from easyrider.messages import NodeFrame


class Roster:
    """The last list of each node."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[bytes, tuple[str, ...]]] = {}

    def of(self, frame: NodeFrame) -> tuple[str, ...] | None:
        """UUIDs in the order of the frame's columns; None where its list was not heard yet."""
        if frame.gpus:
            uuids = tuple(frame.gpus.split(","))
            if len(uuids) != frame.gpu_count or len(set(uuids)) != len(uuids):
                return None
            self._lists[frame.node] = (hashlib.sha256(frame.gpus.encode()).digest()[:8], uuids)
        known = self._lists.get(frame.node)
        if known is None or known[0] != frame.gpus_hash or len(known[1]) != frame.gpu_count:
            return None
        return known[1]
