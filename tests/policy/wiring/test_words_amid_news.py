"""A node says what it always says, but what it means has changed around it: then it is judged as any word is."""

from dataclasses import replace

import numpy as np
from wired_box import mono_ns
from wired_site import Wired
from wired_words import heard, judged_alone, odd, repeating, said, say, site, told

from easyrider.tree import Node
from easyrider_policy.core.silence import NOTHING, Key
from easyrider_policy.handlers import EPOCHS
from easyrider_policy.words import Words


def test_a_node_that_did_not_answer_the_new_leader_shows_by_a_state_what_it_runs_on() -> None:
    wired = site()
    words = Words(wired.desk)
    for name in "ab":
        say(wired, words, "ack", name, 1)
        say(wired, words, "state", name, 1, stage=2)
    safety = wired.picture.safety
    safety.taken(2, wired.now_s, wired.now_s)
    wired.clock.at_s += safety.leases.ttl_s + 1.0

    say(wired, words, "state", "a", 1, stage=2)

    ledger = safety.ledger
    assert ledger.proven.tolist() == [True, False]
    assert ledger.unfenced(wired.now_s).tolist() == [False, True]
    assert ledger.counted_w(wired.now_s).tolist() == [300.0, 300.0, 700.0, 700.0]


def test_acks_of_the_new_leader_open_their_nodes_for_raises() -> None:
    wired, words = repeating()
    safety = wired.picture.safety
    safety.taken(2, wired.now_s, wired.now_s)
    judged = judged_alone(wired)

    say(wired, words, "ack", "a", 1, epoch=2, highest_epoch=2)

    assert judged == []
    assert safety.ledger.fence.tolist() == [2, 1]
    assert safety.ledger.unfenced(wired.now_s).tolist() == [False, True]


def test_an_ack_or_a_state_that_names_a_higher_epoch_ends_our_lead() -> None:
    for what in ("ack", "state"):
        wired, words = repeating()
        assert wired.picture.safety.lead.phase == "holding"

        say(wired, words, what, "a", 3, highest_epoch=2)

        assert wired.picture.safety.lead.phase == "contending", what
        assert wired.picture.safety.lead.highest_epoch == 2


def test_an_ack_of_an_epoch_that_no_store_counts_pins_no_node() -> None:
    wired = site()
    words, safety, led = Words(wired.desk), wired.picture.safety, EPOCHS // 2
    safety.taken(led, wired.now_s, wired.now_s)
    say(wired, words, "ack", "a", 1, epoch=led, highest_epoch=led)

    say(wired, words, "ack", "a", 2, epoch=2 * EPOCHS, highest_epoch=led)

    assert safety.ledger.acked_key[0] == Key(led, 1)
    assert safety.ledger.fence[0] == led


def test_what_a_state_made_before_the_newest_ack_shows_is_over() -> None:
    wired, words = repeating()
    judged = judged_alone(wired)
    say(wired, words, "ack", "a", 5)

    say(wired, words, "state", "a", 5, 600.0, late_s=0.5)

    assert judged == []
    assert wired.picture.safety.ledger.seen_w[:2].tolist() == [0.0, 0.0]

    say(
        wired, words, "ack", "a", 6, late_s=0.8
    )  # of a newer command, by an older stamp: the other one stands
    say(wired, words, "state", "a", 6, 600.0, late_s=0.6)

    assert judged == []
    assert wired.picture.safety.ledger.seen_w[:2].tolist() == [0.0, 0.0]


def test_what_a_state_made_after_the_newest_ack_shows_counts() -> None:
    wired, words = repeating()
    say(wired, words, "ack", "a", 5, late_s=0.5)

    say(wired, words, "state", "a", 5, 600.0)

    assert wired.picture.safety.ledger.seen_w[:2].tolist() == [600.0, 600.0]


def test_words_by_a_clock_far_ahead_are_left_aside_like_those_judged_alone() -> None:
    for what in ("ack", "state"):
        wired, words = repeating()
        ledger = wired.picture.safety.ledger
        before = ledger.acked_ns[0], ledger.seen_w[0], ledger.acked_w[0]

        say(wired, words, what, "a", 3, 600.0, late_s=-3600.0)

        assert ledger.acked_key[0] == Key(1, 2), what
        assert (ledger.acked_ns[0], ledger.seen_w[0], ledger.acked_w[0]) == before, what


def speaks_of_late_boots(wired: Wired) -> None:
    """Words of two earlier boots of `a` come so late that the clock of the boot that runs is forgotten."""
    for boot in ("boot-8", "boot-9"):
        wired.clock.at_s += 1.0
        wired.picture.ages.minted_s("a", boot, mono_ns(wired.now_s + 50.0), round(wired.now_s * 1e9))
    assert wired.picture.ages.forgotten > 0
    wired.clock.at_s += 1.0


def test_a_node_whose_clock_was_forgotten_is_not_timed_by_another_boot_of_it() -> None:
    wired, words = repeating()
    speaks_of_late_boots(wired)

    judged = judged_alone(wired)

    say(wired, words, "state", "a", 3)
    assert wired.picture.safety.ledger.roll.heard_s[0] == wired.now_s

    for _ in range(4):
        say(wired, words, "state", "a", 3)
    assert judged == ["a", "a"], "its clock takes the place of another one first"


def test_a_clock_that_is_forgotten_amid_the_words_of_one_moment_times_none_of_them() -> None:
    wired, words = repeating()
    judge = wired.desk.on_state

    def on_state(word: object, where: object) -> None:
        if word.node == "b":  # type: ignore[attr-defined]
            speaks_of_late_boots(wired)
        judge(word, where)  # type: ignore[arg-type]

    wired.desk.on_state = on_state  # type: ignore[method-assign, assignment]
    odd_one, where = said(wired, "state", "b", 3)
    words._waiting += [told(odd(odd_one, {"stage": 1}), where), heard(wired, "state", "a", 3)]
    spoken_s = wired.now_s

    words.take()

    assert wired.picture.safety.ledger.roll.heard_s[0] == spoken_s


