"""The sum rule per domain: open, closed, and what load nobody limits counts."""

import numpy as np
import pytest
from small_site import BOX, boards, rules, vector

from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider_policy.core.counting import add_up, blocked_above
from easyrider_policy.core.fleet import Fleet, build
from easyrider_policy.core.unmanaged import Estimates, Meters

ALL, NONE = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
HALF = np.array([True, True, False, False])


def site(**extra) -> Fleet:
    return build(rules(3000.0, **extra), boards())


def sums(fleet: Fleet, managed=ALL, limitable=ALL, estimates: Estimates | None = None, **kinds):
    known = estimates or Meters(fleet).estimates(0.0)
    return add_up(fleet, vector(300, 300, 300, 300), managed, limitable, fleet.hard_w, known, **kinds)


def metered(fleet: Fleet, *pairs: tuple[float, float], gated: bool = True, period_s: float = 1.0) -> Meters:
    """Meters that showed (second, watts above managed)."""
    meters = Meters(fleet)
    for at_s, watts in pairs:
        meters.heard(0, 1000.0 + watts, 1000.0, at_s, period_s, gated)
    return meters


def test_a_closed_domain_counts_boards_overhead_fixed_load_and_margin():
    found = sums(site(fixed_w=50.0))

    assert found.counted_w.tolist() == [200.0 + 4 * 300.0 + 50.0]
    assert found.room_w.tolist() == [3000.0 - 1450.0]
    assert found.closed.all()
    assert found.blocked == {}


def test_boards_nobody_limits_count_their_maximum_and_let_nothing_rise_without_meter_or_declaration():
    found = sums(site(), managed=HALF)

    assert found.counted_w.tolist() == [200.0 + 600.0 + 1400.0]
    assert found.uncontrolled.tolist() == [2]
    assert not found.closed.any()
    assert found.blocked == {0: "open:pdu"}


def test_a_declared_maximum_stands_for_boards_nobody_limits():
    found = sums(site(unmanaged_max_w=900.0), managed=HALF)

    assert found.counted_w.tolist() == [200.0 + 600.0 + 900.0]
    assert found.blocked == {}


def test_a_declared_maximum_counts_no_less_than_boards_nobody_limits_are_read_to_draw():
    fleet = site(unmanaged_max_w=0.0)

    found = sums(fleet, managed=HALF, estimates=Meters(fleet).estimates(0.0, np.array([1250.0])))

    assert found.counted_w.tolist() == [200.0 + 600.0 + 1250.0]


def test_what_is_declared_of_a_domain_counts_in_those_above_whatever_they_declare_of_themselves():
    domains = (
        Domain(id="site", kind="site", rating_w=9000.0, unmanaged_max_w=0.0),
        Domain(id="pdu", kind="pdu", parent="site", rating_w=3000.0, unmanaged_max_w=900.0),
    )
    nodes = tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab")
    fleet = build(Rules(id="s", version=1, domains=domains, classes={"box": BOX}, nodes=nodes), boards())

    found = sums(fleet, managed=HALF)

    assert found.unmanaged_w.tolist() == [900.0, 900.0]
    assert found.blocked == {}


def test_a_meter_above_shows_what_the_domains_below_only_declare():
    domains = (
        Domain(id="site", kind="site", rating_w=9000.0),
        Domain(id="pdu", kind="pdu", parent="site", rating_w=3000.0, unmanaged_max_w=900.0),
    )
    nodes = tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab")
    fleet = build(Rules(id="s", version=1, domains=domains, classes={"box": BOX}, nodes=nodes), boards())
    meters = Meters(fleet)
    meters.heard(0, 1400.0, 1000.0, 0.0, 1.0, True)

    assert sums(fleet, managed=HALF, estimates=meters.estimates(0.0)).unmanaged_w.tolist() == [400.0, 900.0]


def test_a_meter_stands_for_boards_nobody_limits():
    fleet = site()

    found = sums(fleet, managed=HALF, estimates=metered(fleet, (0.0, 400.0), (1.0, 400.0)).estimates(1.0))

    assert found.counted_w.tolist() == [200.0 + 600.0 + 400.0]
    assert found.blocked == {}


def test_a_meter_that_has_not_passed_the_gate_justifies_no_raise_in_an_open_domain():
    fleet = site()

    found = sums(fleet, managed=HALF, estimates=metered(fleet, (0.0, 400.0), gated=False).estimates(1.0))

    assert found.blocked == {0: "open:pdu"}


def test_a_board_that_takes_no_limit_opens_the_domain_and_counts_its_maximum_among_the_boards():
    fleet = site()

    found = add_up(fleet, vector(700, 300, 300, 300), ALL, ~HALF, fleet.hard_w, Meters(fleet).estimates(0.0))

    assert found.counted_w.tolist() == [200.0 + 1600.0]
    assert (found.closed.tolist(), found.uncontrolled.tolist()) == ([False], [2])
    assert found.blocked == {}


