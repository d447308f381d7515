"""States and acks of a whole fleet, taken together: what a node says again costs a few microseconds, not fifty.

A node says its state once a second and answers as often, and nearly always says of its boards what it said before:
such words wait for a few milliseconds and go into the columns as one array. Whatever is unusual about one sends it to
the desk, which judges it alone, after all that its node said before. Both ways give the same beliefs.
"""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from easyrider import log, metrics, subjects
from easyrider.boundary import stopped
from easyrider.bus_port import Arrival, Crowd
from easyrider.delivery import understood
from easyrider.messages import GpuState, Leaving, LimitAck, Message, NodeState
from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.heard import Acks, States
from easyrider_policy.core.said import AckedBoards, Rows, ShownBoards, acked_boards, shown_boards
from easyrider_policy.core.silence import Key
from easyrider_policy.handlers import Desk

_LOG = log.get("policy")
_ASIDE = metrics.counter("policy_words_failed_total", "states and acks that could not be judged")
GATHER_S = 0.005
"""How long words wait for others, unless a look comes first."""
MOST = 4096
Word = NodeState | Leaving | LimitAck


@dataclass(slots=True)
class Known:
    """What the desk made of a node's last state and last ack, where both named all its boards."""

    node: int
    shown: ShownBoards | None = None
    acked: AckedBoards | None = None


class Gathered(NamedTuple):
    """One state that waits with others, and its boards as columns."""

    node: int
    state: NodeState
    minted_s: float
    boards: ShownBoards


class Answered(NamedTuple):
    """The same of an ack."""

    node: int
    ack: LimitAck
    minted_s: float
    boards: AckedBoards


@dataclass(slots=True)
class Batch:
    """Words of different nodes that wait to be believed together."""

    words: list[tuple[Word, Arrival]] = field(default_factory=list)
    states: list[Gathered] = field(default_factory=list)
    acks: list[Answered] = field(default_factory=list)
    nodes: set[int] = field(default_factory=set)

    def take(self) -> tuple[list[tuple[Word, Arrival]], list[Gathered], list[Answered]]:
        """What is gathered; nothing is after that."""
        taken = self.words, self.states, self.acks
        self.words, self.states, self.acks, self.nodes = [], [], [], set()
        return taken


