"""A coordinator that leads the small site, and what its orders say."""

import numpy as np
from small_site import LEASES, ack, boards, rules, state, vector

from easyrider.messages import SetLimits
from easyrider_policy.core.commands import Orders, Wanted
from easyrider_policy.core.control import Control
from easyrider_policy.core.fleet import build
from easyrider_policy.core.unmanaged import Estimates

JOBS = np.array([0, 0, 1, 1])
ALONE = np.array([-1, -1, -1, -1])


class Site:
    """A coordinator that leads nodes `a` and `b`; every board holds 300 W, hard limit in wall watts."""

    def __init__(self, hard_w: float = 3000.0, guard: bool = True) -> None:
        self.fleet = build(rules(hard_w, guard), boards())
        self.control = Control(self.fleet, LEASES, "site", "r")
        self.hard_w = self.fleet.hard_w.copy()
        self.now_s, self.nonce, self.held_w, self.fallback_w = 100.0, 100, (300.0, 300.0), 250.0
        self.control.taken(1, self.now_s, self.now_s)

    def hear(self, *nodes: str) -> None:
        """A heartbeat of each node now."""
        self.nonce += 1
        for node in nodes:
            said = state(
                node,
                self.held_w,
                highest=(1, 0),
                nonce=self.nonce,
                mono_s=self.now_s - 1e-3,
                fallback_w=self.fallback_w,
            )
            self.control.state_heard(said, self.now_s)

    def orders(self, *wanted_w: float, job=ALONE, after_s: float = 0.0, managed=True) -> Orders:
        """Orders for wishes a board, some time later; the lead is renewed meanwhile."""
        self.now_s += after_s
        self.control.renewed(self.now_s)
        wanted = Wanted(limit_w=vector(*wanted_w), managed=np.full(4, managed), job=job)
        nothing = Estimates(np.full(1, np.nan), np.zeros(1, dtype=np.bool_))
        return self.control.orders(self.now_s, wanted, self.hard_w, nothing)

    def answer(self, orders: Orders) -> None:
        """Every node takes what it was sent, and acks."""
        for message in orders.messages:
            held = (300.0, 300.0)
            kind = "hold"
            if isinstance(message, SetLimits):
                held, kind = tuple(limit.limit_w for limit in message.limits), "set_limits"
            self.control.acked(
                ack(message.node, seq=message.seq, held_w=held, answers=kind, mono_s=self.now_s), self.now_s
            )

    def settled(self) -> "Site":
        """Past the hold, both nodes fenced and based."""
        self.hear("a", "b")
        self.answer(self.orders(300, 300, 300, 300))
        self.now_s += 6.5
        self.hear("a", "b")
        self.answer(self.orders(300, 300, 300, 300))
        self.hear("a", "b")
        return self


def vectors(orders: Orders) -> dict[str, list[float | None]]:
    return {
        m.node: [limit.limit_w for limit in m.limits] for m in orders.messages if isinstance(m, SetLimits)
    }
