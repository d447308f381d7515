"""States and acks taken together leave the same beliefs as states and acks judged one by one."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from wired_box import REGION, TREE, Box, at
from wired_site import Wired

from easyrider import subjects
from easyrider.bus_port import Arrival
from easyrider.messages import GpuAck, Leaving, LimitAck, NodeState
from easyrider_policy.core.ledger import PER_BOARD, PER_NODE
from easyrider_policy.core.silence import Key
from easyrider_policy.words import _ASIDE, Words

Word = NodeState | LimitAck | Leaving
oddity = st.sampled_from(
    [{}] * 12
    + [
        {"boot_id": "boot-0"},
        {"boot_id": "boot-2"},
        {"tree": "other"},
        {"mono_ns": 5},
        {"gpus": ()},
        {"node": "b"},
        {"node": "nobody"},
        {"highest_epoch": 9},
        {"leaving": True},
        {"held": True},
        {"stage": 2},
        {"accepted": False, "refused": "stale_seq"},
        {"accepted": False, "refused": "stale_nonce", "highest_epoch": 0},
        {"answers": "hold"},
        {"seq": 0},
        {"boards": {"settable": False}},
        {"boards": {"controlled": False}},
        {"boards": {"enforced_w": None}},
        {"boards": {"refused": "no_permission"}},
        {"boards": {"refused": "held"}},
        {"boards": {"uuid": "a0"}},
        {"boards": {"max_w": 650.0}},
    ]
)


@st.composite
def saying(draw: st.DrawFn) -> tuple[str, str, float, float, float, dict[str, object]]:
    """Who says what, how late it comes, the limit of its boards, how long after the last word, and what is odd."""
    what = draw(st.sampled_from(["state"] * 4 + ["ack"] * 4 + ["leaving"]))
    late_s = draw(st.sampled_from([0.0, 0.0, 0.0, 0.3, 4.0]))
    limit_w = draw(st.sampled_from([300.0, 300.0, 300.0, 420.0]))
    return (
        draw(st.sampled_from("ab")),
        what,
        late_s,
        limit_w,
        draw(st.sampled_from([0.0, 0.05, 1.0])),
        draw(oddity),
    )


def odd(word: Word, how: dict[str, object]) -> Word:
    """The word with what is odd about it, as far as it has such fields."""
    fields = {name: value for name, value in how.items() if name in word.__struct_fields__}
    boards = how.get("boards")
    if boards and not isinstance(word, Leaving):
        told = word.gpus[0].__struct_fields__ if word.gpus else ()
        fits = {name: value for name, value in boards.items() if name in told}
        fields["gpus"] = (
            *word.gpus[:1],
            *(msgspec.structs.replace(board, **fits) for board in word.gpus[1:]),
        )
    return msgspec.structs.replace(word, **fields)


def word_of(box: Box, what: str, now_s: float, limit_w: float, seq: int) -> Word:
    """A state, an ack of the vector `seq`, or the wish to leave, of a box that holds this limit."""
    box.limit_w, box.fallback_w, box.key = [limit_w, limit_w], 250.0, (1, seq)
    state = box.state(now_s)
    if what == "state":
        return state
    if what == "leaving":
        return Leaving(
            tree=TREE, region=REGION, node=box.name, boot_id=box.boot, nonce=state.nonce, reason="stop",
            gpus=(), t_ns=0, mono_ns=state.mono_ns,
        )  # fmt: skip
    return led_ack(box, state, seq)


def led_ack(box: Box, state: NodeState, seq: int) -> LimitAck:
    return LimitAck(
        tree=TREE, region=REGION, node=box.name, boot_id=box.boot, answers="set_limits", epoch=1, seq=seq,
        highest_epoch=1, highest_seq=seq, accepted=True, refused=None, t_ns=0, mono_ns=state.mono_ns - 1,
        gpus=tuple(
            GpuAck(uuid=gpu.uuid, requested_w=gpu.requested_w, enforced_w=gpu.enforced_w, fallback_w=250.0)
            for gpu in state.gpus
        ),
    )  # fmt: skip


def site() -> Wired:
    """Leads with epoch 1; both boxes have told of their boards."""
    wired = Wired()
    wired.picture.safety.taken(1, wired.now_s, wired.now_s)
    for box in wired.boxes.values():
        wired.desk.on_state(box.state(wired.now_s), at(subjects.state(REGION, box.name), wired.now_s))
    wired.picture.follow()
    return wired


def subject_of(word: Word) -> str:
    return (
        subjects.ack(REGION, word.node) if isinstance(word, LimitAck) else subjects.state(REGION, word.node)
    )


def beliefs(wired: Wired) -> dict[str, object]:
    """All that words may change."""
    picture, safety = wired.picture, wired.picture.safety
    ledger = safety.ledger
    columns = {name: getattr(ledger, name).tolist() for name in (*PER_BOARD, *PER_NODE)}
    return columns | {
        "lead": safety.lead,
        "keys": ledger.acked_key,
        "roll": (ledger.roll.heard_s.tolist(), ledger.roll.nonce.tolist(), ledger.roll.nonce_s.tolist()),
        "boots": (ledger.roll.boot, ledger.roll.earlier_boots),
        "outbox": (ledger.outbox.highest_w.tolist(), ledger.outbox.in_flight.tolist()),
        "in flight": [[vector.key for vector in vectors] for vectors in ledger.outbox.vectors],
        "leaving": (
            sorted(safety.leavings.waiting),
            sorted(safety.leavings.granted),
            safety.leavings._answered_s,
        ),
        "boards": (picture.boards, picture.held_nodes, picture.boards_moved, picture.orders_moved),
        "lists": {node: list(lists) for node, lists in picture._lists.items()},
        "states": wired.desk.states_s,
        # of each node in its order: of several nodes words need none
        "noted": sorted(({**line, "boottime_ns": 0} for line in wired.scribe._lines), key=_node_of),
    }


def told(word: Word, where: Arrival) -> tuple[bytes, bytes, int]:
    """As the bus hands it over; also what `wire.encode` would refuse to say."""
    return where.subject.encode(), msgspec.msgpack.encode(word), where.mono_ns


def _node_of(line: dict[str, object]) -> str:
    return str(line.get("node", ""))


def same(ours: object, theirs: object) -> bool:
    return np.array_equal(np.array([repr(ours)]), np.array([repr(theirs)]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(saying(), max_size=8), max_size=6))
def test_words_taken_together_are_believed_as_words_judged_one_by_one(batches: list[list[tuple]]) -> None:
    alone, together = site(), site()
    words = Words(together.desk)
    for seq, batch in enumerate(batches, 1):
        for wired in (alone, together):
            for node, count in enumerate(np.diff(wired.picture.fleet.first_gpu).tolist()):
                key = Key(1, seq)
                wired.picture.safety.ledger.sent(node, key, np.full(count, 320.0), np.full(count, 250.0))
        for name, what, late_s, limit_w, after_s, how in batch:
            for wired in (alone, together):
                wired.clock.at_s += after_s
            word = odd(word_of(alone.boxes[name], what, alone.now_s - late_s, limit_w, seq), how)
            where: Arrival = at(subject_of(word) if "node" not in how else f"x.{name}", alone.now_s)
            if isinstance(word, LimitAck):
                alone.desk.on_ack(word, where)
            else:
                alone.desk.on_state(word, where)
            words._waiting.append(told(word, where))
        words.take()
        ours, theirs = beliefs(together), beliefs(alone)
        for what in theirs:
            assert same(ours[what], theirs[what]), what
        for wired in (alone, together):
            wired.picture.follow()


def test_who_repeats_itself_is_judged_once() -> None:
    wired, judged = site(), []
    on_state, on_ack = wired.desk.on_state, wired.desk.on_ack
    wired.desk.on_state = lambda word, where: (judged.append(word.node), on_state(word, where))  # type: ignore[method-assign]
    wired.desk.on_ack = lambda word, where: (judged.append(word.node), on_ack(word, where))  # type: ignore[method-assign]
    words = Words(wired.desk)

    for seq in range(1, 6):
        for box in wired.boxes.values():
            for what in ("ack", "state"):
                word = word_of(box, what, wired.now_s, 300.0, seq)
                words._waiting.append(told(word, at(subject_of(word), wired.now_s)))
        wired.clock.at_s += 1.0
    words.take()

    assert sorted(judged) == ["a", "a", "b", "b"]
    assert wired.picture.safety.ledger.acked_w.tolist() == [300.0] * 4


def said(wired: Wired, what: str, name: str, seq: int) -> tuple[Word, Arrival]:
    word = word_of(wired.boxes[name], what, wired.now_s, 300.0, seq)
    return word, at(subject_of(word), wired.now_s)


def heard(wired: Wired, what: str, name: str, seq: int) -> tuple[bytes, bytes, int]:
    return told(*said(wired, what, name, seq))


def repeating() -> tuple[Wired, Words]:
    """Both boxes have said twice what they say, and each has a vector in flight."""
    wired = site()
    words = Words(wired.desk)
    for seq in (1, 2):
        words._waiting += [heard(wired, what, name, seq) for name in "ab" for what in ("ack", "state")]
        words.take()
        wired.clock.at_s += 1.0
    for node in (0, 1):
        wired.picture.safety.ledger.sent(node, Key(1, 3), np.full(2, 600.0), np.full(2, 250.0))
    return wired, words


def raises_on(wired: Wired, node: str, how: str) -> None:
    """Whatever `node` says that has to be judged alone ends in an exception."""
    judge = getattr(wired.desk, how)

    def on_word(word: Word, where: Arrival) -> None:
        if word.node == node:
            raise KeyError("one node's word fails")
        judge(word, where)

    setattr(wired.desk, how, on_word)


def test_a_word_that_raises_costs_nobody_else_theirs() -> None:
    wired, words = repeating()
    raises_on(wired, "b", "on_state")
    foul, where = said(wired, "state", "b", 3)
    before = _ASIDE._value.get()
    words._waiting += [
        heard(wired, "ack", "a", 3),
        told(odd(foul, {"held": True}), where),
        heard(wired, "state", "a", 3),
    ]

    words.take()

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key[0] == Key(1, 3)
    assert ledger.outbox.highest_w[:2].tolist() == [0.0, 0.0]
    assert ledger.outbox.highest_w[2:].tolist() == [600.0, 600.0]
    assert ledger.roll.heard_s[0] == wired.now_s
    assert _ASIDE._value.get() == before + 1
    assert words._waiting == []


def test_the_next_look_goes_on_after_a_word_that_raised() -> None:
    wired, words = repeating()
    raises_on(wired, "b", "on_ack")
    foul, where = said(wired, "ack", "b", 3)
    words._waiting.append(told(odd(foul, {"accepted": False, "refused": "stale_seq"}), where))
    words.take()

    words._waiting.append(heard(wired, "ack", "b", 4))
    words.take()

    assert wired.picture.safety.ledger.acked_key[1] == Key(1, 4)


def test_words_that_cannot_be_believed_together_are_judged_one_by_one() -> None:
    wired, words = repeating()

    def foul(*_words: object) -> None:
        raise OverflowError("one column is too narrow")

    wired.picture.safety.states_heard = foul  # type: ignore[method-assign]
    words._waiting += [heard(wired, what, name, 3) for name in "ab" for what in ("ack", "state")]

    words.take()

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key == [Key(1, 3), Key(1, 3)]
    assert ledger.roll.heard_s.tolist() == [wired.now_s, wired.now_s]


def test_a_time_that_no_clock_shows_costs_its_own_node_alone() -> None:
    wired, words = repeating()
    foul, where = said(wired, "state", "b", 3)
    words._waiting += [
        heard(wired, "state", "a", 3),
        told(msgspec.structs.replace(foul, mono_ns=2**63 + 5), where),
        heard(wired, "ack", "a", 3),
    ]

    words.take()

    assert wired.picture.safety.ledger.acked_key[0] == Key(1, 3)
    assert wired.picture.safety.ledger.outbox.highest_w[:2].tolist() == [0.0, 0.0]
