"""What a board counts."""

import numpy as np
import pytest
from small_site import LEASES, ack, fleet, led, state, vector

from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.silence import Key

BACK_W = vector(250.0, 250.0)


def counted(ledger: Ledger, now_s: float = 1.0) -> list[float]:
    return ledger.counted_w(now_s).tolist()


def test_a_board_never_armed_counts_its_maximum():
    ledger = Ledger(fleet(), LEASES)
    ledger.took_over(1, 0.0)

    ledger.acked(ack(fallback_w=None, answers="hold"), 0.0)

    assert counted(ledger)[:2] == [700.0, 700.0]


def test_an_acked_board_counts_what_it_holds():
    assert counted(led(fleet())) == [300.0] * 4


def test_a_newer_limit_sent_counts_until_its_ack_replaces_it():
    ledger = led(fleet())

    ledger.sent(0, Key(1, 2), vector(500.0, 280.0), BACK_W)
    before = counted(ledger)
    ledger.acked(ack(seq=2, held_w=(500.0, 280.0)), 0.5)

    assert before == [500.0, 300.0, 300.0, 300.0]
    assert counted(ledger) == [500.0, 280.0, 300.0, 300.0]


def test_an_ack_replaces_nothing_sent_after_its_command():
    ledger = led(fleet())
    ledger.sent(0, Key(1, 2), vector(280.0, 280.0), BACK_W)
    ledger.sent(0, Key(1, 3), vector(600.0, 280.0), BACK_W)

    ledger.acked(ack(seq=2, held_w=(280.0, 280.0)), 0.5)

    assert counted(ledger)[:2] == [600.0, 280.0]


def test_an_older_ack_that_comes_late_lowers_nothing():
    ledger = led(fleet())
    ledger.sent(0, Key(1, 3), vector(600.0, 600.0), BACK_W)
    ledger.acked(ack(seq=3, held_w=(600.0, 600.0)), 0.5)

    ledger.acked(ack(seq=2, held_w=(280.0, 280.0)), 0.6)

    assert counted(ledger)[:2] == [600.0, 600.0]


def test_a_command_refused_for_its_age_counts_no_more():
    ledger = led(fleet())
    ledger.sent(0, Key(1, 2), vector(600.0, 600.0), BACK_W)

    ledger.acked(ack(seq=2, refused="stale_nonce", highest=(1, 1)), 0.5)

    assert counted(ledger)[:2] == [300.0, 300.0]


@pytest.mark.parametrize(("reason", "highest"), [("stale_seq", (1, 2)), ("cannot_store", (1, 1))])
def test_a_refusal_that_does_not_prove_that_no_copy_was_taken_lowers_nothing(reason, highest):
    ledger = led(fleet())
    ledger.sent(0, Key(1, 2), vector(600.0, 600.0), BACK_W)

    ledger.acked(ack(seq=2, refused=reason, highest=highest), 0.5)

    assert counted(ledger)[:2] == [600.0, 600.0]


def test_a_refused_renewal_leaves_the_same_watts_sent_before_it_counted():
    ledger = led(fleet())
    ledger.sent(0, Key(1, 2), vector(600.0, 600.0), BACK_W)
    ledger.sent(0, Key(1, 3), vector(600.0, 600.0), BACK_W)

    ledger.acked(ack(seq=3, refused="stale_nonce", highest=(1, 2)), 0.5)

    assert counted(ledger)[:2] == [600.0, 600.0]


def test_the_fallback_counts_where_it_is_the_highest():
    ledger = led(fleet())

    ledger.acked(ack(seq=2, held_w=(210.0, 210.0), fallback_w=260.0), 0.5)
    ledger.sent(1, Key(1, 2), vector(220.0, 220.0), vector(340.0, 250.0))

    assert counted(ledger) == [260.0, 260.0, 340.0, 300.0]


def test_an_outside_cap_below_the_request_still_counts_as_requested():
    ledger = led(fleet())

    ledger.acked(ack(seq=2, held_w=(150.0, 150.0), requested_w=(300.0, 300.0)), 0.5)

    assert counted(ledger)[:2] == [300.0, 300.0]


def test_a_foreign_raise_counts_as_soon_as_a_state_or_a_frame_shows_it():
    ledger = led(fleet())

    ledger.state_heard(state(held_w=(700.0, 300.0), mono_s=11.0), 0.5)
    ledger.frame_heard(1, "boot-1", vector(np.nan, 520.0), int(11e9), 0.5)

    assert counted(ledger) == [700.0, 300.0, 300.0, 520.0]


def test_frames_and_states_never_lower():
    ledger = led(fleet())

    ledger.state_heard(state(held_w=(210.0, 210.0), mono_s=11.0), 0.5)
    ledger.frame_heard(0, "boot-1", vector(210.0, 210.0), int(11e9), 0.5)

    assert counted(ledger)[:2] == [300.0, 300.0]