def test_unmanaged_load_is_the_quantile_of_a_day_and_never_less_than_now():
    fleet = site()
    meters = metered(fleet, *((float(s), 100.0 if s % 600 else 500.0) for s in range(0, 7200, 5)))

    calm = meters.estimates(7200.0).watts[0]
    for second in range(7200, 7230, 5):
        meters.heard(0, 1900.0, 1000.0, float(second), 1.0, True)

    assert 100.0 <= calm <= 500.0
    assert meters.estimates(7230.0).watts[0] == 900.0


def test_a_silent_meter_counts_the_larger_of_the_declared_and_the_days_highest_and_lets_nothing_rise():
    fleet = site(unmanaged_max_w=300.0)
    meters = metered(fleet, *((float(s), 450.0 if s < 60 else 100.0) for s in range(0, 7200, 5)))

    fresh, stale = meters.estimates(7198.0), meters.estimates(7199.0)

    assert sums(fleet, estimates=fresh).blocked == {}
    assert stale.watts[0] == 450.0
    assert sums(fleet, estimates=stale).blocked == {0: "meter:pdu"}


def test_a_meter_in_the_rules_that_was_never_heard_is_silent():
    fleet = site(meters=("m1",))

    assert sums(fleet).blocked == {0: "meter:pdu"}


def test_negative_unmanaged_load_counts_nothing_and_is_reported():
    fleet = site()
    meters = metered(fleet, *((float(s), -80.0) for s in range(0, 30, 5)))

    assert meters.estimates(30.0).watts[0] == 0.0
    assert meters.negative_w[0] == pytest.approx(80.0)


def test_a_node_never_heard_counts_every_board_its_class_declares_at_maximum():
    fleet = build(rules(), boards("a"))

    found = add_up(fleet, vector(300, 300), ALL[:2], ALL[:2], fleet.hard_w, Meters(fleet).estimates(0.0))

    assert found.counted_w.tolist() == [200.0 + 600.0 + 1400.0]


def test_a_board_that_a_heard_node_does_not_report_counts_its_maximum():
    fleet = build(rules(), boards()[:3])

    assert fleet.wall_w(vector(300, 300, 300)).tolist() == [200.0 + 900.0 + 700.0]


def test_a_node_never_heard_of_a_class_that_declares_nothing_lets_nothing_rise_above_it():
    bare = rules()
    kind = NodeClass(overhead_w=100.0, overhead_slope=1.0)
    fleet = build(
        Rules(id="site", version=1, domains=bare.domains, classes={"box": kind}, nodes=bare.nodes),
        boards("a"),
    )

    found = add_up(fleet, vector(300, 300), ALL[:2], ALL[:2], fleet.hard_w, Meters(fleet).estimates(0.0))

    assert found.blocked == {0: "undeclared"}
    assert not found.closed.any()


def test_open_boards_below_a_meter_do_not_block_the_domain_above_it():
    domains = (
        Domain(id="site", kind="site", rating_w=9000.0),
        Domain(id="pdu", kind="pdu", parent="site", rating_w=3000.0),
    )
    nodes = tuple(Node(id=n, domain="pdu", node_class="box", fallback_w_per_gpu=250.0) for n in "ab")
    fleet = build(Rules(id="s", version=1, domains=domains, classes={"box": BOX}, nodes=nodes), boards())
    meters = Meters(fleet)
    meters.heard(1, 1400.0, 1000.0, 0.0, 1.0, True)

    found = sums(fleet, managed=HALF, estimates=meters.estimates(0.0))

    assert found.counted_w.tolist() == [1200.0, 1200.0]
    assert found.blocked == {}


def test_every_domain_above_an_unfenced_node_is_blocked_by_its_name():
    assert blocked_above(site(), np.array([False, True]), "unfenced") == {0: "unfenced:b"}


def test_a_meter_that_lags_shows_no_load_that_is_not_there():
    meters = Meters(site())
    managed = [1000.0 if second < 40 else 9000.0 for second in range(120)]

    for second, watts in enumerate(managed):
        meters.heard(0, managed[max(0, second - 2)] + 150.0, watts, float(second), 1.0, True)

    assert meters.estimates(119.0).watts[0] == pytest.approx(150.0, abs=1.0)


def test_load_that_swings_with_ours_hides_nothing_beside_it():
    meters = Meters(site())

    for second in range(120):
        managed_w = 5000.0 + 3000.0 * (-1) ** second
        meters.heard(0, managed_w + 700.0, managed_w, float(second), 1.0, True)

    assert meters.estimates(119.0).watts[0] == pytest.approx(700.0, abs=700.0 * 0.1)


def test_a_slow_meter_is_read_as_it_comes():
    meters = Meters(site())

    for second in range(0, 600, 60):
        meters.heard(0, 1400.0, 1000.0, float(second), 60.0, True)

    assert meters.estimates(600.0).watts[0] == 400.0
