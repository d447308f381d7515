"""Baselines are booked before they are granted."""

import numpy as np
from small_site import ack, state
from test_commands import Site

from easyrider.messages import ExitGrant, Leaving, LeavingGpu, SetLimits
from easyrider_policy.core.commands import Orders


def leaving(site: Site, node: str, baseline_w: float) -> Leaving:
    gpus = tuple(LeavingGpu(uuid=f"{node}{i}", baseline_w=baseline_w) for i in (0, 1))
    return Leaving(
        tree="site",
        region="r",
        node=node,
        boot_id="boot-1",
        nonce=site.nonce,
        reason="stop",
        gpus=gpus,
        t_ns=0,
        mono_ns=0,
    )


def grants(orders: Orders) -> list[str]:
    return [m.node for m in orders.messages if isinstance(m, ExitGrant)]


def test_a_node_is_granted_its_baseline_where_the_verified_room_carries_it():
    site = Site(hard_w=200 + 2 * 300 + 2 * 500).settled()

    site.control.leaving_heard(leaving(site, "a", 500.0), site.now_s)
    orders = site.orders(300, 300, 300, 300)

    assert grants(orders) == ["a"]
    assert site.control.ledger.counted_w(site.now_s).tolist() == [500.0, 500.0, 300.0, 300.0]


def test_a_baseline_that_does_not_fit_waits_until_others_are_verified_lower():
    site = Site(hard_w=200 + 4 * 300).settled()
    site.control.leaving_heard(leaving(site, "a", 350.0), site.now_s)

    reserved_w = site.control.planned_w(site.now_s)
    early = site.orders(300, 300, 250, 250)
    site.answer(early)
    late = site.orders(300, 300, 250, 250, after_s=0.1)

    assert reserved_w.tolist() == [350.0, 350.0, 300.0, 300.0]
    assert grants(early) == []
    assert grants(late) == ["a"]


def test_two_nodes_that_leave_at_once_share_the_room_and_their_bookings_add_up():
    site = Site(hard_w=200 + 2 * 300 + 2 * 500).settled()

    site.control.leaving_heard(leaving(site, "a", 500.0), site.now_s)
    site.control.leaving_heard(leaving(site, "b", 500.0), site.now_s)
    orders = site.orders(300, 300, 300, 300)

    assert len(grants(orders)) == 1


def test_no_raise_takes_the_room_a_baseline_waits_for():
    site = Site(hard_w=200 + 4 * 300 + 100).settled()
    site.control.leaving_heard(leaving(site, "a", 360.0), site.now_s)

    orders = site.orders(300, 300, 350, 350)

    assert orders.raises == 0
    assert grants(orders) == []


def test_a_node_that_was_let_go_gets_no_command_and_keeps_its_booking_until_it_is_limited_again():
    site = Site().settled()
    site.control.leaving_heard(leaving(site, "a", 500.0), site.now_s)
    (grant,) = (m for m in site.orders(300, 300, 300, 300).messages if isinstance(m, ExitGrant))
    site.control.acked(
        ack(
            "a",
            seq=grant.seq,
            held_w=(500.0, 500.0),
            fallback_w=None,
            answers="exit_grant",
            mono_s=site.now_s,
        ),
        site.now_s,
    )

    away = site.orders(300, 300, 300, 300, after_s=1.0)
    booked_w = site.control.ledger.counted_w(site.now_s)[:2].tolist()
    site.now_s += 5.0
    back = state(
        "a", controlled=False, held_w=(500.0, 500.0), highest=(1, grant.seq), mono_s=site.now_s, nonce=999
    )
    site.control.state_heard(back, site.now_s)
    site.hear("b")
    returned = site.orders(300, 300, 300, 300)
    site.answer(returned)

    assert "a" not in {m.node for m in away.messages}
    assert booked_w == [500.0, 500.0]
    assert "a" in {m.node for m in returned.messages if isinstance(m, SetLimits)}
    assert site.control.ledger.counted_w(site.now_s)[:2].tolist() == [300.0, 300.0]


def test_a_node_that_gave_up_waiting_is_not_granted_later():
    site = Site().settled()
    site.control.leaving_heard(leaving(site, "a", 500.0), site.now_s)

    orders = site.orders(300, 300, 300, 300, after_s=3.5)

    assert grants(orders) == []


def test_boards_that_leave_an_active_mode_keep_their_limits_until_their_baseline_is_booked():
    site = Site(hard_w=200 + 4 * 300).settled()

    full = site.orders(*[np.nan] * 4, managed=False, after_s=1.0)
    site.hard_w = site.hard_w + 2000.0
    site.hear("a", "b")
    roomy = site.orders(*[np.nan] * 4, managed=False, after_s=1.0)

    assert [[limit.limit_w for limit in m.limits] for m in full.messages] == [[300.0, 300.0], [300.0, 300.0]]
    assert sorted(grants(roomy)) == ["a", "b"]
    assert [m.gpus for m in roomy.messages if isinstance(m, ExitGrant)] == [("a0", "a1"), ("b0", "b1")]


def test_the_operator_ends_the_booking_of_a_node_that_will_not_come_back():
    site = Site().settled()
    site.control.leaving_heard(leaving(site, "a", 500.0), site.now_s)
    site.orders(300, 300, 300, 300)

    site.control.operator_released(0)

    assert site.control.ledger.counted_w(site.now_s).tolist() == [0.0, 0.0, 300.0, 300.0]
