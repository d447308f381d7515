"""One PDU with two nodes of two boards, and short ways to say what its nodes say."""

from typing import Any

import numpy as np

from easyrider.messages import GpuAck, GpuState, LimitAck, NodeState
from easyrider.tree import Domain, Leases, Node, NodeClass, Rules
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.ledger import Ledger

LEASES = Leases()
BOX = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)


def rules(hard_w: float = 3000.0, guard: bool = False, **extra: Any) -> Rules:
    """Domain `pdu`, nodes `a` and `b`, fallback 250 W a board."""
    domain = Domain(id="pdu", kind="pdu", rating_w=hard_w, hard_limit_w=hard_w, target_w=hard_w, **extra)
    nodes = tuple(
        Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0, boot_guard=guard) for n in "ab"
    )
    return Rules(id="site", version=1, domains=(domain,), classes={"box": BOX}, nodes=nodes)


def boards(nodes: str = "ab") -> list[Board]:
    """`a0`, `a1`, `b0`, `b1`, each 200 to 700 W."""
    return [Board(uuid=f"{n}{i}", node=n, min_w=200.0, max_w=700.0) for n in nodes for i in (0, 1)]


def fleet(**kinds: Any) -> Fleet:
    """The site with every board heard."""
    return build(rules(**kinds), boards())


def ack(
    node: str = "a",
    epoch: int = 1,
    seq: int = 1,
    held_w: tuple[float | None, ...] = (300.0, 300.0),
    requested_w: tuple[float | None, ...] | None = None,
    fallback_w: float | None = 250.0,
    boot: str = "boot-1",
    refused: str | None = None,
    highest: tuple[int, int] | None = None,
    board_refused: str | None = None,
    mono_s: float = 10.0,
    answers: str = "set_limits",
) -> LimitAck:
    """A guardian's answer; both boards hold `held_w`."""
    asked = held_w if requested_w is None else requested_w
    top = (epoch, seq) if highest is None else highest
    return LimitAck(
        tree="site",
        region="r",
        node=node,
        boot_id=boot,
        answers=answers,
        epoch=epoch,
        seq=seq,
        highest_epoch=top[0],
        highest_seq=top[1],
        accepted=refused is None,
        refused=refused,
        gpus=tuple(
            GpuAck(
                uuid=f"{node}{i}",
                requested_w=asked[i],
                enforced_w=w,
                fallback_w=fallback_w,
                refused=board_refused,
            )
            for i, w in enumerate(held_w)
        ),
        t_ns=0,
        mono_ns=int(mono_s * 1e9),
    )


def state(
    node: str = "a",
    held_w: tuple[float | None, ...] = (300.0, 300.0),
    requested_w: tuple[float | None, ...] | None = None,
    controlled: bool = True,
    boot: str = "boot-1",
    highest: tuple[int, int] = (1, 1),
    stage: int = 0,
    leaving: bool = False,
    settable: bool = True,
    mono_s: float = 10.0,
    nonce: int = 7,
    fallback_w: float = 250.0,
) -> NodeState:
    """A heartbeat; both boards hold `held_w`."""
    asked = held_w if requested_w is None else requested_w
    return NodeState(
        tree="site",
        region="r",
        node=node,
        boot_id=boot,
        nonce=nonce,
        highest_epoch=highest[0],
        highest_seq=highest[1],
        armed=controlled,
        stage=stage,
        leaving=leaving,
        gpus=tuple(
            GpuState(
                uuid=f"{node}{i}",
                min_w=200.0,
                max_w=700.0,
                default_w=700.0,
                baseline_w=700.0 if controlled else None,
                requested_w=asked[i],
                enforced_w=w,
                fallback_w=fallback_w if controlled else None,
                settable=settable,
                controlled=controlled,
            )
            for i, w in enumerate(held_w)
        ),
        t_ns=0,
        mono_ns=int(mono_s * 1e9),
    )


def vector(*watts: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """An array of watts."""
    return np.array(watts, dtype=np.float64)


def led(known: Fleet, now_s: float = 0.0) -> Ledger:
    """A ledger under epoch 1 whose nodes acked 300 W a board at `now_s`."""
    ledger = Ledger(known, LEASES)
    ledger.took_over(1, now_s)
    for node in "ab":
        ledger.acked(ack(node), now_s)
    return ledger
