"""Several meters of one supply, and meters that fall silent: a loss stands until each of them knows better."""

from dataclasses import replace

import numpy as np
import pytest
from supplied import BATTERY, BOX, HOT, METERS, NO_A, facility, limits, supply, told

from easyrider.tree import Node, Rules
from easyrider.tree_reader import read_document, to_document
from easyrider_policy.core.fleet import build
from easyrider_policy.core.phases import DAY_S

LOST_AND_BACK = (
    (BATTERY, "pdu", {"on_battery": True}, {"on_battery": False}),
    (NO_A, "feed-a", {"voltage_v": 3.0}, {"voltage_v": 400.0}),
    (HOT, "pdu", {"temperature_c": 33.0}, {"temperature_c": 24.0}),
)


@pytest.mark.parametrize("loss", [BATTERY, NO_A, HOT])
def test_the_supply_of_these_tests_is_one_that_the_rules_reader_takes(loss):
    rules = supply(loss)

    assert read_document(to_document(rules), "test").domains == rules.domains


@pytest.mark.parametrize(("loss", "domain", "lost", "back"), LOST_AND_BACK)
def test_a_loss_stands_as_long_as_any_of_its_meters_says_so(loss, domain, lost, back):
    (first, second), fed = METERS[domain], facility(loss)
    fed.heard(told(domain, meter=first, **back))
    fed.heard(told(domain, meter=second, **lost))
    stood = limits(fed)[0]

    again = [fed.heard(told(domain, meter=first, **back)) for _ in range(3)]
    after = limits(fed.carried(fed.fleet))[0]
    fed.heard(told(domain, meter=second, **back))

    assert (stood, after) == (loss.hard_limit_w, loss.hard_limit_w)
    assert again == [(), (), ()], "two meters that see different things make limits flap"
    assert limits(fed)[0] == 10_000.0


def test_the_battery_that_is_emptier_than_planned_counts_whatever_another_meter_says():
    ups = facility(BATTERY)
    for meter, left_pct in (("m", 60.0), ("m2", 90.0)):
        ups.heard(told(meter=meter, on_battery=True, battery_pct=100.0), now_s=0.0)
        ups.heard(told(meter=meter, on_battery=True, battery_pct=left_pct), now_s=120.0)

    ups.heard(told(meter="m2", on_battery=False), now_s=121.0)

    assert ups.losses.battery_left_s(2) == pytest.approx(360.0)
    assert limits(ups) == (8000.0, pytest.approx(0.75 * 5000.0))


@pytest.mark.parametrize(("loss", "domain", "lost", "back"), LOST_AND_BACK)
def test_a_meter_that_is_silent_for_three_periods_clears_a_loss_no_more(loss, domain, lost, back):
    fed = facility(loss)
    fed.heard(told(domain, **back), now_s=10.0)

    fresh = fed.pass_to(13.0)
    (move,) = fed.pass_to(13.1)

    assert fresh == ()
    assert (move.before, move.after) == (1.0, loss.hard_limit_w / 10_000.0)
    assert fed.losses.dark == frozenset(), "nobody has seen it dead"
    assert fed.pass_to(14.0) == ()
    assert fed.heard(told(domain, **back), now_s=15.0) != ()
    assert limits(fed)[0] == 10_000.0


def test_mains_that_were_said_long_before_they_are_heard_clear_nothing_even_for_a_moment():
    ups = facility(BATTERY)
    ups.pass_to(10.0)

    assert ups.heard(told(on_battery=False), now_s=4.0) == ()
    assert limits(ups)[0] == 8000.0


def test_one_of_two_meters_that_falls_silent_changes_nothing_while_the_other_speaks():
    ups = facility(BATTERY)
    for meter in ("m", "m2"):
        ups.heard(told(meter=meter, on_battery=False), now_s=0.0)
    ups.heard(told(meter="m2", on_battery=False), now_s=100.0)

    assert ups.pass_to(101.0) == ()
    assert limits(ups)[0] == 10_000.0


def test_a_loss_that_was_told_does_not_age_and_goes_with_the_meter_that_told_it():
    ups = facility(BATTERY)
    ups.heard(told(meter="m2", on_battery=True), now_s=0.0)
    ups.heard(told(meter="m", on_battery=False), now_s=1e6)
    stood = limits(ups)[0]
    pdu = ups.fleet.domain_records[2]
    rules = Rules(
        id="s", version=2, domains=(*ups.fleet.domain_records[:2], replace(pdu, meters=("m",))),
        classes={"b": BOX}, nodes=(Node(id="n", domain="pdu", node_class="b", fallback_w_per_gpu=100.0),),
    )  # fmt: skip

    moved = ups.carried(build(rules, []))
    carried = limits(moved)[0]
    moved.pass_to(1e6 + 0.1)

    assert stood == carried == 8000.0
    assert limits(moved)[0] == 10_000.0


def test_rules_that_change_clear_no_loss_that_stands_because_its_meter_is_silent():
    ups = facility(BATTERY)
    ups.heard(told(on_battery=False), now_s=0.0)
    ups.pass_to(100.0)

    moved = ups.carried(ups.fleet)
    at_once = limits(moved)[0]

    assert (at_once, moved.pass_to(100.1), limits(moved)[0]) == (8000.0, (), 8000.0)


def test_of_several_meters_the_one_whose_ampere_brings_least_bounds_the_target():
    pdu = facility()
    uneven, even = {"phases_a": (14.0, 8.0, 6.0)}, {"phases_a": (10.0, 10.0, 10.0)}
    pdu.heard(told(meter="m", power_w=6000.0, **uneven))
    bound = limits(pdu)[1]

    for _ in range(60):
        pdu.heard(told(meter="m2", power_w=6900.0, **even))
        assert limits(pdu)[1] == bound
        pdu.heard(told(meter="m", power_w=6000.0, **uneven))

    assert limits(pdu)[1] == bound
    assert pdu.phases.amps[2] == 14.0
    assert pdu.phases.carried(pdu.fleet).ceiling_w[2] == bound


def test_what_a_meter_taught_of_phases_is_kept_for_a_day_after_its_last_word():
    pdu = facility()
    pdu.heard(told(power_w=6000.0, phases_a=(14.0, 8.0, 6.0)), now_s=0.0)
    bound = limits(pdu)[1]

    pdu.pass_to(DAY_S - 1.0)
    kept = limits(pdu)[1]
    pdu.pass_to(DAY_S + 1.0)

    assert kept == bound < 8000.0
    assert limits(pdu)[1] == 8000.0
    assert np.isnan(pdu.phases.amps[2])
