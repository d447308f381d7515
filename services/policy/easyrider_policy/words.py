"""States and acks of a whole fleet, taken together: what a node says again costs a few microseconds, not fifty.

A node says its state once a second and answers as often, and nearly always says of its boards what it said before, but
for watts and counters: such words wait for a few milliseconds and go into the columns as one array, without being
decoded (`word_moulds.py`). Whatever is unusual about one sends it to the desk, which judges it alone, after all that
its node said before. Both ways give the same beliefs.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

import numpy as np

from easyrider import log, metrics, wire
from easyrider.boundary import stopped
from easyrider.bus_port import Arrival, Crowd
from easyrider.delivery import understood
from easyrider.messages import Leaving, LimitAck, NodeState
from easyrider_policy.core.fleet import Bools, Fleet, Ints
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.handlers import Desk
from easyrider_policy.usual_words import sayer_of
from easyrider_policy.waiting_words import Word, tell_together
from easyrider_policy.word_moulds import Fitting, WordMoulds

_LOG = log.get("policy")
_ASIDE = metrics.counter("policy_words_failed_total", "states and acks that could not be judged")
GATHER_S = 0.02
"""How long words wait for others, unless a look comes first: it takes them before it looks."""
MOST = 4096
RUNS = 4
"""Acks that fit and still have to be judged part those around them, which are judged too after so many."""


class Words:
    """Takes states and acks of one scope."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._picture = desk, desk.picture
        self._waiting: list[Word] = []
        self._timer: asyncio.TimerHandle | None = None
        self._moulds = WordMoulds()
        self._held_for: tuple[Fleet, Ledger, str, int] | None = None

    def on_states(self, crowd: Crowd, now_ns: int) -> None:
        """States and wishes to leave, as the bus hands them over; they wait for others, but not for long."""
        self._waiting += [(subject, data, now_ns) for subject, data in crowd]
        if len(self._waiting) >= MOST:
            self.take()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self.take)

    on_acks = on_states

    def take(self, _now_s: float = 0.0) -> None:
        """Everything that waits is believed, in the order in which it came from each node."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        for words in _runs(waiting):
            self._follow()
            self._take_run(words)

    def _follow(self) -> None:
        """What was learned holds for one fleet and its rules, and as long as boots keep their slots."""
        picture = self._picture
        now = picture.fleet, picture.safety.ledger, picture.rules.id, picture.ages.forgotten
        if self._held_for is None or any(
            one is not other and one != other for one, other in zip(now, self._held_for, strict=True)
        ):
            self._moulds, self._held_for = WordMoulds(), now

    def _take_run(self, words: list[Word]) -> None:
        """Words of different nodes."""
        fitting, left = stopped(partial(self._moulds.sift, words), partial(self._unsifted, words))
        begin = 0
        for at in left:
            word = _understood(words[at])
            if word is None:
                continue
            if self._matters_to_others(word):
                self._believe(fitting, words, begin, at)
                begin = at
            self._judge_one(words[at], word)
        self._believe(fitting, words, begin, len(words))

    def _unsifted(self, words: list[Word], fault: Exception) -> tuple[list[Fitting], list[int]]:
        """No mould serves any more: all of them are decoded, and moulds are learned afresh."""
        self._moulds = WordMoulds()
        tell_together("words", fault)
        return [], list(range(len(words)))

    def _matters_to_others(self, word: NodeState | Leaving | LimitAck) -> bool:
        """Whether it matters to words of other nodes when it is heard."""
        picture = self._picture
        if isinstance(word, LimitAck):  # whose is the newest matters to the lead
            return True
        if isinstance(word, Leaving):
            return False
        if word.highest_epoch > picture.safety.lead.highest_epoch:
            return True
        # A board is with the node that named it last, and a word that fits names all that the fleet has of its node:
        # whoever has claimed one before says nothing of that.
        fleet = picture.fleet
        mine = fleet.gpus_of(fleet.node_index[word.node]) if word.node in fleet.node_index else slice(0, 0)
        rows = (fleet.gpu_index.get(board.uuid) for board in word.gpus)
        return any(row is not None and not mine.start <= row < mine.stop for row in rows)

    def _believe(self, fitting: list[Fitting], words: list[Word], begin: int, end: int) -> None:
        """Those that fit, from `begin` up to `end`; one by one where they cannot be believed together."""
        for whole in fitting:
            part = (whole.at >= begin) & (whole.at < end)
            if part.all():
                some = whole
            elif part.any():
                some = whole.some(part)
            else:
                continue
            take = self._take_acks if whole.bench.is_ack else self._take_states
            stopped(partial(take, some, words), partial(self._judge_each, some, words))

    def _take_states(self, states: Fitting, words: list[Word]) -> None:
        usual = self._of_usual_states(states) & self._of_usual_nodes(states)
        some = states if usual.all() else states.some(usual)
        if len(some.at):
            minted_s = self._picture.ages.all_minted_s(some.slots, some.count("mono_ns"), some.arrived_ns)
            self._picture.safety.states_heard(some.as_states(minted_s))
            self._desk.states_s = max(self._desk.states_s, float(minted_s.max()))
        self._judge_all(states.at[~usual], words)

    def _of_usual_states(self, states: Fitting) -> Bools:
        """(F,) those whose node obeys the present leader, and that tell nothing new but watts."""
        picture, ledger = self._picture, self._picture.safety.ledger
        usual: Bools = ledger.fence[states.nodes] >= ledger.lead_epoch
        usual &= states.count("highest_epoch") <= picture.safety.lead.highest_epoch
        usual &= not picture.boards_moved
        names = [sayer.name for sayer in states.sayers]
        usual &= np.array([picture.lists_of(name) == 1 for name in names])
        held = states.bench.held[states.rows]
        if picture.held_nodes:
            held = held ^ np.array([name in picture.held_nodes for name in names])
        return np.asarray(usual & ~held, dtype=np.bool_)

    def _take_acks(self, acks: Fitting, words: list[Word]) -> None:
        for _ in range(RUNS):
            usual = self._of_usual_nodes(acks) & self._of_newer_keys(acks)
            if usual.all():
                self._answered(acks, words)
                return
            first = int(np.argmin(usual))
            if first:
                before = np.arange(len(usual)) < first
                self._answered(acks.some(before), words)
            next_ = first + int(np.argmax(usual[first:])) if usual[first:].any() else len(usual)
            self._judge_all(acks.at[first:next_], words)
            if next_ == len(usual):
                return
            acks = acks.some(np.arange(len(usual)) >= next_)
        self._judge_all(acks.at, words)

    def _of_usual_nodes(self, some: Fitting) -> Bools:
        """(F,) words of boots that run, on nodes that stay, by clocks that are believed."""
        safety, ages = self._picture.safety, self._picture.ages
        if self._held_for is None or ages.forgotten != self._held_for[3]:  # slots may be another's
            return np.zeros(len(some.at), dtype=np.bool_)
        boots, quiet = safety.ledger.roll.boot, safety.leavings.quiet
        usual: Bools = ~ages.all_ahead(some.slots, some.count("mono_ns"), some.arrived_ns)
        present = [boots[one.node] == one.boot_id and quiet(one.node) for one in some.sayers]
        return np.asarray(usual & np.array(present), dtype=np.bool_)

    def _of_newer_keys(self, acks: Fitting) -> Bools:
        """(F,) those of a command newer than any acked before, by an epoch that is known."""
        safety, epochs = self._picture.safety, acks.count("epoch")
        known = safety.ledger.acked_key
        keys = zip(acks.nodes.tolist(), epochs.tolist(), acks.count("seq").tolist(), strict=True)
        newer = np.array([(epoch, seq) > known[node] for node, epoch, seq in keys])
        most = safety.lead.highest_epoch
        return np.asarray(newer & (epochs <= most) & (acks.count("highest_epoch") <= most), dtype=np.bool_)

    def _answered(self, acks: Fitting, words: list[Word]) -> None:
        minted_s = self._picture.ages.all_minted_s(acks.slots, acks.count("mono_ns"), acks.arrived_ns)
        heard = acks.as_acks(minted_s)
        self._picture.safety.acks_heard(heard, acks.count("highest_epoch"))
        meant, known = [], self._desk.meant
        keys = zip(acks.sayers, heard.epochs.tolist(), heard.seqs.tolist(), acks.at.tolist(), strict=True)
        for sayer, epoch, seq, at in keys:
            if known(sayer.name, epoch, seq):
                word = wire.decode(words[at][1], (LimitAck,))
                meant += [word] if isinstance(word, LimitAck) else []
        self._desk.took(meant, renewed=len(minted_s) - len(meant))

    def _judge_each(self, some: Fitting, words: list[Word], fault: Exception) -> None:
        """One word costs nobody else theirs."""
        tell_together("words", fault)
        self._judge_all(some.at, words)

    def _judge_all(self, which: Ints, words: list[Word]) -> None:
        for at in which.tolist():
            word = _understood(words[at])
            if word is not None:
                self._judge_one(words[at], word)

    def _judge_one(self, heard: Word, word: NodeState | Leaving | LimitAck) -> None:
        stopped(partial(self._judge, heard, word), partial(_left_aside, word))

    def _judge(self, heard: Word, word: NodeState | Leaving | LimitAck) -> None:
        """By the desk; what it took is what this node usually says, if all its boards are there."""
        subject, data, arrived_ns = heard
        arrival = Arrival(subject.decode(errors="replace"), arrived_ns)
        if isinstance(word, LimitAck):
            self._desk.on_ack(word, arrival)
        else:
            self._moulds.forget(subject)
            self._desk.on_state(word, arrival)
        sayer = None if isinstance(word, Leaving) else sayer_of(self._picture, word, arrival)
        if sayer is not None and not isinstance(word, Leaving) and wire.encode(word) == data:
            self._moulds.learn(subject, data, word, sayer)


def _runs(waiting: list[Word]) -> Iterator[list[Word]]:
    """Words as they came, parted wherever a node speaks a second time; a node's subjects end with its name."""
    begin, nodes = 0, set[bytes]()
    for at, (subject, _, _) in enumerate(waiting):
        node = subject[subject.rfind(b".") :]
        if node in nodes:
            yield waiting[begin:at]
            begin = at
            nodes.clear()
        nodes.add(node)
    if begin < len(waiting):
        yield waiting[begin:]


def _understood(heard: Word) -> NodeState | Leaving | LimitAck | None:
    subject, data, _ = heard
    word = understood(_LOG, subject.decode(errors="replace"), data, (NodeState, Leaving, LimitAck))
    return word if isinstance(word, NodeState | Leaving | LimitAck) else None


def _left_aside(word: NodeState | Leaving | LimitAck, fault: Exception) -> None:
    """What is believed of its node stays; its next word is judged afresh."""
    _ASIDE.inc()
    log.bounded(_LOG, "word", 10.0).error("a node's word could not be judged", node=word.node, exc_info=fault)
