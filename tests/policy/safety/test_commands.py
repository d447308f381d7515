"""What may leave now."""

from dataclasses import replace

import numpy as np
import pytest
from led_site import Site, vectors
from small_site import LEASES, ack, boards, rules, state, vector

from easyrider.messages import Hold
from easyrider_policy.core.commands import SPREAD_FROM, Orders, Wanted
from easyrider_policy.core.control import Control
from easyrider_policy.core.fleet import build
from easyrider_policy.core.unmanaged import Estimates


def test_a_new_leader_sends_every_node_a_hold_without_watts_first():
    site = Site()
    site.hear("a", "b")

    orders = site.orders(250, 250, 250, 250)

    assert [type(m) for m in orders.messages] == [Hold, Hold]
    assert {(m.epoch, m.nonce) for m in orders.messages} == {(1, site.nonce)}


def test_a_node_that_acked_the_hold_is_lowered_at_once_and_the_other_gets_holds_only():
    site = Site()
    site.hear("a", "b")
    site.control.acked(
        ack("a", seq=site.orders(300, 300, 300, 300).messages[0].seq, answers="hold"), site.now_s
    )

    orders = site.orders(250, 450, 250, 250, after_s=1.0)

    assert vectors(orders) == {"a": [250.0, 300.0]}
    assert any(isinstance(m, Hold) and m.node == "b" for m in orders.messages)


def test_nothing_rises_for_ttl_and_a_heartbeat_after_a_take_over():
    site = Site()
    site.hear("a", "b")
    site.answer(site.orders(300, 300, 300, 300))

    held = []
    for _ in range(5):
        site.hear("a", "b")
        held.append(site.orders(400, 400, 400, 400, after_s=1.0))
        site.answer(held[-1])
    site.hear("a", "b")
    later = site.orders(400, 400, 400, 400, after_s=1.1)

    assert all(orders.raises == 0 and {w.why for w in orders.waiting} == {"take_over"} for orders in held)
    assert later.raises == 4


def test_raises_take_only_the_room_that_the_count_leaves():
    site = Site(hard_w=200 + 4 * 300 + 100).settled()

    orders = site.orders(400, 400, 400, 400)

    assert vectors(orders) == {"a": [325.0, 325.0], "b": [325.0, 325.0]}
    assert {w.why for w in orders.waiting} == {"room:pdu"}


def test_a_raise_waits_until_the_lower_that_makes_its_room_is_acked():
    site = Site(hard_w=200 + 4 * 300).settled()

    first = site.orders(200, 200, 400, 400)
    again = site.orders(200, 200, 400, 400, after_s=0.1)
    site.answer(first)
    last = site.orders(200, 200, 400, 400, after_s=0.1)

    assert vectors(first) == {"a": [200.0, 200.0]}
    assert {w.why for w in first.waiting} == {"unacked:pdu"} == {w.why for w in again.waiting}
    # What is freed is what the fallback does not need: 250 W.
    assert vectors(last) == {"b": [350.0, 350.0]}


def test_a_raise_is_booked_before_it_leaves_so_that_the_next_one_finds_its_room_taken():
    site = Site(hard_w=200 + 4 * 300 + 100).settled()

    site.orders(400, 300, 300, 300)
    next_one = site.orders(400, 400, 300, 300, after_s=0.1)

    assert vectors(next_one) == {}
    assert [w.why for w in next_one.waiting] == ["room:pdu"]


def test_the_boards_of_a_job_rise_by_one_share():
    site = Site(hard_w=200 + 4 * 300 + 120).settled()

    orders = site.orders(400, 340, 300, 300, job=np.array([0, 0, 1, 1]))

    (a,) = vectors(orders).values()
    assert a == pytest.approx([300 + 120 * 100 / 140, 300 + 120 * 40 / 140], abs=0.01)


def test_a_board_that_cannot_rise_holds_the_rest_of_its_job():
    site = Site().settled()
    site.now_s += 2.0
    site.hear("a")
    site.now_s += 1.5

    orders = site.orders(400, 400, 400, 400, job=np.array([0, 1, 0, 2]))

    assert vectors(orders)["a"] == [300.0, 400.0]
    assert {w.why for w in orders.waiting} == {"silent:b"}


def test_a_raise_that_a_node_took_and_did_not_make_is_a_raise_again():
    site = Site(hard_w=200 + 4 * 300 + 100).settled()
    sent = site.orders(400, 300, 300, 300)
    site.control.acked(
        ack("a", seq=sent.messages[0].seq, held_w=(300.0, 300.0), mono_s=site.now_s), site.now_s
    )

    other = site.orders(400, 300, 400, 300, after_s=0.1)

    assert vectors(other) == {"a": [350.0, 300.0], "b": [350.0, 300.0]}


def test_every_node_gets_a_grant_each_second_with_the_freshest_nonce():
    site = Site().settled()
    site.orders(300, 300, 300, 300, after_s=1.0)
    site.hear("a", "b")

    none = site.orders(300, 300, 300, 300, after_s=0.5)
    some = site.orders(300, 300, 300, 300, after_s=0.5)

    assert none.messages == ()
    assert vectors(some) == {"a": [300.0, 300.0], "b": [300.0, 300.0]}
    assert {m.nonce for m in some.messages} == {site.nonce}


def test_after_a_limit_drops_a_node_with_a_vector_in_flight_gets_a_newer_one_though_unchanged():
    site = Site().settled()
    flying = site.orders(400, 400, 300, 300)

    site.hard_w = site.hard_w - 500.0
    orders = site.orders(400, 400, 300, 300, after_s=0.1)

    assert vectors(orders) == {"a": [400.0, 400.0]}
    assert orders.messages[0].seq > flying.messages[0].seq


