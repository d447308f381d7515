"""Frames of a whole fleet, taken together: what a node usually says costs a few microseconds, not a hundred.

Ten thousand frames a second and more come in. Nearly all of them are one look at the boards that the node had a
moment ago, on the same boot: these wait for a few milliseconds and go into the columns as one array. Whatever is
unusual about a frame sends it to the desk, which judges it alone. Both ways give the same beliefs.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from easyrider import frame_batch, subjects
from easyrider.bus_port import Arrival
from easyrider.messages import NodeFrame
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.looks import Ints, Looks
from easyrider_policy.handlers import FRESH_S, Desk

GATHER_S = 0.005
"""How long frames wait for others."""
MOST = 4096
"""As many are not waited with."""


class Usual(NamedTuple):
    """What a node's frames say of themselves as long as nothing is unusual about them."""

    node: int
    name: str
    boot_id: str
    gpus_hash: bytes
    boards: int
    rows: Ints


Taken = tuple[Usual, NodeFrame, Arrival]


class Intake:
    """Takes frames of one scope. `taken` is called with the receiver's seconds once the columns hold them."""

    def __init__(self, desk: Desk, taken: Callable[[float], None]) -> None:
        self._desk, self._picture, self._taken = desk, desk.picture, taken
        self._waiting: list[tuple[NodeFrame, Arrival]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._usual: dict[str, Usual] = {}
        self._fleet: Fleet | None = None

    def on_frame(self, frame: NodeFrame, arrival: Arrival) -> None:
        """It waits for others, but not for long."""
        self._waiting.append((frame, arrival))
        if len(self._waiting) >= MOST:
            self._on_timer()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._on_timer)

    def _on_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.take(time.monotonic())

    def take(self, now_s: float) -> None:
        """Everything that waits goes into the columns, in the order in which it came."""
        if self._picture.fleet is not self._fleet:  # rows are another fleet's
            self._usual, self._fleet = {}, self._picture.fleet
        waiting, self._waiting = self._waiting, []
        alike: defaultdict[int, list[Taken]] = defaultdict(list)  # by how many boards a node has
        nodes: set[int] = set()
        index = self._picture.fleet.node_index
        for frame, arrival in waiting:
            usual = self._as_usual(frame, arrival)
            node = index.get(frame.node, -1) if usual is None else usual.node
            if node in nodes:  # words of one node are taken in their order, of several in any
                self._take_all(alike)
                alike, nodes = defaultdict(list), set()
            if usual is None:
                self._desk.on_frame(frame, arrival)
                self._usual.pop(arrival.subject, None)
            else:
                alike[usual.boards].append((usual, frame, arrival))
                nodes.add(node)
        self._take_all(alike)
        self._taken(now_s)

    def _as_usual(self, frame: NodeFrame, arrival: Arrival) -> Usual | None:
        """What is known of its node, where the frame says nothing else; None: the desk must judge it.

        A list of boards that is said again with the hash known is no news.
        """
        usual = self._usual.get(arrival.subject) or self._learn(frame, arrival)
        if (
            usual is None
            or frame.boot_id != usual.boot_id
            or frame.gpus_hash != usual.gpus_hash
            or frame.node != usual.name
            or frame.gpu_count != usual.boards
            or self._picture.safety.ledger.roll.boot[usual.node] != usual.boot_id
        ):
            return None
        return usual if frame_batch.is_whole(frame) else None

    def _take_all(self, alike: Mapping[int, list[Taken]]) -> None:
        for frames in alike.values():
            self._take_alike(frames)

    def _take_alike(self, alike: list[Taken]) -> None:
        """Frames of different nodes, each with one look at as many boards."""
        if not alike:
            return
        picture, frames = self._picture, [frame for _, frame, _ in alike]
        finite = frame_batch.finite(frames)
        if not finite.all():
            for _, frame, arrival in (alike[at] for at in np.flatnonzero(~finite).tolist()):
                self._desk.on_frame(frame, arrival)
            self._take_alike([alike[at] for at in np.flatnonzero(finite).tolist()])
            return
        arrived_ns = np.array([arrival.mono_ns for _, _, arrival in alike])
        looks = Looks(
            nodes=np.array([usual.node for usual, _, _ in alike]),
            rows=np.array([usual.rows for usual, _, _ in alike]),
            mean_w=frame_batch.mean_w(frames),
            limit_w=frame_batch.limit_w(frames),
            read_ns=frame_batch.read_ns(frames),
            minted_s=np.array([self._desk.minted_s(frame, arrival) for _, frame, arrival in alike]),
        )
        picture.safety.ledger.looks_heard(looks)
        late = arrived_ns / 1e9 - looks.minted_s > FRESH_S
        self._desk.dropped_late(int(late.sum()))
        fresh = looks if not late.any() else looks.some(~late)
        picture.gathering.add_looks(fresh.rows.ravel(), fresh.mean_w.ravel(), fresh.limit_w.ravel())
        for usual, frame, _ in alike:
            if frame.slow_ok:  # once a second of each node
                picture.gathering.add_reasons(usual.rows, frame_batch.reasons(frame))

    def _learn(self, frame: NodeFrame, arrival: Arrival) -> Usual | None:
        """What this node usually says, if a list that is known names all its boards in the fleet's order."""
        picture = self._picture
        node = picture.fleet.node_index.get(frame.node)
        if node is None or arrival.subject != subjects.frame(picture.region, frame.node):
            return None
        rows, mine = picture.rows_of(frame.node, frame.gpus_hash), picture.fleet.gpus_of(node)
        if rows is None or not len(rows) == frame.gpu_count == mine.stop - mine.start > 0:
            return None
        if not np.array_equal(rows, np.arange(mine.start, mine.stop)):
            return None
        usual = Usual(node, frame.node, frame.boot_id, frame.gpus_hash, len(rows), rows)
        self._usual[arrival.subject] = usual
        return usual
