"""Sums and counts agree with plain walks over the tree and over everything that ever happened."""

import random
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_trees import MAX_W, MIN_W, carried_w, random_tree, wall_w, worst_w
from sites import SLOW, seeds

from easyrider.messages import GpuAck, GpuState, LimitAck, NodeState
from easyrider.tree import Leases
from easyrider_policy.core import checks
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.ledger import Ledger
from easyrider_policy.core.silence import Key


def heard(rules, boards: int) -> Fleet:
    return build(
        rules,
        [
            Board(uuid=f"{n.id}/{b}", node=n.id, min_w=MIN_W, max_w=MAX_W)
            for n in reversed(rules.nodes)
            for b in range(boards)
        ],
    )


@SLOW
@given(seed=seeds, nodes=st.integers(0, 25), boards=st.integers(1, 8), lost=st.booleans())
def test_wall_watts_agree_with_a_walk_from_every_source_to_every_root(seed, nodes, boards, lost):
    dice = random.Random(seed)
    rules = random_tree(dice, nodes, boards, 0.5, True)
    fleet = heard(rules, boards)
    gone = dice.choice(rules.domains).id if lost else None
    gpu_w = np.array([dice.uniform(0, MAX_W) for _ in fleet.gpus])
    by_node = {n: gpu_w[fleet.gpus_of(i)].tolist() for i, n in enumerate(fleet.nodes)}

    dark = build(
        rules, [Board(uuid=u, node=u.split("/")[0], min_w=0.0, max_w=1.0) for u in fleet.gpus], [gone or ""]
    )
    same_order = [gpu_w[fleet.gpu_index[uuid]] for uuid in dark.gpus]

    now = dict(zip(fleet.domains, dark.wall_w(np.array(same_order)) + dark.fixed_w, strict=True))
    worst = dict(zip(fleet.domains, fleet.worst_wall_w(gpu_w) + fleet.worst_fixed_w, strict=True))
    plain_now, plain_worst = (
        carried_w(rules, wall_w(rules, by_node), gone),
        worst_w(rules, wall_w(rules, by_node)),
    )
    for domain in fleet.domains:
        assert abs(now[domain] - plain_now[domain]) < 1e-6
        # Each source is taken at its own worst loss: never below the worst single loss of the whole.
        assert worst[domain] >= plain_worst[domain] - 1e-6


@SLOW
@given(seed=seeds, nodes=st.integers(1, 12), boards=st.integers(1, 8))
def test_a_tree_whose_fallbacks_fit_passes_and_one_watt_less_is_refused(seed, nodes, boards):
    dice = random.Random(seed)
    rules = random_tree(dice, nodes, boards, 0.5, True)
    fleet = heard(rules, boards)

    needs_w = checks.fallback_w(fleet, rules.modes)
    plain_w = worst_w(rules, wall_w(rules, {n.id: [n.fallback_w_per_gpu] * boards for n in rules.nodes}))

    assert checks.faults(rules, fleet) == []
    assert all(w >= plain_w[d] + rules.margin_w - 1e-6 for d, w in zip(fleet.domains, needs_w, strict=True))


@dataclass
class Happened:
    """Everything that ever happened to one board, as plain lists; nothing is ever forgotten."""

    sent: list[tuple[tuple[int, int], float, float]] = field(default_factory=list)
    acks: list[tuple[tuple[int, int], float, float, float]] = field(
        default_factory=list
    )  # key, held, back, read at
    never: set[tuple[int, int]] = field(default_factory=set)  # refused, and provably never taken
    seen: list[tuple[float, float]] = field(default_factory=list)  # read at, watts

    def counts(self) -> float:
        if not self.acks:
            return MAX_W
        key, held_w, back_w, read_s = max(self.acks)
        later = [max(w, b) for k, w, b in self.sent if k > key and (k not in self.never)]
        return max([held_w, back_w, *later, *(w for at, w in self.seen if at > read_s)])


@SLOW
@given(seed=seeds, events=st.integers(1, 60))
def test_the_count_is_what_the_whole_history_says(seed, events):
    dice = random.Random(seed)
    fleet = heard(random_tree(dice, 1, 2, 0.5, True), 2)
    ledger, boards = Ledger(fleet, Leases()), [Happened(), Happened()]
    ledger.took_over(1, 0.0)
    seq, at_s, acked, refused = 0, 1.0, (0, 0), set()
    for _ in range(events):
        at_s += 0.01
        kind = dice.choice(["send", "send", "ack", "ack", "refuse", "state", "frame"])
        watts = [dice.choice([200.0, 300.0, 433.0, 600.0]) for _ in boards]
        if kind == "send":
            seq += 1
            back = [dice.choice([200.0, 350.0]) for _ in boards]
            ledger.sent(0, Key(1, seq), np.array(watts), np.array(back))
            for board, w, b in zip(boards, watts, back, strict=True):
                board.sent.append(((1, seq), w, b))
        elif kind in ("ack", "refuse") and seq:
            key = (1, dice.randint(1, seq))
            proof = kind == "refuse" and acked < key
            if kind == "ack" and key in refused:
                continue
            ledger.acked(_ack(key, watts, at_s, kind == "ack", acked), at_s)
            if kind == "ack" and key > acked:
                acked = key
                for board, w in zip(boards, watts, strict=True):
                    board.acks.append((key, w, 250.0, at_s))
            elif proof:
                refused.add(key)
                for board in boards:
                    board.never.add(key)
        elif kind == "state":
            ledger.state_heard(_state(watts, at_s), at_s)
            for board, w in zip(boards, watts, strict=True):
                board.seen.append((at_s, max(w, 250.0)))
        elif kind == "frame":
            ledger.frame_heard(0, "b", np.array(watts), int(at_s * 1e9), at_s)
            for board, w in zip(boards, watts, strict=True):
                board.seen.append((at_s, w))

        expected = [board.counts() for board in boards]
        assert (ledger.counted_w(at_s) >= np.array(expected) - 1e-9).all()
        if not refused:
            assert ledger.counted_w(at_s).tolist() == expected


def _ack(key, watts, at_s: float, accepted: bool, highest) -> LimitAck:
    top = max(key, highest) if accepted else highest
    return LimitAck(
        tree="site",
        region="r",
        node="n0",
        boot_id="b",
        answers="set_limits",
        epoch=key[0],
        seq=key[1],
        highest_epoch=top[0],
        highest_seq=top[1],
        accepted=accepted,
        refused=None if accepted else "stale_nonce",
        gpus=tuple(
            GpuAck(uuid=f"n0/{i}", requested_w=w, enforced_w=w, fallback_w=250.0) for i, w in enumerate(watts)
        ),
        t_ns=0,
        mono_ns=int(at_s * 1e9),
    )


def _state(watts, at_s: float) -> NodeState:
    return NodeState(
        tree="site",
        region="r",
        node="n0",
        boot_id="b",
        nonce=1,
        highest_epoch=1,
        highest_seq=1,
        armed=True,
        stage=0,
        leaving=False,
        gpus=tuple(
            GpuState(
                uuid=f"n0/{i}",
                min_w=MIN_W,
                max_w=MAX_W,
                default_w=MAX_W,
                baseline_w=MAX_W,
                requested_w=w,
                enforced_w=w,
                fallback_w=250.0,
                settable=True,
                controlled=True,
            )
            for i, w in enumerate(watts)
        ),
        t_ns=0,
        mono_ns=int(at_s * 1e9),
    )
