"""Words that overtake each other, boots that begin again, and proofs that are none: what a count may rest on."""

from small_site import LEASES, ack, fleet, led, state, vector

from easyrider_policy.core.ledger import Ledger

LATE_S = 100.0 + LEASES.ttl_s + LEASES.second_stage_s + 10.0
ON_FALLBACK = (250.0, 250.0)


def taken_over() -> Ledger:
    """Epoch 2 took over at 100 s from a leader under which everything held 300 W."""
    ledger = led(fleet(guard=True))
    for node in "ab":
        ledger.state_heard(state(node, mono_s=99.0), 99.9)
    ledger.took_over(2, 100.0)
    return ledger


def test_a_state_made_before_the_newest_ack_shows_what_is_over() -> None:
    ledger = led(fleet())
    ledger.acked(ack(seq=2, mono_s=12.0), 1.0)

    for mono_s in (11.0, 12.0):
        ledger.state_heard(state(held_w=(600.0, 600.0), mono_s=mono_s), 1.1)

    assert ledger.counted_w(1.2)[:2].tolist() == [300.0, 300.0]


def test_of_acks_the_latest_stamp_stands_though_a_newer_command_was_answered_by_an_older_one() -> None:
    ledger = led(fleet())
    ledger.acked(ack(seq=2, mono_s=12.0), 1.0)
    ledger.acked(ack(seq=3, mono_s=11.0), 1.0)

    ledger.state_heard(state(held_w=(600.0, 600.0), mono_s=11.5), 1.1)

    assert ledger.counted_w(1.2)[:2].tolist() == [300.0, 300.0]


def test_a_boot_whose_clock_begins_again_is_not_measured_by_the_acks_of_the_one_before() -> None:
    ledger = led(fleet())
    ledger.acked(ack(seq=2, boot="boot-2", mono_s=2.0), 1.0)

    ledger.frame_heard(0, "boot-2", vector(600.0, 600.0), int(3e9), 1.1)

    assert ledger.counted_w(1.2)[:2].tolist() == [600.0, 600.0]


def test_a_node_that_boots_blocks_raises_until_it_acks_again() -> None:
    ledger = led(fleet())
    assert not ledger.unfenced(1.0).any()

    ledger.frame_heard(0, "boot-2", vector(300.0, 300.0), int(3e9), 1.0)
    assert ledger.unfenced(1.0).tolist() == [True, False]

    ledger.acked(ack(seq=2, boot="boot-2", mono_s=4.0), 1.1)
    assert not ledger.unfenced(1.1).any()


def test_what_was_proven_of_a_boot_is_not_of_the_next_one() -> None:
    ledger = taken_over()
    ledger.state_heard(state("a", held_w=ON_FALLBACK, stage=2, mono_s=106.0), 106.0)
    assert ledger.unfenced(106.0).tolist() == [False, True]

    ledger.frame_heard(0, "boot-2", vector(300.0, 300.0), int(3e9), 107.0)

    assert ledger.unfenced(107.0).all()


def test_what_was_proven_is_not_once_somebody_grants_again() -> None:
    ledger = taken_over()
    ledger.state_heard(state("a", held_w=ON_FALLBACK, stage=2, mono_s=106.0), 106.0)

    ledger.state_heard(state("a", held_w=ON_FALLBACK, stage=0, mono_s=107.0), 107.0)

    assert ledger.unfenced(107.0).all()
    assert ledger.counted_w(107.0)[:2].tolist() == [700.0, 700.0]


def test_a_state_lowers_no_count_of_a_node_that_acks_us() -> None:
    ledger = led(fleet())

    ledger.state_heard(state(held_w=ON_FALLBACK, stage=2, mono_s=30.0), 20.0)

    assert ledger.counted_w(20.0)[:2].tolist() == [300.0, 300.0]


def test_a_host_that_rebooted_is_not_proven_by_a_state_and_may_be_once_it_has_acked() -> None:
    ledger = taken_over()
    ledger.frame_heard(0, "boot-2", vector(250.0, 250.0), int(3e9), 101.0)
    shown = state("a", held_w=ON_FALLBACK, stage=2, boot="boot-2", mono_s=8.0)

    ledger.state_heard(shown, 106.0)
    assert ledger.unfenced(106.0).all()

    ledger.acked(ack(epoch=2, boot="boot-2", held_w=ON_FALLBACK, mono_s=8.5), 106.5)
    ledger.took_over(3, 107.0)
    ledger.state_heard(state("a", held_w=ON_FALLBACK, stage=2, boot="boot-2", mono_s=15.0), 113.0)
    assert ledger.unfenced(113.0).tolist() == [False, True]
    assert ledger.counted_w(113.0)[:2].tolist() == [250.0, 250.0]


def test_frames_prove_nothing_of_a_node_whose_guardian_talks() -> None:
    ledger = taken_over()
    ledger.state_heard(state("a", stage=0, mono_s=LATE_S), LATE_S)

    ledger.frame_heard(0, "boot-1", vector(250.0, 250.0), int((LATE_S + 1.0) * 1e9), LATE_S + 1.0)

    assert ledger.counted_w(LATE_S + 1.0)[:2].tolist() == [700.0, 700.0]
