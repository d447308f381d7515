"""Words of many nodes as columns: states and acks that say of their boards what each node said before."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Bools, Floats
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.said import AckedBoards, ShownBoards
from easyrider_policy.core.silence import Key

Ints = NDArray[np.int64]


class States(NamedTuple):
    """States (F,) of different nodes, each of its present boot and fenced; of all boards the limits were read."""

    nodes: Ints
    minted_s: Floats
    mono_ns: Ints  # source clock
    nonces: Ints
    boards: ShownBoards  # of all of them, node after node
    each: int  # how many are each node's


class Acks(NamedTuple):
    """Acks (F,) of different nodes, each of its present boot, newer than any before, and with all boards read."""

    nodes: Ints
    minted_s: Floats
    mono_ns: Ints  # source clock
    epochs: Ints
    seqs: Ints
    boards: AckedBoards  # of all of them, node after node
    each: int  # how many are each node's


def states_heard(ledger: Ledger, states: States) -> None:
    """What `Ledger.state_heard` makes of each."""
    nodes, minted_s, mono_ns, nonces, boards, each = states
    _present(ledger, nodes, minted_s)
    ledger.roll.nonces_heard(nodes, nonces, minted_s)
    news: Bools = mono_ns > ledger.acked_ns[nodes]
    if not news.all():
        boards = boards.some(np.repeat(news, each))
        minted_s, mono_ns = minted_s[news], mono_ns[news]
    if len(mono_ns):
        ledger.boards_shown(boards, np.repeat(mono_ns, each), np.repeat(minted_s, each))


def acks_heard(ledger: Ledger, acks: Acks) -> None:
    """What `Ledger.acked` makes of each."""
    nodes, minted_s, mono_ns, epochs, seqs, boards, each = acks
    _present(ledger, nodes, minted_s)
    answered, acked_key = ledger.outbox.answered, ledger.acked_key
    for node, key in zip(nodes.tolist(), map(Key, epochs.tolist(), seqs.tolist()), strict=True):
        answered(node, key)
        acked_key[node] = key
    ledger.fence[nodes] = np.maximum(ledger.fence[nodes], epochs)
    ledger.rebooted[nodes] = False
    ledger.acked_ns[nodes] = np.maximum(ledger.acked_ns[nodes], mono_ns)
    ledger.boards_acked(boards, np.repeat(mono_ns, each), np.repeat(minted_s, each))


def _present(ledger: Ledger, nodes: Ints, minted_s: Floats) -> None:
    ledger.dark[nodes] = False
    ledger.roll.all_heard(nodes, minted_s)
