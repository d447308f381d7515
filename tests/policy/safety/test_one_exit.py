"""One wish to leave is granted once, however its messages, states and acks are late or lost."""

import itertools
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from led_site import Site
from small_site import ack, state

from easyrider.messages import ExitGrant, Leaving, LeavingGpu, SetLimits
from easyrider_policy.core.commands import Command

BASELINE_W = 500.0
REPEAT_S = 0.25  # a guardian says its wish so often
TICK_S = 0.05


class Guardian:
    """Node `a` of the small site over a slow line: it asks until it is let go, and obeys what arrives."""

    def __init__(self, site: Site, down_s: float, up_s: float, lost: set[int], ack_lost: bool) -> None:
        self.site, self.down_s, self.up_s, self.lost, self.ack_lost = site, down_s, up_s, lost, ack_lost
        self.leaving, self.armed = False, True
        self.held_w: tuple[float, ...] = (300.0, 300.0)
        self.key = 0
        self.grants: list[ExitGrant] = []  # said to us
        self.exits = self.limited = 0  # obeyed: let go, and taken under control again
        self.nonce = 1000
        self._line: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._say_s = self._state_s = 0.0

    def step(self, commands: tuple[Command, ...]) -> None:
        now_s = self.site.now_s
        for command in commands:
            if command.node != "a":
                continue
            if isinstance(command, ExitGrant):
                self.grants.append(command)
                if len(self.grants) - 1 in self.lost:
                    continue
            self._send(self.down_s, lambda command=command: self._obey(command))
        if self.leaving and now_s >= self._say_s:
            self._say_s, wish = now_s + REPEAT_S, self._wish()
            self._send(self.up_s, lambda: self.site.control.leaving_heard(wish, now_s))
        if now_s >= self._state_s:
            self._say_state()
        due = sorted(entry for entry in self._line if entry[0] <= now_s + 1e-9)
        self._line = [entry for entry in self._line if entry[0] > now_s + 1e-9]
        for _, _, arrive in due:
            arrive()

    def _send(self, after_s: float, arrive: Callable[[], None]) -> None:
        self._line.append((self.site.now_s + after_s, next(self._order), arrive))

    def _say_state(self) -> None:
        now_s = self.site.now_s
        self._state_s, self.nonce = now_s + 1.0, self.nonce + 1
        said = state("a", self.held_w, controlled=self.armed, leaving=self.leaving, highest=(1, self.key),
                     nonce=self.nonce, mono_s=now_s)  # fmt: skip
        self._send(self.up_s, lambda: self.site.control.state_heard(said, now_s))

    def _wish(self) -> Leaving:
        self.nonce += 1
        gpus = tuple(LeavingGpu(uuid=f"a{i}", baseline_w=BASELINE_W) for i in (0, 1))
        return Leaving(tree="site", region="r", node="a", boot_id="boot-1", nonce=self.nonce, reason="restore",
                       gpus=gpus, t_ns=0, mono_ns=0)  # fmt: skip

    def _obey(self, command: Command) -> None:
        if command.seq <= self.key:
            return
        self.key, now_s = command.seq, self.site.now_s
        kind, before = "hold", (self.armed, self.leaving)
        if isinstance(command, ExitGrant):
            kind, self.leaving, self.armed, self.held_w = "exit_grant", False, False, (BASELINE_W,) * 2
            self.exits += before[0]
        elif isinstance(command, SetLimits):
            kind = "set_limits"
            self.held_w = tuple(limit.limit_w or 0.0 for limit in command.limits)
            self.limited += not self.armed
            self.armed = True
        if before != (self.armed, self.leaving):
            self._state_s = 0.0
        if kind == "exit_grant" and self.ack_lost:
            return
        answer = ack("a", seq=command.seq, held_w=self.held_w, answers=kind, mono_s=now_s,
                     fallback_w=250.0 if self.armed else None)  # fmt: skip
        self._send(self.up_s, lambda: self.site.control.acked(answer, now_s))


def run(site: Site, node: Guardian, until_s: float) -> None:
    while site.now_s < until_s:
        orders = site.orders(300, 300, 300, 300, after_s=TICK_S)
        if round(site.now_s / TICK_S) % 20 == 0:
            site.hear("b")
        node.step(orders.messages)


def left(down_s: float, up_s: float, lost: set[int], ack_lost: bool, asks: int = 1) -> Guardian:
    site = Site().settled()
    node = Guardian(site, down_s, up_s, lost, ack_lost)
    for _ in range(asks):
        node.leaving, node._say_s = True, 0.0
        run(site, node, site.now_s + 9.0)
    assert np.isfinite(site.control.ledger.counted_w(site.now_s)).all()
    return node


late_s = st.sampled_from([0.0, 0.05, 0.1, 0.2])


@settings(max_examples=12, deadline=None)
@given(down_s=late_s, up_s=late_s)
def test_a_wish_is_granted_once_and_the_node_is_limited_again_once(down_s: float, up_s: float):
    node = left(down_s, up_s, lost=set(), ack_lost=False)

    assert len(node.grants) == 1
    assert (node.exits, node.limited, node.armed) == (1, 1, True)


@settings(max_examples=12, deadline=None)
@given(down_s=late_s, up_s=late_s, count=st.integers(1, 3), ack_lost=st.booleans())
def test_lost_grants_are_repeated_until_one_arrives_and_none_follows_it(
    down_s: float, up_s: float, count: int, ack_lost: bool
):
    node = left(down_s, up_s, lost=set(range(count)), ack_lost=ack_lost)

    assert len(node.grants) == count + 1
    assert len({grant.nonce for grant in node.grants}) == count + 1
    assert (node.exits, node.limited) == (1, 1)


@settings(max_examples=12, deadline=None)
@given(down_s=late_s, up_s=late_s)
def test_a_second_wish_later_is_granted_once_more(down_s: float, up_s: float):
    node = left(down_s, up_s, lost=set(), ack_lost=False, asks=2)

    assert len(node.grants) == 2
    assert (node.exits, node.limited) == (2, 2)