class Words:
    """Takes states and acks of one scope."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._picture = desk, desk.picture
        self._waiting: list[tuple[Word, Arrival]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._known: dict[str, Known] = {}
        self._fleet: Fleet | None = None

    def on_states(self, crowd: Crowd, now_ns: int) -> None:
        """States and wishes to leave, as the bus hands them over."""
        self._hear(crowd, now_ns, (NodeState, Leaving))

    def on_acks(self, crowd: Crowd, now_ns: int) -> None:
        """The same of acks."""
        self._hear(crowd, now_ns, (LimitAck,))

    def _hear(self, crowd: Crowd, now_ns: int, types: tuple[type[Message], ...]) -> None:
        for subject, data in crowd:
            arrival = Arrival(subject.decode(errors="replace"), now_ns)
            word = understood(_LOG, arrival.subject, data, types)
            if isinstance(word, NodeState | Leaving | LimitAck):
                self.on_word(word, arrival)

    def on_word(self, word: Word, arrival: Arrival) -> None:
        """It waits for others, but not for long."""
        self._waiting.append((word, arrival))
        if len(self._waiting) >= MOST:
            self.take()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self.take)

    def take(self, _now_s: float = 0.0) -> None:
        """Everything that waits is believed, in the order in which it came from each node."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._picture.fleet is not self._fleet:  # rows are another fleet's
            self._known, self._fleet = {}, self._picture.fleet
        waiting, self._waiting = self._waiting, []
        batch = Batch()
        for word, arrival in waiting:
            stopped(partial(self._take_one, batch, word, arrival), partial(_left_aside, word))
        self._believe(batch)

    def _take_one(self, batch: Batch, word: Word, arrival: Arrival) -> None:
        """One word among the others that wait, or, where it is unusual, judged after them."""
        known = self._known.get(f"{word.node} {arrival.subject}")
        if self._picture.fleet.node_index.get(word.node, -1) in batch.nodes or self._may_end_the_lead(word):
            self._believe(batch)
        if (
            known is None
            or self._picture.ages.ahead(word.node, word.boot_id, word.mono_ns, arrival.mono_ns)
            or not self._repeats(known, word)
        ):
            if isinstance(word, LimitAck):  # whose is the newest matters to the lead
                self._believe(batch)
            self._judge(word, arrival)
            return
        minted_s = self._picture.ages.minted_s(word.node, word.boot_id, word.mono_ns, arrival.mono_ns)
        batch.nodes.add(known.node)
        batch.words.append((word, arrival))
        if isinstance(word, NodeState) and known.shown is not None:
            batch.states.append(Gathered(known.node, word, minted_s, known.shown))
        elif isinstance(word, LimitAck) and known.acked is not None:
            batch.acks.append(Answered(known.node, word, minted_s, known.acked))

    def _believe(self, batch: Batch) -> None:
        """All that was gathered; one by one if it cannot be believed together: one word costs nobody else theirs."""
        words, states, acks = batch.take()
        stopped(partial(self._take_in, states, acks), partial(self._judge_each, words))

    def _judge_each(self, words: list[tuple[Word, Arrival]], fault: Exception) -> None:
        log.bounded(_LOG, "words", 10.0).error("words had to be judged one by one", exc_info=fault)
        for word, arrival in words:
            stopped(partial(self._judge, word, arrival), partial(_left_aside, word))

    def _may_end_the_lead(self, word: Word) -> bool:
        """Whether it matters to words of other nodes when it is heard."""
        return not isinstance(word, Leaving) and word.highest_epoch > self._picture.safety.lead.highest_epoch

    def _repeats(self, known: Known, word: Word) -> bool:
        safety, node = self._picture.safety, known.node
        if word.boot_id != safety.ledger.roll.boot[node] or word.tree != self._picture.rules.id:
            return False
        if isinstance(word, NodeState):
            return self._repeats_state(known, word)
        return isinstance(word, LimitAck) and self._repeats_ack(known, word)

    def _repeats_state(self, known: Known, state: NodeState) -> bool:
        picture, ledger, node = self._picture, self._picture.safety.ledger, known.node
        return (
            known.shown is not None
            and ledger.shown_boards.get(node) is known.shown
            and not state.leaving
            and state.highest_epoch <= picture.safety.lead.highest_epoch
            and ledger.fence[node] >= ledger.lead_epoch
            and picture.safety.leavings.quiet(node)
            and state.held == (state.node in picture.held_nodes)
            and not picture.boards_moved
            and picture.lists_of(state.node) == 1
            and (known.shown.said == state.gpus or self._moves_shown(known, known.shown, state))
        )

    def _repeats_ack(self, known: Known, ack: LimitAck) -> bool:
        safety, node = self._picture.safety, known.node
        return (
            known.acked is not None
            and safety.ledger.ack_boards.get(node) is known.acked
            and ack.accepted
            and ack.highest_epoch <= safety.lead.highest_epoch
            and ack.epoch <= safety.lead.highest_epoch
            and Key(ack.epoch, ack.seq) > safety.ledger.acked_key[node]
            and safety.leavings.quiet(node)
            and (known.acked.said == ack.gpus or self._moves_acked(known, ack))
        )

    def _moves_shown(self, known: Known, before: ShownBoards, state: NodeState) -> bool:
        """Whether a state says other limits of the same boards: then they are what is known."""
        if [_board(gpu) for gpu in before.said] != [_board(gpu) for gpu in state.gpus]:
            return False
        fleet, told = self._picture.fleet, self._picture.safety.ledger.shown_boards
        shown = shown_boards(fleet, known.node, state.gpus)
        if not _covers(shown.read, fleet.gpus_of(known.node)):
            return False
        told[known.node] = known.shown = shown
        return True

    def _moves_acked(self, known: Known, ack: LimitAck) -> bool:
        """The same of an ack."""
        fleet, told = self._picture.fleet, self._picture.safety.ledger.ack_boards
        acked = acked_boards(fleet, known.node, ack.gpus)
        if not _is_whole(acked, fleet.gpus_of(known.node)):
            return False
        told[known.node] = known.acked = acked
        return True

    def _take_in(self, states: list[Gathered], acks: list[Answered]) -> None:
        """Words of different nodes."""
        if states:
            self._picture.safety.states_heard(
                States(
                    nodes=np.array([one.node for one in states]),
                    minted_s=np.array([one.minted_s for one in states]),
                    mono_ns=np.array([one.state.mono_ns for one in states]),
                    nonces=np.array([one.state.nonce for one in states]),
                    boards=[one.boards for one in states],
                )
            )
            self._desk.states_s = max(self._desk.states_s, *(one.minted_s for one in states))
        if acks:
            self._picture.safety.acks_heard(
                Acks(
                    nodes=np.array([one.node for one in acks]),
                    minted_s=np.array([one.minted_s for one in acks]),
                    mono_ns=np.array([one.ack.mono_ns for one in acks]),
                    keys=[Key(one.ack.epoch, one.ack.seq) for one in acks],
                    boards=[one.boards for one in acks],
                ),
                [one.ack.highest_epoch for one in acks],
            )
            self._desk.took([one.ack for one in acks])

    def _judge(self, word: Word, arrival: Arrival) -> None:
        """By the desk; what it took is what this node usually says, if all its boards are there."""
        if isinstance(word, LimitAck):
            self._desk.on_ack(word, arrival)
        else:
            self._desk.on_state(word, arrival)
        picture = self._picture
        node = picture.fleet.node_index.get(word.node)
        if node is None:
            return
        told, mine = picture.safety.ledger, picture.fleet.gpus_of(node)
        if mine.start == mine.stop:
            return
        if isinstance(word, LimitAck) and arrival.subject == subjects.ack(picture.region, word.node):
            acked = told.ack_boards.get(node)
            whole = (
                acked is not None and _covers(acked.rows, mine) and not any(one.refused for one in acked.said)
            )
            self._learn(word, arrival).acked = acked if whole else None
        elif isinstance(word, NodeState) and arrival.subject == subjects.state(picture.region, word.node):
            shown = told.shown_boards.get(node)
            whole = shown is not None and _covers(shown.rows, mine) and _covers(shown.read, mine)
            self._learn(word, arrival).shown = shown if whole else None

    def _learn(self, word: Word, arrival: Arrival) -> Known:
        node = self._picture.fleet.node_index[word.node]
        return self._known.setdefault(f"{word.node} {arrival.subject}", Known(node))


def _left_aside(word: Word, fault: Exception) -> None:
    """What is believed of its node stays; its next word is judged afresh."""
    _ASIDE.inc()
    log.bounded(_LOG, "word", 10.0).error("a node's word could not be judged", node=word.node, exc_info=fault)


def _covers(rows: Rows, boards: slice) -> bool:
    return isinstance(rows, slice) and (rows.start, rows.stop) == (boards.start, boards.stop)


def _is_whole(acked: AckedBoards, boards: slice) -> bool:
    return _covers(acked.rows, boards) and not any(one.refused for one in acked.said)


def _board(gpu: GpuState) -> tuple[str, float, float, bool]:
    return gpu.uuid, gpu.min_w, gpu.max_w, gpu.settable
