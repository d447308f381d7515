"""Frames of a whole fleet, taken together: what a node usually says costs a few microseconds, not a hundred.

Ten thousand frames a second and more come in. Nearly all of them are one look at the boards that the node had a
moment ago, on the same boot: these wait for a few milliseconds and go into the columns as one array, most of them
without being decoded (`moulds.py`). Whatever is unusual about a frame sends it to the desk, which judges it alone.
All ways give the same beliefs.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import NamedTuple

import numpy as np

from easyrider import frame_batch, log, subjects
from easyrider.boundary import stopped
from easyrider.bus_port import Arrival, Crowd
from easyrider.delivery import failed, received, understood
from easyrider.messages import NodeFrame
from easyrider_policy import dropped
from easyrider_policy.core.fleet import Bools, Fleet, Floats
from easyrider_policy.core.looks import Ints, Looks
from easyrider_policy.handlers import FRESH_S, Desk
from easyrider_policy.moulds import Fitting, Moulds, Usual
from easyrider_policy.waiting_words import Word, arrived_ns, tell_together

_LOG = log.get("policy")
_HANDLED, _FAILED = received.labels("node_frame"), failed.labels("node_frame")

GATHER_S = 0.005
"""How long frames wait for others."""
MOST = 4096
"""As many are not waited with."""


class Taken(NamedTuple):
    """A frame that was decoded and is what its node usually says."""

    usual: Usual
    frame: NodeFrame
    word: Word


class Intake:
    """Takes frames of one scope. `taken` is called with the receiver's seconds once the columns hold them."""

    def __init__(self, desk: Desk, taken: Callable[[float], None]) -> None:
        self._desk, self._picture, self._taken = desk, desk.picture, taken
        self._waiting: list[Word] = []
        self._timer: asyncio.TimerHandle | None = None
        self._usual: dict[bytes, Usual] = {}
        self._moulds = Moulds()
        self._subjects: dict[bytes, str] = {}
        self._fleet: Fleet | None = None
        self._forgotten = 0

    def on_crowd(self, crowd: Crowd, now_ns: int) -> None:
        """They wait for others, but not for long."""
        self._waiting += [(subject, data, now_ns) for subject, data in crowd]
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
        """Everything that waits goes into the columns; of each node in the order in which it came."""
        self._follow()
        waiting, self._waiting = self._waiting, []
        for words in _rounds(waiting):
            self._take_round(words)
        _HANDLED.inc(len(waiting))
        self._taken(now_s)

    def _follow(self) -> None:
        """What was learned of nodes holds for one fleet, and as long as their boots keep their slots."""
        picture = self._picture
        if picture.fleet is self._fleet and picture.ages.forgotten == self._forgotten:
            return
        self._fleet, self._forgotten = picture.fleet, picture.ages.forgotten
        self._usual, self._moulds = {}, Moulds()
        self._subjects = {subjects.frame(picture.region, name).encode(): name for name in picture.fleet.nodes}

    def _take_round(self, words: list[Word]) -> None:
        """Frames of different nodes."""
        fitting, left = stopped(partial(self._moulds.sift, words), partial(self._unsifted, words))
        for frames in fitting:
            left += stopped(partial(self._take_usual, frames), partial(self._judge_each, frames.words))
        alike: defaultdict[int, list[Taken]] = defaultdict(list)  # by how many boards a node has
        for word in left:
            stopped(partial(self._take_left, word, alike), partial(_tell, word))
        for frames_alike in alike.values():
            every = [word for _, _, word in frames_alike]
            stopped(partial(self._take_alike, frames_alike), partial(self._judge_each, every))

    def _take_usual(self, frames: Fitting) -> list[Word]:
        """Frames that fit a mould, but for those that it does not decide on: these are left."""
        boots, ages = self._picture.safety.ledger.roll.boot, self._picture.ages
        usual = ~ages.all_ahead(frames.slots, frames.shape.mono_ns(frames.block), frames.arrived_ns)
        known, said = list(map(boots.__getitem__, frames.nodes.tolist())), frames.boots
        if known != said:
            usual &= np.array([boot == mine for boot, mine in zip(known, said, strict=True)])
        if usual.all():
            self._take_fitting(frames)
            return []
        if usual.any():
            self._take_fitting(frames.some(usual))
        return frames.some(~usual).words

    def _unsifted(self, words: list[Word], fault: Exception) -> tuple[list[Fitting], list[Word]]:
        """No mould serves any more: all of them are decoded, and moulds are learned afresh."""
        self._moulds = Moulds()
        tell_together("frames", fault)
        return [], words

    def _judge_each(self, words: list[Word], fault: Exception) -> list[Word]:
        """Frames that cannot be taken together go to the desk one by one: one costs no other node its own."""
        tell_together("frames", fault)
        for word in words:
            stopped(partial(self._judge, word), partial(_tell, word))
        return []

    def _judge(self, word: Word) -> None:
        subject, data, arrived_ns = word
        arrival = Arrival(subject.decode(), arrived_ns)
        frame = understood(_LOG, arrival.subject, data, (NodeFrame,))
        if isinstance(frame, NodeFrame):
            self._desk.on_frame(frame, arrival)

    def _take_left(self, word: Word, alike: Mapping[int, list[Taken]]) -> None:
        """A frame that fits no mould: it is decoded, and goes to the desk unless it is a usual one after all."""
        subject, data, arrived_ns = word
        if subject not in self._subjects:
            dropped.stranger(subject)
            return
        where = self._subjects.get(subject, "")
        arrival = Arrival(subjects.frame(self._picture.region, where), arrived_ns)
        frame = understood(_LOG, arrival.subject, data, (NodeFrame,))
        if not isinstance(frame, NodeFrame):
            return
        usual = self._as_usual(frame, subject, where)
        if usual is None:
            self._usual.pop(subject, None)
            self._desk.on_frame(frame, arrival)
            return
        alike[usual.boards].append(Taken(usual, frame, word))

    def _as_usual(self, frame: NodeFrame, subject: bytes, where: str) -> Usual | None:
        """What is known of its node, where the frame says nothing else; None: the desk must judge it.

        A list of boards that is said again with the hash known is no news.
        """
        usual = self._usual.get(subject) or self._learn(frame, subject, where)
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

    def _take_fitting(self, frames: Fitting) -> None:
        """Read by where things stand in them."""
        shape, block = frames.shape, frames.block
        looks = Looks(
            nodes=frames.nodes,
            rows=frames.boards,
            mean_w=shape.mean_w(block),
            limit_w=shape.limit_w(block),
            read_ns=shape.read_ns(block),
            minted_s=self._minted_s(frames.names, frames.slots, shape.mono_ns(block), frames.arrived_ns),
        )
        fresh = self._believe(looks, frames.arrived_ns)
        if shape.slow:  # once a second of each node
            rows, gathering = looks.rows[fresh].ravel(), self._picture.gathering
            gathering.add_reasons(rows, shape.reasons(block)[fresh].ravel())
            gathering.add_temperatures(rows, shape.temperature_c(block)[fresh].ravel())

    def _take_alike(self, alike: list[Taken]) -> None:
        """Frames of different nodes, each with one look at as many boards, decoded; their nodes' moulds from now on."""
        slots, mono_ns = (
            np.array(each) for each in zip(*((t.usual.slot, t.frame.mono_ns) for t in alike), strict=True)
        )
        good = frame_batch.finite([frame for _, frame, _ in alike])
        good &= ~self._picture.ages.all_ahead(slots, mono_ns, arrived_ns([one.word for one in alike]))
        for _, frame, (subject, _, at_ns) in (alike[at] for at in np.flatnonzero(~good).tolist()):
            self._desk.on_frame(frame, Arrival(subject.decode(), at_ns))
        alike = [alike[at] for at in np.flatnonzero(good).tolist()]
        if not alike:
            return
        usual, frames = [one.usual for one in alike], [one.frame for one in alike]
        came_ns = arrived_ns([one.word for one in alike])
        looks = Looks(
            nodes=np.array([one.node for one in usual]),
            rows=np.array([one.rows for one in usual]),
            mean_w=frame_batch.mean_w(frames),
            limit_w=frame_batch.limit_w(frames),
            read_ns=frame_batch.read_ns(frames),
            minted_s=self._minted_s([one.name for one in usual], slots[good], mono_ns[good], came_ns),
        )
        fresh = self._believe(looks, came_ns).tolist()
        for (one, frame, (subject, data, _)), is_fresh in zip(alike, fresh, strict=True):
            if frame.slow_ok and is_fresh:
                self._picture.gathering.add_reasons(one.rows, frame_batch.reasons(frame))
                self._picture.gathering.add_temperatures(one.rows, frame_batch.temperature_c(frame))
            self._moulds.learn(subject, data, frame, one)

    def _minted_s(self, names: list[str], slots: Ints, mono_ns: Ints, arrived_ns: Ints) -> Floats:
        """(F,) when frames were made, in the receiver's seconds; noted as their nodes' newest word."""
        minted_s, known_s = (
            self._picture.ages.all_minted_s(slots, mono_ns, arrived_ns),
            self._picture.frames_s,
        )
        before_s = np.fromiter(map(known_s.get, names, repeat(-np.inf)), np.float64, len(names))
        known_s.update(zip(names, np.maximum(minted_s, before_s).tolist(), strict=True))
        self._desk.frames_s = max(self._desk.frames_s, float(minted_s.max()))
        return minted_s

    def _believe(self, looks: Looks, arrived_ns: Ints) -> Bools:
        """(F,) frames that came soon enough to be readings."""
        picture = self._picture
        picture.safety.ledger.looks_heard(looks)
        late = arrived_ns / 1e9 - looks.minted_s > FRESH_S
        dropped.late(int(late.sum()))
        fresh = looks if not late.any() else looks.some(~late)
        picture.gathering.add_looks(fresh.rows.ravel(), fresh.mean_w.ravel(), fresh.limit_w.ravel())
        return ~late

    def _learn(self, frame: NodeFrame, subject: bytes, where: str) -> Usual | None:
        """What this node usually says, if a list that is known names all its boards in the fleet's order."""
        picture = self._picture
        node = picture.fleet.node_index.get(frame.node)
        if node is None or where != frame.node:
            return None
        rows, mine = picture.rows_of(frame.node, frame.gpus_hash), picture.fleet.gpus_of(node)
        if rows is None or not len(rows) == frame.gpu_count == mine.stop - mine.start > 0:
            return None
        if not np.array_equal(rows, np.arange(mine.start, mine.stop)):
            return None
        if picture.safety.ledger.roll.boot[node] != frame.boot_id:
            return None
        slot = picture.ages.slot(frame.node, frame.boot_id)
        usual = Usual(node, frame.node, frame.boot_id, frame.gpus_hash, len(rows), rows, slot)
        self._usual[subject] = usual
        return usual


def _rounds(waiting: list[Word]) -> Iterator[list[Word]]:
    """Words in turns: none of them has two of one subject, and each subject's keep their order."""
    if len({subject for subject, _, _ in waiting}) == len(waiting):
        yield waiting
        return
    said: defaultdict[bytes, int] = defaultdict(int)
    rounds: list[list[Word]] = []
    for word in waiting:
        turn = said[word[0]]
        said[word[0]] += 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(word)
    yield from rounds


def _tell(word: Word, fault: Exception) -> None:
    _FAILED.inc()
    log.bounded(_LOG, f"frame {type(fault).__name__}", 1.0).error(
        "a frame could not be taken; the next one is",
        subject=word[0].decode(errors="replace"),
        exc_info=fault,
    )
