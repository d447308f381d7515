"""Words of many nodes as columns: states and acks that say of their boards what each node said before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.said import AckedBoards, ShownBoards, all_acked, all_shown
from easyrider_policy.core.silence import Key

Ints = NDArray[np.int64]


class States(NamedTuple):
    """States (F,) of different nodes, each of its present boot and fenced; of all boards the limits were read."""

    nodes: Ints
    minted_s: Floats
    mono_ns: Ints  # source clock
    nonces: Ints
    boards: Sequence[ShownBoards]


class Acks(NamedTuple):
    """Acks (F,) of different nodes, each of its present boot, newer than any before, and with all boards read."""

    nodes: Ints
    minted_s: Floats
    mono_ns: Ints  # source clock
    keys: Sequence[Key]
    boards: Sequence[AckedBoards]


def states_heard(ledger: Ledger, states: States) -> None:
    """What `Ledger.state_heard` makes of each."""
    nodes, minted_s, mono_ns, nonces, boards = states
    _present(ledger, nodes, minted_s)
    ledger.roll.nonces_heard(nodes, nonces, minted_s)
    news: Bools = mono_ns > ledger.acked_ns[nodes]
    if not news.all():
        boards = [one for one, new in zip(boards, news.tolist(), strict=True) if new]
        minted_s, mono_ns = minted_s[news], mono_ns[news]
    if boards:
        each = [len(one.most_w) for one in boards]
        ledger.boards_shown(all_shown(boards), np.repeat(mono_ns, each), np.repeat(minted_s, each))


def acks_heard(ledger: Ledger, acks: Acks) -> None:
    """What `Ledger.acked` makes of each."""
    nodes, minted_s, mono_ns, keys, boards = acks
    _present(ledger, nodes, minted_s)
    for node, key in zip(nodes.tolist(), keys, strict=True):
        ledger.outbox.answered(node, key)
        ledger.acked_key[node] = key
    ledger.fence[nodes] = np.maximum(ledger.fence[nodes], [key.epoch for key in keys])
    ledger.rebooted[nodes] = False
    ledger.acked_ns[nodes] = np.maximum(ledger.acked_ns[nodes], mono_ns)
    each = [len(one.holds_w) for one in boards]
    ledger.boards_acked(all_acked(boards), np.repeat(mono_ns, each), np.repeat(minted_s, each))


def _present(ledger: Ledger, nodes: Ints, minted_s: Floats) -> None:
    ledger.dark[nodes] = False
    ledger.roll.all_heard(nodes, minted_s)
