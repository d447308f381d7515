"""Lowers that cannot wait for the next look: they need no room, and nothing rises beside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from led_site import ALONE, Site, vectors
from small_site import ack, state, vector

from easyrider.tree import HoldRule
from easyrider_policy.core.commands import Orders, Wanted
from easyrider_policy.core.holds import held


def lowered(site: Site, *wanted_w: float, managed: bool | np.ndarray = True) -> Orders:
    wanted = Wanted(limit_w=vector(*wanted_w), managed=np.full(4, managed), job=ALONE)
    return site.control.lowered(site.now_s, wanted)


def counted_w(site: Site) -> np.ndarray:
    return site.control.ledger.counted_w(site.now_s)


def test_only_the_node_of_a_board_that_falls_is_told_and_only_what_falls_moves():
    site = Site().settled()

    orders = lowered(site, 250, 400, 300, 400)

    assert vectors(orders) == {"a": [250.0, 300.0]}
    assert (orders.lowers, orders.raises) == (1, 0)


def test_what_it_asks_is_what_the_next_look_stands_on():
    site = Site().settled()

    site.answer(lowered(site, 250, 300, 300, 300))
    site.hear("a", "b")
    after = site.orders(250, 300, 300, 300, after_s=1.0)

    assert vectors(after)["a"] == [250.0, 300.0]
    assert counted_w(site)[0] == pytest.approx(250.0)


def test_until_it_is_acked_the_board_counts_what_it_held():
    site = Site().settled()

    lowered(site, 250, 300, 300, 300)

    assert counted_w(site)[0] == pytest.approx(300.0)


def test_who_does_not_lead_says_nothing():
    site = Site().settled()
    site.control.not_ours()

    assert lowered(site, 250, 250, 250, 250) == Orders()


def test_a_node_that_has_not_acked_this_leader_and_one_out_of_reach_are_not_told():
    fresh = Site()
    fresh.hear("a", "b")
    late = Site().settled()
    late.now_s += 30.0
    late.control.renewed(late.now_s)

    assert vectors(lowered(fresh, 250, 250, 250, 250)) == {}
    assert vectors(lowered(late, 250, 250, 250, 250)) == {}


def test_a_raise_that_a_node_took_and_did_not_make_is_not_said_again_beside_a_lower():
    site = Site().settled()
    orders = site.orders(300, 400, 300, 300, after_s=1.0)
    seq = next(m.seq for m in orders.messages if m.node == "a")
    site.control.acked(ack("a", seq=seq, held_w=(300.0, 300.0), mono_s=site.now_s), site.now_s)
    site.now_s += 0.1

    told = vectors(lowered(site, 250, 400, 300, 300))["a"]

    assert told == [250.0, pytest.approx(300.0, abs=0.01)]


def test_a_hold_takes_back_a_raise_under_way_here_too():
    site = Site().settled()
    site.orders(300, 400, 300, 300, after_s=1.0)
    site.control.holds = held([HoldRule(id="red", reason="smoke")], site.fleet)

    assert vectors(lowered(site, 250, 400, 300, 300))["a"] == [250.0, 300.0]


def test_boards_that_are_not_ours_are_left_alone():
    site = Site().settled()

    orders = lowered(site, 250, 250, 250, 250, managed=np.array([True, True, False, False]))

    assert set(vectors(orders)) == {"a"}


WATTS = st.lists(st.floats(200.0, 700.0), min_size=4, max_size=4)


@given(st.lists(st.tuples(st.booleans(), WATTS, st.booleans()), max_size=8))
def test_whatever_is_wanted_nothing_that_is_asked_stands_above_what_was_asked_before(turns):
    site = Site(hard_w=200 + 4 * 500).settled()
    for whole, wanted_w, answers in turns:
        site.now_s += 0.3
        site.control.renewed(site.now_s)
        asked_w, before_w = site.control.commands.held.limit_w.copy(), counted_w(site)
        if whole:
            orders = site.orders(*wanted_w)
        else:
            orders = lowered(site, *wanted_w)
            assert (site.control.commands.held.limit_w <= asked_w + 1e-9).all()
            assert (counted_w(site) <= before_w + 1e-6).all()
        if answers:
            site.answer(orders)
            for node in "ab":
                held_w = tuple(site.control.ledger.requested_w[site.fleet.gpus_of("ab".index(node))].tolist())
                site.nonce += 1
                said = state(
                    node, held_w, highest=(1, 0), nonce=site.nonce, mono_s=site.now_s, fallback_w=250.0
                )
                site.control.state_heard(said, site.now_s)
