"""What a new leader believes of nodes it has no ack from."""

import numpy as np
from small_site import LEASES, ack, fleet, led, state, vector

from easyrider_policy.core.ledger import Ledger

SECOND_STAGE_S = LEASES.ttl_s + LEASES.second_stage_s + 1.0


def taken_over() -> Ledger:
    """Epoch 2 took over at 100 s from a leader under which everything held 300 W."""
    ledger = led(fleet(guard=True))
    for node in "ab":
        ledger.state_heard(state(node, mono_s=99.0), 99.9)
    ledger.took_over(2, 100.0)
    return ledger


def test_without_an_ack_of_its_epoch_a_node_counts_maximum_for_raises_and_what_it_says_for_planning():
    ledger = taken_over()

    assert ledger.counted_w(100.0).tolist() == [700.0] * 4
    assert ledger.planned_w(100.0).tolist() == [300.0] * 4
    assert ledger.unfenced(100.0).all()


def test_the_ack_of_the_hold_tells_what_a_node_has():
    ledger = taken_over()

    ledger.acked(ack("a", epoch=2, answers="hold", mono_s=100.0), 100.2)

    assert ledger.counted_w(100.3).tolist() == [300.0, 300.0, 700.0, 700.0]
    assert ledger.unfenced(100.3).tolist() == [False, True]


def test_a_late_ack_of_the_leader_before_fences_nothing():
    ledger = taken_over()

    ledger.acked(ack("a", epoch=1, seq=9, mono_s=100.0), 100.2)

    assert ledger.counted_w(100.3)[:2].tolist() == [700.0, 700.0]


def test_a_state_in_stage_two_minted_after_old_commands_are_void_shows_what_a_node_holds():
    ledger = taken_over()

    ledger.state_heard(state("a", held_w=(250.0, 250.0), stage=2, mono_s=101.0), 101.0)
    early = ledger.counted_w(101.0)[:2].tolist()
    ledger.state_heard(state("a", held_w=(250.0, 250.0), stage=2, mono_s=106.0), 106.0)

    assert early == [700.0, 700.0]
    assert ledger.counted_w(106.0)[:2].tolist() == [250.0, 250.0]
    assert ledger.unfenced(106.0).tolist() == [False, True]


def test_a_state_that_shows_somebody_still_grants_proves_nothing():
    ledger = taken_over()
    late_s = 100.0 + SECOND_STAGE_S + 5.0

    ledger.state_heard(state("a", stage=0, mono_s=late_s), late_s)

    assert ledger.counted_w(late_s)[:2].tolist() == [700.0, 700.0]


def test_frames_after_stage_two_show_a_node_whose_guardian_is_frozen():
    ledger = taken_over()
    late_s = 100.0 + SECOND_STAGE_S

    ledger.frame_heard(0, "boot-1", vector(320.0, 240.0), int(150e9), 150.0)
    early = ledger.counted_w(150.0)[:2].tolist()
    ledger.frame_heard(0, "boot-1", vector(320.0, 240.0), int((late_s + 1) * 1e9), late_s + 1)

    assert early == [700.0, 700.0]
    assert ledger.counted_w(late_s + 1)[:2].tolist() == [320.0, 250.0]


def test_with_neither_ack_nor_proof_a_node_blocks_nothing_after_stage_two_but_counts_maximum():
    ledger = taken_over()
    late_s = 100.0 + SECOND_STAGE_S

    assert ledger.unfenced(late_s - 0.1).all()
    assert not ledger.unfenced(late_s).any()
    assert ledger.counted_w(late_s).tolist() == [700.0] * 4


def test_a_host_that_rebooted_is_proven_by_nothing_but_an_ack():
    ledger = taken_over()
    late_s = 200.0

    ledger.frame_heard(0, "boot-2", vector(300.0, 300.0), int(5e9), late_s)
    ledger.frame_heard(0, "boot-2", vector(300.0, 300.0), int(6e9), late_s + 1)

    assert ledger.counted_w(late_s + 1)[:2].tolist() == [700.0, 700.0]


def test_a_node_never_heard_plans_with_its_fallback_until_silence_ends_that():
    ledger = Ledger(fleet(), LEASES)

    ledger.took_over(1, 100.0)

    assert ledger.planned_w(101.0).tolist() == [250.0] * 4
    assert np.all(ledger.planned_w(121.0) == 700.0)
