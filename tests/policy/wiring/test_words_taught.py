"""What no word is ever a mould for: what is unlike the usual is judged, however often a node says it."""

import msgspec
from wired_box import REGION, at
from wired_words import judged_alone, odd, repeating, said, say, site, told, word_of

from easyrider import subjects
from easyrider_policy.core.silence import Key
from easyrider_policy.word_moulds import MOST_SHAPES, Sayer, WordMoulds

SAYER = Sayer(node=0, name="a", boot_id="boot-1", slot=0, first=0)


def test_a_refusal_in_the_shape_of_an_ack_frees_nothing() -> None:
    wired, words = repeating()
    highest_w = wired.picture.safety.ledger.outbox.highest_w
    say(wired, words, "ack", "a", 2, accepted=False)  # of the command that it took before

    say(wired, words, "ack", "a", 3, accepted=False)

    assert wired.picture.safety.ledger.acked_key[0] == Key(1, 2)
    assert highest_w[:2].tolist() == [600.0, 600.0]


def test_an_answer_to_something_else_than_limits_is_no_mould_for_answers_to_limits() -> None:
    wired, words = repeating()
    say(wired, words, "ack", "a", 3, answers="hold")
    judged = judged_alone(wired)

    say(wired, words, "ack", "a", 4, answers="hold")

    assert judged == ["a"]


def test_a_board_that_refuses_its_limit_is_stuck_though_its_node_says_so_again_and_again() -> None:
    wired, words = repeating()
    for seq in (3, 4, 5):
        say(wired, words, "ack", "a", seq, boards={"refused": "no_permission"})

        assert wired.picture.safety.ledger.stuck.tolist() == [False, True, False, False]


def test_the_words_of_a_node_on_the_subject_of_another_teach_nothing() -> None:
    for what in ("ack", "state"):
        wired, words = repeating()
        subject = (subjects.ack if what == "ack" else subjects.state)(REGION, "b")
        before = wired.picture.safety.ledger.roll.heard_s[0]
        for seq in (2, 2, 3):
            word = word_of(wired.boxes["a"], what, wired.now_s, 300.0, seq)
            words._waiting.append(told(word, at(subject, wired.now_s)))
            words.take()

        ledger = wired.picture.safety.ledger
        assert (ledger.acked_key[0], ledger.roll.heard_s[0]) == (Key(1, 2), before), what


def test_watts_that_are_spelt_as_whole_numbers_are_watts() -> None:
    wired, words = repeating()
    for seq in (3, 4, 5):
        word, where = said(wired, "ack", "a", seq)
        body = msgspec.to_builtins(word)
        for board in body["gpus"]:
            board["fallback_w"] = int(board["fallback_w"])
        words._waiting.append((where.subject.encode(), msgspec.msgpack.encode(body), where.mono_ns))
        words.take()

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key[0] == Key(1, 5)
    assert ledger.fallback_w.tolist() == [250.0] * 4
    assert ledger.told.all()


def test_words_of_another_tree_teach_nothing() -> None:
    wired, words = repeating()
    for seq in (3, 4, 5):
        say(wired, words, "ack", "a", seq, tree="other")
        say(wired, words, "state", "a", seq, tree="other")

    ledger = wired.picture.safety.ledger
    assert ledger.acked_key[0] == Key(1, 2)
    assert ledger.roll.heard_s[0] < wired.now_s


def test_a_state_that_was_left_aside_teaches_nothing() -> None:
    wired, words = repeating()
    say(wired, words, "state", "a", 3, late_s=-3600.0, boards={"max_w": 650.0})
    assert wired.picture.boards["a1"].max_w == 700.0

    say(wired, words, "state", "a", 3, boards={"max_w": 650.0})

    assert wired.picture.boards["a1"].max_w == 650.0


def test_boards_named_in_another_order_than_the_fleet_has_them_keep_their_own_watts() -> None:
    wired, words = repeating()
    for seq in (3, 4, 5):
        for what in ("ack", "state"):
            word, where = said(wired, what, "a", seq)
            first, second = word.gpus
            higher = msgspec.structs.replace(second, requested_w=420.0, enforced_w=420.0)
            words._waiting.append(told(odd(word, {"gpus": (higher, first)}), where))
        words.take()

        ledger = wired.picture.safety.ledger
        assert ledger.acked_w[:2].tolist() == ledger.said_w[:2].tolist() == [300.0, 420.0]


def test_a_board_without_a_fallback_is_not_armed_though_the_one_beside_it_is() -> None:
    wired, words = repeating()
    for seq in (3, 4, 5):
        say(wired, words, "ack", "a", seq, boards={"fallback_w": None})

        assert wired.picture.safety.ledger.told.tolist() == [True, False, True, True]


def test_a_board_whose_limit_is_not_read_is_not_read_though_the_one_beside_it_is() -> None:
    for missing in ("requested_w", "enforced_w"):
        wired, words = repeating()
        read_s = wired.picture.safety.ledger.read_s[1]
        for seq in (3, 4, 5):
            say(wired, words, "ack", "a", seq, boards={missing: None})
            say(wired, words, "state", "a", seq, boards={missing: None})

        ledger = wired.picture.safety.ledger
        assert ledger.read_s[:2].tolist() == [wired.now_s, read_s]
        assert ledger.acked_w[:2].tolist() == [300.0, 600.0]


def test_a_node_that_is_judged_again_and_again_takes_no_more_room_than_one_that_is_not() -> None:
    moulds = repeating()[1]._moulds
    wired = site()
    word, where = said(wired, "state", "a", 1)
    subject, body, _ = told(word, where)

    for _ in range(100):
        moulds.learn(subject, body, word, SAYER)
        moulds.forget(subject)
        moulds.learn(subject, body, word, SAYER)

    assert max(len(bench.sayers) for bench in moulds._benches.values()) <= 3


def test_whoever_plays_with_the_shapes_of_words_is_judged_and_takes_no_room() -> None:
    moulds, wired = WordMoulds(), site()
    word, where = said(wired, "state", "a", 1)
    for length in range(2 * MOST_SHAPES):
        named = msgspec.structs.replace(word, node="n" * (length + 1))
        subject, body, _ = told(named, where)
        moulds.learn(subject + b"n" * length, body, named, SAYER)

    assert len(moulds._benches) == MOST_SHAPES
    assert len(moulds._seats) == MOST_SHAPES
