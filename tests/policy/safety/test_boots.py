"""Which boot of a node is the one that runs, where two were heard."""

import numpy as np
from small_site import LEASES, ack, fleet, led, state, vector

from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.silence import BOOTS_KEPT, Key


def forged(ledger: Ledger, at_s: float) -> None:
    """One frame of a boot that nobody ran."""
    ledger.frame_heard(0, "boot-9", vector(300.0, 300.0), 5, at_s)


def speaks(ledger: Ledger, from_s: float, to_s: float, boot: str = "boot-1") -> None:
    """A heartbeat a second."""
    for at_s in np.arange(from_s, to_s, 1.0).tolist():
        ledger.state_heard(state(boot=boot, mono_s=10.0 + at_s, nonce=int(at_s * 10)), at_s)


def test_one_word_of_another_boot_silences_a_node_for_seconds_only():
    ledger = led(fleet())
    speaks(ledger, 0.0, 5.0)

    forged(ledger, 5.0)
    speaks(ledger, 5.1, 10.0)

    assert ledger.roll.boot[0] == "boot-1"
    assert not ledger.roll.quiet(10.0)[0]


def test_a_node_that_was_replaced_by_a_forged_boot_counts_its_maximum_until_it_acks_anew():
    ledger = led(fleet())
    forged(ledger, 5.0)
    ledger.sent(0, Key(1, 2), vector(280.0, 280.0), vector(250.0, 250.0))
    speaks(ledger, 5.1, 10.0)
    back_w = ledger.counted_w(10.0)[:2].tolist()

    ledger.acked(ack(seq=1, held_w=(200.0, 200.0), mono_s=19.0), 10.0)  # of before
    old_w = ledger.counted_w(10.0)[:2].tolist()
    ledger.acked(ack(seq=2, held_w=(280.0, 280.0), mono_s=20.0), 10.1)

    assert back_w == old_w == [700.0, 700.0]
    assert ledger.counted_w(10.2)[:2].tolist() == [280.0, 280.0]


def test_words_of_the_boot_before_that_come_late_bring_it_not_back():
    ledger = led(fleet())
    speaks(ledger, 20.0, 22.0, boot="boot-2")

    for minted_s in np.arange(5.0, 19.0, 0.5).tolist():  # a bus that held them gives them all
        ledger.state_heard(state(mono_s=10.0 + minted_s), minted_s)

    assert ledger.roll.boot[0] == "boot-2"


def test_two_boots_that_both_speak_do_not_take_turns():
    ledger = Ledger(fleet(), LEASES)
    speaks(ledger, 0.0, 3.0)

    for at_s in range(3, 20):
        speaks(ledger, at_s, at_s + 1, boot="boot-2")
        speaks(ledger, at_s + 0.5, at_s + 1)

    assert ledger.roll.boot[0] == "boot-2"


def test_a_burst_that_comes_at_once_is_no_going_on():
    ledger = led(fleet())
    speaks(ledger, 0.0, 2.0, boot="boot-2")

    for _ in range(50):
        ledger.state_heard(state(mono_s=90.0), 4.0)

    assert ledger.roll.boot[0] == "boot-2"


def test_boots_without_end_are_not_kept_and_one_forgotten_counts_its_maximum_and_no_old_ack():
    ledger = led(fleet())
    for n in range(1000):
        ledger.frame_heard(0, f"forged-{n}", vector(300.0, 300.0), 5, 5.0 + n * 0.001)

    ledger.state_heard(state(mono_s=16.0), 6.1)  # the boot that was acked, forgotten since
    ledger.acked(ack(seq=1, held_w=(200.0, 200.0), mono_s=17.0), 6.2)

    assert len(ledger.roll.earlier_boots[0]) == BOOTS_KEPT
    assert ledger.roll.boot[0] == "boot-1"
    assert ledger.counted_w(6.3)[:2].tolist() == [700.0, 700.0]
    ledger.acked(ack(seq=2, held_w=(280.0, 280.0), mono_s=18.0), 6.4)
    assert ledger.counted_w(6.5)[:2].tolist() == [280.0, 280.0]
