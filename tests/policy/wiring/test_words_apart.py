"""A node's word that is unlike its others, or fails, is judged alone and costs nobody else theirs; other limits fit."""

import msgspec
from wired_box import at
from wired_words import heard, odd, raises_on, repeating, said, subject_of, told, word_of

from easyrider_policy.core.silence import Key
from easyrider_policy.words import _ASIDE


def test_other_limits_of_the_same_boards_are_read_without_being_judged() -> None:
    wired, words = repeating()
    for what in ("on_state", "on_ack"):
        for name in "ab":
            raises_on(wired, name, what)
    before = _ASIDE._value.get()
    for box in wired.boxes.values():
        for what in ("ack", "state"):
            word = word_of(box, what, wired.now_s, 420.0, 7)
            words._waiting.append(told(word, at(subject_of(word), wired.now_s)))

    words.take()

    ledger = wired.picture.safety.ledger
    assert _ASIDE._value.get() == before
    assert ledger.acked_key == [Key(1, 7), Key(1, 7)]
    assert ledger.acked_w.tolist() == ledger.said_w.tolist() == ledger.requested_w.tolist() == [420.0] * 4
    assert ledger.outbox.highest_w.tolist() == [0.0] * 4


def test_an_ack_that_was_not_read_back_whole_frees_nothing() -> None:
    wired, words = repeating()
    word = odd(word_of(wired.boxes["a"], "ack", wired.now_s, 300.0, 7), {"boards": {"enforced_w": None}})
    words._waiting.append(told(word, at(subject_of(word), wired.now_s)))

    words.take()

    assert wired.picture.safety.ledger.acked_w[:2].tolist() == [300.0, 600.0]


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
