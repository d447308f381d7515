"""With a hold in force nothing rises and everything else goes on, whatever the planner wants."""

from dataclasses import replace

import numpy as np
from led_site import JOBS, Site, vectors
from small_site import ack, boards, rules

from easyrider.messages import ExitGrant, SetLimits
from easyrider.tree import Domain, HoldRule
from easyrider_policy.core.fleet import build
from easyrider_policy.core.holds import held

ALL = HoldRule(id="red", reason="a smell of burning")


def hold(site: Site, *holds: HoldRule, nodes: tuple[str, ...] = ()) -> None:
    site.control.holds = held(holds, site.fleet, nodes)


def test_no_limit_rises_and_the_plan_names_the_hold():
    site = Site().settled()
    hold(site, ALL)

    orders = site.orders(400, 400, 400, 400, after_s=1.0)

    assert vectors(orders) == {"a": [300, 300], "b": [300, 300]}
    assert {waiting.why for waiting in orders.waiting} == {"hold:red"}
    assert orders.raises == 0


def test_lowers_go_on_beside_it_and_do_not_come_back():
    site = Site().settled()
    hold(site, ALL)

    down = site.orders(250, 300, 300, 300, after_s=1.0)
    site.answer(down)
    site.hear("a", "b")
    back = site.orders(300, 300, 300, 300, after_s=1.0)

    assert vectors(down)["a"] == [250, 300]
    assert vectors(back)["a"] == [250, 300]


def test_every_node_gets_its_grant_each_second_so_that_no_dead_man_acts():
    site = Site().settled()
    hold(site, ALL)

    for _ in range(30):
        orders = site.orders(400, 400, 400, 400, after_s=1.0)
        assert {message.node for message in orders.messages} == {"a", "b"}
        assert all(isinstance(message, SetLimits) for message in orders.messages)
        site.answer(orders)
        site.hear("a", "b")


def test_once_cleared_the_limit_rises():
    site = Site().settled()
    hold(site, ALL)
    site.answer(site.orders(400, 400, 400, 400, after_s=1.0))
    site.hear("a", "b")
    hold(site)

    assert vectors(site.orders(400, 400, 400, 400, after_s=1.0)) == {"a": [400, 400], "b": [400, 400]}


def test_a_raise_under_way_is_taken_back_when_the_hold_comes():
    site = Site().settled()
    site.orders(400, 300, 300, 300, after_s=1.0)  # said, and not acked
    hold(site, ALL)

    orders = site.orders(400, 300, 300, 300, after_s=0.1)  # at once, not with the next renewal

    assert vectors(orders) == {"a": [300, 300]}


def test_a_raise_under_way_is_taken_back_of_a_board_too_that_leaves_what_is_controlled():
    site = Site().settled()
    site.orders(400, 300, 300, 300, after_s=1.0)  # said, and not acked
    hold(site, ALL)

    orders = site.orders(400, 300, 300, 300, after_s=0.1, managed=False)  # released, or demoted

    assert vectors(orders) == {"a": [300, 300]}


def test_a_raise_of_the_fallback_waits_too_and_a_lower_of_it_does_not():
    site = Site()
    site.fallback_w = 220.0  # of the leader before; the rules say 250
    hold(site, ALL)
    site.hear("a", "b")
    for message in site.orders(300, 300, 300, 300).messages:
        known = ack(message.node, seq=message.seq, answers="hold", fallback_w=220.0, mono_s=site.now_s)
        site.control.acked(known, site.now_s)
    site.now_s += 6.5
    site.hear("a", "b")

    orders = site.orders(300, 300, 300, 300)

    assert {limit.fallback_w for m in orders.messages for limit in m.limits} == {220.0}


def test_nothing_is_given_back_while_it_is_held_and_all_of_it_after():
    site = Site(hard_w=4000.0).settled()
    site.control.ledger.baseline_w[:] = 700.0
    hold(site, ALL)
    kept = site.orders(300, 300, 300, 300, after_s=1.0, managed=False)
    site.hear("a", "b")
    hold(site)
    freed = site.orders(300, 300, 300, 300, after_s=1.0, managed=False)

    assert not [m for m in kept.messages if isinstance(m, ExitGrant)]
    assert {m.node for m in freed.messages if isinstance(m, ExitGrant)} == {"a", "b"}


def test_a_job_with_one_board_that_is_held_does_not_rise_with_the_others():
    site = Site().settled()
    hold(site, nodes=("b",))

    orders = site.orders(400, 400, 400, 400, job=np.array([0, 0, 0, 0]), after_s=1.0)

    assert vectors(orders) == {"a": [300, 300], "b": [300, 300]}
    assert [waiting.why for waiting in orders.waiting] == ["guardian_hold:b"]


def test_a_node_whose_guardian_holds_leaves_the_others_free():
    site = Site().settled()
    hold(site, nodes=("b", "nobody"))

    orders = site.orders(400, 400, 400, 400, job=JOBS, after_s=1.0)

    assert vectors(orders) == {"a": [400, 400], "b": [300, 300]}


def test_a_hold_names_domains_and_holds_all_below_them_and_nothing_beside():
    site = rules()
    more = (
        Domain(id="left", kind="rack", parent="pdu", rating_w=1e4),
        Domain(id="else", kind="rack", rating_w=1),
    )
    nodes = tuple(replace(n, domain="left" if n.id == "a" else "pdu") for n in site.nodes)
    tree = replace(site, domains=(*site.domains, *more), nodes=nodes)
    fleet = build(tree, boards())

    assert held([HoldRule(id="x", domains=("left",))], fleet).boards.tolist() == [True, True, False, False]
    assert held([HoldRule(id="x", domains=("pdu",))], fleet).boards.all()
    assert not held([HoldRule(id="x", domains=("else",))], fleet).any
    assert not held([HoldRule(id="x", domains=("of another scope",))], fleet).any
    assert held([HoldRule(id="x", domains=("left",)), ALL], fleet).why(0) == "hold:x"
