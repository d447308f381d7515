"""Boards that are only looked at, beside boards under control: read like any other, and counted once."""

from dataclasses import replace

import pytest
from wired_site import Wired, rules

from easyrider.messages import DomainPlan, Plan
from easyrider.tree import ModeRule, Rules

OVERHEAD_W = 200.0
DRAWN_W = 2 * 630.0
ROOM_W = 2 * 550.0
"""What is left for the boards of node a."""


def half_observed(pdu_w: float, declared_w: float | None) -> Rules:
    """Node a in `enforce`, node b in `observe`, and no meter."""
    known = rules(pdu_w=pdu_w, meters=(), target_w=pdu_w, unmanaged_max_w=declared_w)
    modes = tuple(ModeRule(selector={"node": (n,)}, mode=m) for n, m in (("a", "enforce"), ("b", "observe")))
    return replace(known, modes=modes)


async def running(with_rules: Rules) -> Wired:
    """Half a minute with a job on every board that would draw 630 W."""
    wired = Wired(with_rules)
    for box in wired.boxes.values():
        box.draw_w = [DRAWN_W / 2] * 2
    await wired.seconds(2)
    wired.starts("ours", "a")
    wired.starts("seen", "b")
    await wired.seconds(30)
    return wired


def pdu(wired: Wired) -> DomainPlan:
    plan: Plan = wired.said(Plan)[-1]
    return next(domain for domain in plan.domains if domain.domain == "pdu")


async def test_a_declared_load_and_the_boards_it_stands_for_are_not_both_taken_from_the_jobs() -> None:
    declared_w = 1400.0

    wired = await running(half_observed(OVERHEAD_W + declared_w + ROOM_W, declared_w))

    assert pdu(wired).missing_w == 0.0
    assert wired.boxes["a"].limit_w == pytest.approx([ROOM_W / 2] * 2, rel=0.05)
    assert wired.boxes["b"].limit_w == [700.0, 700.0]


async def test_boards_that_are_read_count_what_they_draw_where_less_is_declared() -> None:
    wired = await running(half_observed(OVERHEAD_W + 1400.0 + ROOM_W, 0.0))

    assert pdu(wired).unmanaged_w >= DRAWN_W
    assert not pdu(wired).closed
    assert sum(wired.boxes["a"].limit_w) <= ROOM_W + 1.0, (
        "at most what is left with the others at their maximum"
    )
