"""Of what nodes say in one moment each word finds what those before it left, where it matters."""

import numpy as np
import pytest
from wired_words import heard, odd, repeating, said, say, told

from easyrider_policy.core.leaving import Granted
from easyrider_policy.core.silence import Key


def test_a_node_that_answers_twice_in_one_moment_holds_what_it_was_told_last() -> None:
    wired, words = repeating()
    for seq, limit_w in ((6, 420.0), (5, 220.0)):
        words._waiting.append(told(*said(wired, "ack", "a", seq, limit_w)))

    words.take()

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key[0] == Key(1, 6)
    assert ledger.acked_w[:2].tolist() == [420.0, 420.0]


def test_an_ack_that_comes_after_a_newer_one_takes_nothing_back() -> None:
    wired, words = repeating()
    say(wired, words, "ack", "a", 5)

    say(wired, words, "ack", "a", 4, 220.0)

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key[0] == Key(1, 5)
    assert ledger.acked_w[:2].tolist() == [300.0, 300.0]


def test_a_board_that_two_nodes_name_is_with_the_one_that_named_it_last() -> None:
    wired, words = repeating()
    for name in "aabab":  # the boards of a, and b's claim on one of them, in turns
        claims = {"boards": {"uuid": "a0"}} if name == "b" else {}
        word, where = said(wired, "state", name, 3)
        words._waiting.append(told(odd(word, claims), where))

    words.take()
    assert wired.picture.boards["a0"].node == "b"

    say(wired, words, "state", "a", 3)
    assert wired.picture.boards["a0"].node == "a"


def test_an_ack_that_comes_late_makes_the_newest_no_older_however_it_is_read() -> None:
    wired, words = repeating()
    unlike, where = said(wired, "ack", "b", 3)
    late = odd(unlike, {"accepted": False, "refused": "stale_seq", "mono_ns": unlike.mono_ns - 10**9})
    words._waiting += [heard(wired, "ack", "a", 3), told(late, where)]

    words.take()

    assert wired.picture.safety.lead.acked_s == pytest.approx(wired.now_s)


def test_a_node_that_waits_for_leave_and_says_that_it_stays_waits_no_more() -> None:
    wired, words = repeating()
    say(wired, words, "leaving", "a", 3)
    assert list(wired.picture.safety.leavings.waiting) == [0]
    wired.clock.at_s += 1.0

    say(wired, words, "state", "a", 3)

    assert wired.picture.safety.leavings.waiting == {}


def test_the_wish_to_leave_is_heard_though_a_state_made_after_it_came_before_unless_that_says_it_stays() -> (
    None
):
    for leaving in (True, False):
        wired, words = repeating()
        for _ in range(3):
            say(wired, words, "state", "a", 3, leaving=leaving)

        say(wired, words, "leaving", "a", 3, late_s=0.2)

        assert list(wired.picture.safety.leavings.waiting) == ([0] if leaving else []), leaving


def test_a_node_that_was_let_go_and_takes_limits_again_ends_its_booking() -> None:
    wired, words = repeating()
    safety = wired.picture.safety
    safety.leavings.granted[0] = Granted(
        rows=np.arange(2), first=Key(1, 2), last=Key(1, 2), granted_s=0.0, whole=True
    )
    safety.ledger.booked(np.arange(2), np.full(2, 700.0))

    say(wired, words, "ack", "a", 3)

    assert safety.leavings.granted == {}
    assert safety.ledger.booked_w.tolist() == [0.0] * 4


def test_an_ack_before_the_word_that_ends_the_lead_was_heard_while_it_lasted() -> None:
    wired, words = repeating()
    unlike, where = said(wired, "state", "b", 3)
    words._waiting += [
        heard(wired, "ack", "a", 3),
        told(odd(unlike, {"stage": 1, "highest_epoch": 2}), where),
    ]

    words.take()

    assert wired.picture.safety.lead.phase == "contending"
    assert wired.picture.safety.lead.acked_s == pytest.approx(wired.now_s)