def test_what_was_shown_counts_until_an_ack_read_after_it():
    ledger = led(fleet())
    ledger.frame_heard(0, "boot-1", vector(520.0, 520.0), int(12e9), 0.5)

    ledger.acked(ack(seq=2, mono_s=11.0), 0.6)
    early = counted(ledger)
    ledger.acked(ack(seq=3, mono_s=13.0), 0.7)

    assert early[:2] == [520.0, 520.0]
    assert counted(ledger)[:2] == [300.0, 300.0]


def test_a_frame_read_before_the_ack_that_comes_after_it_is_left():
    ledger = led(fleet())

    ledger.frame_heard(0, "boot-1", vector(520.0, 520.0), int(9e9), 0.5)

    assert counted(ledger)[:2] == [300.0, 300.0]


def test_a_new_boot_counts_maximum_until_an_ack_of_that_boot():
    ledger = led(fleet())

    ledger.state_heard(state(boot="boot-2", mono_s=1.0), 0.5)
    rebooted = counted(ledger)
    ledger.acked(ack(seq=9, boot="boot-1", mono_s=99.0), 0.6)
    after_old = counted(ledger)
    ledger.acked(ack(seq=2, boot="boot-2", mono_s=2.0), 0.7)

    assert rebooted[:2] == [700.0, 700.0] == after_old[:2]
    assert counted(ledger)[:2] == [300.0, 300.0]


@pytest.mark.parametrize(("guard", "watts"), [(False, 700.0), (True, 300.0)])
def test_a_silent_node_counts_maximum_after_twenty_seconds_unless_it_has_a_boot_guard(guard, watts):
    ledger = led(fleet(guard=guard))

    assert counted(ledger, 19.0) == [300.0] * 4
    assert counted(ledger, 21.0) == [watts] * 4


def test_a_board_unread_for_twenty_seconds_on_a_node_that_talks_counts_maximum():
    ledger = led(fleet())

    for second in range(1, 25):
        ledger.acked(ack(seq=1 + second, held_w=(300.0, None), requested_w=(300.0, 300.0)), float(second))

    assert counted(ledger, 15.0)[:2] == [300.0, 300.0]
    assert counted(ledger, 24.0)[:2] == [300.0, 700.0]


def test_an_ack_that_could_not_read_a_board_keeps_what_was_sent_to_it():
    ledger = led(fleet())
    ledger.sent(0, Key(1, 2), vector(600.0, 210.0), BACK_W)

    ledger.acked(ack(seq=2, held_w=(None, None)), 0.5)

    assert counted(ledger)[:2] == [600.0, 300.0]


@pytest.mark.parametrize("reason", ["no_permission", "not_supported", "quarantined"])
def test_a_board_that_takes_no_limit_counts_its_maximum(reason):
    ledger = led(fleet())

    ledger.acked(ack(seq=2, board_refused=reason), 0.5)

    assert counted(ledger)[:2] == [700.0, 700.0]


def test_a_board_whose_limit_cannot_be_set_counts_its_maximum():
    ledger = led(fleet())

    ledger.state_heard(state(settable=False, mono_s=11.0), 0.5)

    assert counted(ledger)[:2] == [700.0, 700.0]


def test_learned_overshoot_is_held_between_one_and_three_per_cent():
    ledger = led(fleet())

    ledger.learned(vector(0.9, 1.02, 1.5, np.nan))

    assert counted(ledger) == pytest.approx([300.0, 306.0, 309.0, 309.0])


def test_everything_known_moves_to_a_fleet_with_more_boards():
    from small_site import boards, rules

    from easyrider_policy.core.fleet import Board, build

    ledger = led(fleet())
    ledger.sent(1, Key(1, 2), vector(500.0, 300.0), BACK_W)
    more = [*boards(), Board(uuid="a2", node="a", min_w=200.0, max_w=650.0)]

    moved = ledger.moved_to(build(rules(), more))

    assert counted(moved) == [300.0, 300.0, 650.0, 500.0, 300.0]


def test_a_node_the_operator_calls_dark_counts_nothing_until_it_is_heard():
    ledger = led(fleet())

    ledger.dark[0] = True
    dark = counted(ledger, 30.0)
    ledger.state_heard(state(mono_s=40.0), 30.0)

    assert dark == [0.0, 0.0, 700.0, 700.0]
    assert min(counted(ledger, 30.0)[:2]) >= 300.0


def test_a_follower_too_counts_a_rebooted_host_at_its_maximum():
    ledger = Ledger(fleet(), LEASES)
    ledger.acked(ack(), 0.0)

    ledger.state_heard(state(boot="boot-2", mono_s=1.0), 0.5)

    assert counted(ledger)[:2] == [700.0, 700.0]
