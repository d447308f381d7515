"""States and acks taken together leave the same beliefs as states and acks judged one by one."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wired_box import at
from wired_site import Wired
from wired_words import odd, site, subject_of, told, word_of

from easyrider.bus_port import Arrival
from easyrider.messages import LimitAck
from easyrider_policy.core.ledger import PER_BOARD, PER_NODE
from easyrider_policy.core.silence import Key
from easyrider_policy.words import Words

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


def _node_of(line: dict[str, object]) -> str:
    return str(line.get("node", ""))


def same(ours: object, theirs: object) -> bool:
    return np.array_equal(np.array([repr(ours)]), np.array([repr(theirs)]))


def state_of(name: str, **how: object) -> tuple[str, str, float, float, float, dict[str, object]]:
    return name, "state", 0.0, 300.0, 0.05, how


CLAIMS = state_of("b", boards={"uuid": "a0"})
"""`b` names a board of `a` in place of one of its own."""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(saying(), max_size=8), max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
@example([[state_of("a")], [state_of("a"), CLAIMS, state_of("a"), CLAIMS]], [True] * 6)
@example([[state_of("a")], [CLAIMS, state_of("a")], [state_of("a"), CLAIMS]], [False] * 6)
@example([[CLAIMS], [state_of("b"), state_of("a"), CLAIMS], [state_of("a"), CLAIMS]], [True, False] * 3)
def test_words_taken_together_are_believed_as_words_judged_one_by_one(
    batches: list[list[tuple]], looked: list[bool]
) -> None:
    """`looked`: whether a look follows the words of a moment, which takes over what they say of boards."""
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
        for wired in (alone, together) if looked[seq - 1] else ():
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
