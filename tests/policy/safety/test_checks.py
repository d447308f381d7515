"""Trees that cannot be kept safe are refused with the numbers."""

import dataclasses

import pytest
from small_site import boards, rules

from easyrider.errors import BadTree
from easyrider.tree import Contingency, CurvePoint, Domain, Leases, NodeClass, Pacing, PriorityClass
from easyrider_policy.core import checks
from easyrider_policy.core.fleet import build
from easyrider_policy.core.timing import allowed_s, need_s, worst_overload

UPS = (CurvePoint(multiple=1.25, time_s=60.0), CurvePoint(multiple=1.5, time_s=10.0))


def test_a_tree_that_can_be_kept_has_no_faults():
    assert checks.faults(rules()) == []


def test_fallbacks_that_do_not_fit_the_smallest_planned_limit_are_refused_with_the_numbers():
    tight = rules(1500.0, fixed_w=30.0, contingencies=(Contingency(name="module_lost", hard_limit_w=1200.0),))

    with pytest.raises(BadTree, match=r"1230 W, its smallest planned hard limit \(module_lost\) is 1200 W"):
        checks.refuse(tight)


def test_a_fallback_below_the_least_limit_of_a_board_counts_as_that():
    low = rules(1000.0)
    nodes = tuple(dataclasses.replace(node, fallback_w_per_gpu=10.0) for node in low.nodes)

    assert checks.faults(dataclasses.replace(low, nodes=nodes)) == []
    assert checks.faults(dataclasses.replace(rules(999.0), nodes=nodes)) != []


def test_boards_heard_are_checked_where_the_class_declares_none():
    bare = NodeClass(overhead_w=100.0, overhead_slope=1.0)
    silent = dataclasses.replace(rules(1100.0), classes={"box": bare})

    assert checks.faults(silent) == []
    assert checks.faults(silent, build(silent, boards())) != []


def test_between_its_points_a_curve_is_linear_in_the_logarithm_of_time():
    assert allowed_s(UPS, 1.375) == pytest.approx((60.0 * 10.0) ** 0.5)
    assert allowed_s(UPS, 1.0) == float("inf")
    assert allowed_s(UPS, 1.1) == 60.0
    assert allowed_s(UPS, 1.51) == 0.0


def test_the_worst_overload_is_the_worst_of_every_contingency_and_of_a_start_uncapped():
    domain = Domain(
        id="ups",
        kind="ups",
        rating_w=1000.0,
        contingencies=(
            Contingency(name="one", hard_limit_w=800.0),
            Contingency(name="two", hard_limit_w=600.0),
        ),
    )

    assert worst_overload(domain, 900.0).cause == "two"
    assert worst_overload(domain, 1900.0).multiple == pytest.approx(1.9)


def test_the_need_is_dead_man_period_meter_window_and_actuation():
    assert need_s(Leases()) == pytest.approx(14.3)


@pytest.mark.parametrize(("after_w", "passes"), [(2350.0, True), (2150.0, False)])
def test_a_curve_that_trips_before_twice_our_need_is_refused_with_the_numbers(after_w, passes):
    curved = rules(3000.0, curve=UPS, contingencies=(Contingency(name="module", hard_limit_w=after_w),))

    found = checks.faults(curved)

    assert (found == []) == passes
    if not passes:
        assert "module loads it to 1.4 x" in found[0]
        assert "we need 14.3 s" in found[0]


def test_hosts_that_may_boot_uncapped_are_counted_at_device_maximum_and_guarded_ones_at_their_fallback():
    # Four boards and two machines: 3000 W uncapped, 1200 W at fallbacks, on a PDU that carries 2000 W.
    open_hosts, guarded = rules(2000.0, curve=UPS), rules(2000.0, guard=True, curve=UPS)

    assert "a start of every host at once loads it to 1.5 x" in checks.faults(open_hosts)[0]
    assert checks.faults(guarded) == []
    assert checks.start_w(build(guarded, boards()), ()) == pytest.approx([1200.0])
    assert checks.start_w(build(open_hosts, boards()), ()) == pytest.approx([3000.0])


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"leases": Leases(ttl_s=12.0)}, ["ttl_s"]),
        ({"leases": Leases(leader_lease_s=8.0)}, ["leader_lease_s"]),
        ({"leases": Leases(region_lease_s=60.0)}, ["second_stage_s"]),
        ({"leases": Leases(control_period_s=0.5)}, ["control_period_s"]),
        ({"pacing": Pacing(step_share=0.3, cooldown_s=-1.0)}, ["step_share", "cooldown_s"]),
        (
            {"priorities": {"low": PriorityClass(weight=0.0, max_slowdown=1.0, flex_tier=5)}},
            ["weight", "max_", "flex"],
        ),
        ({"margin_w": -1.0}, ["margin_w"]),
    ],
)
def test_numbers_outside_their_range_are_refused_all_at_once(change, names):
    found = checks.faults(dataclasses.replace(rules(), **change))

    assert len(found) == len(names)
    assert all(name in fault for name, fault in zip(names, found, strict=True))
