"""What a node repeats is read once; whatever it says differently counts at once."""

from dataclasses import dataclass, field

import msgspec
import pytest
from small_site import LEASES, ack, fleet, led, state

from easyrider.messages import NodeState
from easyrider_policy.core import ledger as ledgers
from easyrider_policy.core.ledger import Ledger


@dataclass
class Counted:
    """How often a function was asked."""

    inner: object
    calls: list[int] = field(default_factory=list)

    def __call__(self, *args):
        self.calls.append(1)
        return self.inner(*args)


def test_a_node_that_repeats_itself_is_read_once(monkeypatch: pytest.MonkeyPatch):
    read = Counted(ledgers.shown_boards)
    monkeypatch.setattr(ledgers, "shown_boards", read)
    ledger = led(fleet())

    for second in range(5):
        ledger.state_heard(state(mono_s=20.0 + second), 10.0 + second)

    assert len(read.calls) == 1
    assert ledger.read_s.tolist()[:2] == [14.0, 14.0]


def test_an_ack_that_repeats_itself_still_ends_what_was_shown_before_it():
    ledger = led(fleet())
    ledger.state_heard(state(held_w=(640.0, 300.0), mono_s=11.0), 1.0)
    before_w = ledger.counted_w(1.5)[:2].tolist()

    ledger.acked(ack(seq=2, mono_s=12.0), 2.0)

    assert before_w == [640.0, 300.0]
    assert ledger.counted_w(2.5)[:2].tolist() == [300.0, 300.0]


def test_a_board_that_drops_out_of_an_ack_keeps_what_it_counted_and_the_other_moves():
    ledger = led(fleet())
    ledger.acked(ack(seq=2, held_w=(300.0, 300.0)), 1.0)

    ledger.acked(ack(seq=3, held_w=(None, 450.0)), 2.0)
    ledger.acked(ack(seq=4, held_w=(None, 460.0)), 3.0)

    assert ledger.counted_w(3.0)[:2].tolist() == [300.0, 460.0]
    assert ledger.requested_w[:2].tolist() == [300.0, 460.0]


def test_a_board_that_no_ack_ever_showed_counts_its_maximum():
    ledger = Ledger(fleet(), LEASES)
    ledger.took_over(1, 0.0)

    ledger.acked(ack(held_w=(None, 300.0)), 0.0)

    assert ledger.counted_w(0.5)[:2].tolist() == [700.0, 300.0]


def test_of_a_board_that_a_state_names_twice_the_worst_counts():
    ledger = led(fleet())
    high, low = state(held_w=(640.0, 300.0)), state(held_w=(310.0, 300.0), settable=False)
    said: NodeState = msgspec.structs.replace(high, gpus=(*high.gpus, *low.gpus), mono_ns=int(20e9))

    ledger.state_heard(said, 1.0)

    assert ledger.seen_w[:2].tolist() == [640.0, 300.0]
    assert ledger.stuck[:2].tolist() == [True, True]


def test_a_board_of_another_node_in_a_state_is_nobodys():
    ledger = led(fleet())
    foreign = state(node="b", held_w=(690.0, 690.0))
    said: NodeState = msgspec.structs.replace(foreign, node="a", mono_ns=int(20e9))

    ledger.state_heard(said, 1.0)

    assert ledger.counted_w(1.0).tolist() == [300.0] * 4