def test_a_domain_over_its_limit_by_count_lets_nothing_rise_not_even_within_the_count():
    site = Site().settled()
    site.orders(200, 300, 300, 300)  # not acked: still counts 300

    site.hard_w = vector(1000.0)
    orders = site.orders(290, 300, 300, 300, after_s=0.1)

    assert orders.raises == 0


def test_nothing_is_sent_outside_the_range_of_a_board():
    site = Site().settled()

    orders = site.orders(150, 9000, 200.00049, 300)

    assert vectors(orders) == {"a": [200.0, 700.0], "b": [200.0, 300.0]}


def test_a_follower_sends_nothing():
    site = Site().settled()

    site.control.not_ours()

    assert site.orders(250, 250, 250, 250) == Orders()


def test_boards_in_no_active_mode_stand_as_nil_and_their_node_gets_holds():
    site = Site()
    for node in "ab":
        site.control.state_heard(state(node, controlled=False, highest=(1, 0)), site.now_s)
    first = site.orders(300, 300, 300, 300, managed=False)
    for message in first.messages:
        site.control.acked(ack(message.node, seq=message.seq, fallback_w=None, answers="hold"), site.now_s)

    orders = site.orders(*[np.nan] * 4, managed=False, after_s=1.0)

    assert [type(m) for m in orders.messages] == [Hold, Hold]


def test_no_command_goes_to_a_node_whose_nonce_is_surely_too_old():
    site = Site().settled()
    site.now_s += 5.5
    site.hear("b")

    orders = site.orders(250, 250, 250, 250)

    assert set(vectors(orders)) == {"b"}


def test_a_leader_that_led_before_starts_with_holds_again():
    site = Site().settled()
    site.control.not_ours()
    site.control.taken(2, site.now_s, site.now_s)

    orders = site.orders(250, 250, 250, 250)

    assert [type(m) for m in orders.messages] == [Hold, Hold]


def test_a_fallback_rises_only_into_verified_room():
    site = Site(hard_w=200 + 4 * 240)
    site.held_w, site.fallback_w = (240.0, 240.0), 210.0
    site.hear("a", "b")
    for message in site.orders(240, 240, 240, 240).messages:
        hold = ack(message.node, seq=message.seq, held_w=(240.0, 240.0), fallback_w=210.0, answers="hold")
        site.control.acked(hold, site.now_s)
    site.now_s += 6.5
    site.hear("a", "b")

    full = site.orders(240, 240, 240, 240)
    site.hard_w = vector(200 + 4 * 250)
    roomy = site.orders(240, 240, 240, 240, after_s=0.1)

    assert {limit.fallback_w for m in full.messages for limit in m.limits} == {210.0}
    assert {limit.fallback_w for m in roomy.messages for limit in m.limits} == {250.0}


def test_nothing_rises_beside_a_node_that_has_not_acked_the_hold_until_stage_two_has_passed():
    site = Site(hard_w=9000.0)
    site.hear("a", "b")
    first = site.orders(300, 300, 300, 300).messages[0]
    site.control.acked(ack("a", seq=first.seq, answers="hold"), site.now_s)

    site.now_s += 60.0
    site.hear("a", "b")
    early = site.orders(400, 400, 300, 300)
    site.now_s += 6.5
    site.hear("a", "b")
    late = site.orders(400, 400, 300, 300)

    assert [w.why for w in early.waiting] == ["unfenced:b"] * 2
    assert late.raises == 2


def test_planning_during_a_take_over_goes_by_what_nodes_say():
    site = Site()

    site.hear("a", "b")

    assert site.control.planned_w(site.now_s).tolist() == [300.0] * 4


def test_a_board_newly_heard_and_new_rules_move_no_limit():
    site = Site().settled()
    site.answer(site.orders(300, 310, 320, 330))

    site.control = site.control.moved_to(build(rules(3000.0, True), boards()))
    site.hear("a", "b")
    orders = site.orders(300, 310, 320, 330, after_s=1.0)

    assert vectors(orders) == {"a": [300.0, 310.0], "b": [320.0, 330.0]}
    assert (orders.lowers, orders.raises) == (0, 0)


def test_of_many_vectors_those_that_lower_leave_first():
    site = Site().settled()
    site.answer(site.orders(300, 310, 320, 330))
    site.hear("a", "b")

    orders = site.orders(300, 310, 320, 250, after_s=1.0)  # both are due, the second falls

    assert [message.node for message in orders.messages] == ["b", "a"]
    assert orders.lowers == 1


def test_on_a_large_site_grants_take_turns_and_no_node_waits_longer_for_its_next():
    names = [f"n{n}" for n in range(SPREAD_FROM + 100)]
    fleet = build(replace(rules(), nodes=tuple(replace(rules().nodes[0], id=name) for name in names)), [])
    control = Control(fleet, LEASES, "site", "r")
    control.taken(1, 100.0, 100.0)
    said: dict[str, list[float]] = {name: [] for name in names}
    most = []
    for beat in range(80):
        now_s = 100.0 + 0.05 * beat
        for name in names:
            control.state_heard(state(name, held_w=(), nonce=beat, mono_s=now_s, highest=(0, 0)), now_s)
        control.renewed(now_s)
        wanted = Wanted(limit_w=vector(), managed=np.zeros(0, dtype=bool), job=np.zeros(0, dtype=np.int64))
        orders = control.orders(
            now_s, wanted, fleet.hard_w, Estimates(np.full(1, np.nan), np.zeros(1, dtype=bool))
        )
        most.append(len(orders.messages))
        for message in orders.messages:
            said[message.node].append(now_s)

    assert most[0] == len(names), "a new leader greets all at once"
    assert max(most[21:]) <= len(names) / 20 + 2
    assert all(np.diff(times).max() <= 1.0 + 1e-6 for times in said.values())