def test_what_was_learned_of_nodes_is_void_once_they_stand_elsewhere_in_the_fleet() -> None:
    wired, words = repeating()
    first = Node(id="0", domain="pdu", node_class="box", fallback_w_per_gpu=250.0)
    known = wired.picture.rules
    wired.picture.accept(replace(known, version=2, nodes=(first, *known.nodes)))
    wired.picture.follow()
    assert wired.picture.fleet.nodes == ("0", "a", "b")

    for what in ("ack", "state"):
        say(wired, words, what, "b", 7)

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key == [NOTHING, Key(1, 2), Key(1, 7)]
    assert ledger.roll.heard_s.tolist() == [-np.inf, wired.now_s - 1.0, wired.now_s]


def test_words_of_another_tree_are_left_aside_from_the_moment_in_which_rules_name_another() -> None:
    wired, words = repeating()
    wired.picture.rules = replace(wired.picture.rules, id="other")

    say(wired, words, "ack", "a", 3)

    assert wired.picture.safety.ledger.acked_key[0] == Key(1, 2)


def test_a_node_that_said_something_else_is_judged_once_more_before_it_is_believed_unread() -> None:
    wired, words = repeating()
    say(wired, words, "state", "a", 3, leaving=True)
    judged = judged_alone(wired)

    say(wired, words, "state", "a", 3)
    assert judged == ["a"]

    say(wired, words, "state", "a", 3)
    assert judged == ["a"]


def test_a_node_that_keeps_saying_its_list_of_boards_keeps_it_known_beside_others_in_its_name() -> None:
    wired, words = repeating()
    picture = wired.picture
    known = wired.boxes["a"].frame(wired.now_s).gpus_hash
    for other in ("a1,a0", "a0", "a1"):
        picture.know_list("a", other.split(","))

    say(wired, words, "state", "a", 3)
    picture.know_list("a", [])

    assert picture.rows_of("a", known) is not None


def test_a_node_that_is_held_or_free_again_is_so_from_its_word_on() -> None:
    wired, words = repeating()
    say(wired, words, "state", "a", 3, held=True)
    assert wired.picture.held_nodes == {"a"}

    wired.picture.held_nodes.clear()
    say(wired, words, "state", "a", 3, held=True)
    assert wired.picture.held_nodes == {"a"}

    say(wired, words, "state", "b", 3)
    wired.picture.held_nodes.add("b")
    say(wired, words, "state", "b", 3)
    assert wired.picture.held_nodes == {"a"}


def test_a_node_that_the_operator_called_dark_is_not_once_it_is_heard() -> None:
    for what in ("ack", "state"):
        wired, words = repeating()
        wired.picture.safety.operator_released(0)

        say(wired, words, what, "a", 3)

        assert not wired.picture.safety.ledger.dark[0], what


def test_an_ack_ends_what_a_boot_under_our_eyes_began() -> None:
    wired, words = repeating()
    ledger = wired.picture.safety.ledger
    for boot in ("boot-2", "boot-1"):  # another host spoke in its name for a moment
        ledger._booted(0, boot)
    assert ledger.rebooted[0]
    judged = judged_alone(wired)

    say(wired, words, "ack", "a", 3)

    assert judged == []
    assert not ledger.rebooted[0]
    assert ledger.fence[0] == 1


def test_a_word_of_a_boot_that_was_replaced_says_nothing_of_the_one_that_runs() -> None:
    for what in ("ack", "state"):
        wired, words = repeating()
        ledger = wired.picture.safety.ledger
        ledger._booted(0, "boot-2")

        say(wired, words, what, "a", 3)

        assert ledger.roll.boot[0] == "boot-2"
        assert (ledger.acked_key[0], ledger.roll.nonce[0]) == (Key(1, 2), -1), what


def test_acks_keep_the_lead_and_those_that_do_not_name_it_as_their_highest_do_not() -> None:
    wired, words = repeating()
    judged, before_s = judged_alone(wired), wired.picture.safety.lead.acked_s

    say(wired, words, "ack", "a", 3, highest_epoch=0)
    assert wired.picture.safety.lead.acked_s == before_s

    say(wired, words, "ack", "a", 4)
    assert wired.picture.safety.lead.acked_s > before_s
    assert judged == []


def test_the_nonce_of_a_state_that_is_believed_unread_is_the_one_to_echo() -> None:
    wired, words = repeating()
    judged = judged_alone(wired)

    say(wired, words, "state", "a", 3)

    assert judged == []
    assert wired.picture.safety.ledger.roll.nonce[0] == round(wired.now_s * 10)


def test_what_a_node_did_not_answer_yet_counts_until_its_ack() -> None:
    wired, words = repeating()
    assert wired.picture.safety.ledger.outbox.highest_w.tolist() == [600.0] * 4

    say(wired, words, "ack", "a", 3)

    assert wired.picture.safety.ledger.outbox.highest_w.tolist() == [0.0, 0.0, 600.0, 600.0]


def test_an_ack_of_an_intent_is_told_of_and_one_of_a_renewal_is_not() -> None:
    wired, words = repeating()
    wired.scribe._keys["a", 1, 4] = None
    wired.scribe._lines.clear()

    for seq in (3, 4, 5):
        say(wired, words, "ack", "a", seq)

    assert [(line["what"], line["seq"]) for line in wired.scribe._lines] == [("ack", 4)]
