"""UPS on battery, a dead feed, failing cooling: smaller budgets at once, whole ones when they are proved again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from supplied import BATTERY, BOX, HOT, METERS, NO_A, facility, limits, told

from easyrider.tree import Contingency, Domain, Node, Rules
from easyrider_policy.core.battery import Battery
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import build


def test_a_ups_that_has_told_nothing_yet_counts_as_on_battery():
    assert limits(facility(BATTERY)) == (8000.0, 5000.0)


def test_on_battery_the_limits_are_those_of_its_contingency_and_the_move_is_told():
    ups = facility(BATTERY)
    ups.heard(told(on_battery=False))
    assert limits(ups) == (10_000.0, 8000.0)

    (move,) = ups.heard(told(on_battery=True))

    assert (move.before, move.after) == (1.0, 0.8)
    assert limits(ups) == (8000.0, 5000.0)
    assert ups.losses.names(2) == ("battery",)
    assert ups.capacity_w[2] == 8000.0


@pytest.mark.parametrize("doubt", [{"quality": "suspect"}, {"gated": False}])
def test_mains_are_believed_only_of_a_good_reading_of_a_gated_meter_and_battery_of_any(doubt):
    ups = facility(BATTERY)

    assert ups.heard(told(on_battery=False, **doubt)) == ()
    ups.heard(told(on_battery=False))
    assert ups.heard(told(on_battery=True, **doubt)) != ()


def test_a_ups_that_says_no_more_keeps_its_last_state():
    ups = facility(BATTERY)
    ups.heard(told(on_battery=False))
    ups.heard(told(on_battery=True))

    assert ups.heard(told()) == ()
    assert limits(ups.carried(ups.fleet)) == (8000.0, 5000.0)


def test_a_target_that_is_not_said_is_the_domains_own_share_of_the_smaller_limit():
    assert limits(facility(HOT)) == (9000.0, pytest.approx(7200.0))


def test_heat_takes_effect_at_its_threshold_and_goes_two_degrees_below_it():
    room = facility(HOT)
    room.heard(told(temperature_c=24.0))
    assert limits(room)[0] == 10_000.0

    hot = [bool(room.heard(told(temperature_c=c))) for c in (31.9, 32.0, 31.0, 30.1, 29.9)]

    assert hot == [False, True, False, False, True]


def test_a_feed_without_voltage_is_a_loss_of_what_it_feeds():
    fed = facility(NO_A)
    fed.heard(told("feed-a", voltage_v=401.0))
    assert limits(fed)[0] == 10_000.0

    (move,) = fed.heard(told("feed-a", voltage_v=12.0))

    assert fed.fleet.domains[move.domain] == "pdu"
    assert limits(fed)[0] == 7000.0
    assert fed.heard(told("feed-a", power_w=0.0)) == ()  # no watts are no proof of no mains, nor of mains


def test_of_several_losses_the_smallest_limit_of_each_kind_holds():
    both = facility(BATTERY, HOT)

    assert limits(both) == (8000.0, 5000.0)
    both.heard(told(on_battery=False))
    assert limits(both) == (9000.0, pytest.approx(7200.0))


def test_a_loss_that_no_meter_could_tell_of_is_planned_for_and_never_in_force():
    unmetered = Contingency(name="x", when="feed_lost", feed="feed-b", hard_limit_w=7000.0)

    assert limits(facility(unmetered))[0] == 10_000.0
    assert facility(unmetered).fleet.smallest_hard_w[2] == 7000.0


def test_a_battery_that_empties_faster_than_planned_is_drawn_from_less():
    ups = facility(BATTERY)
    ups.heard(told(on_battery=True, battery_pct=100.0), now_s=0.0)
    ups.heard(told(on_battery=True, battery_pct=60.0), now_s=120.0)

    assert ups.losses.battery_left_s(2) == pytest.approx(360.0)
    assert limits(ups) == (8000.0, pytest.approx(0.75 * 5000.0))


def test_a_battery_that_keeps_to_its_plan_changes_nothing_and_mains_end_it():
    battery = Battery(600.0)
    battery.heard(True, 100.0, 0.0)
    battery.heard(True, 81.0, 120.0)
    assert battery.share == 1.0

    battery.heard(True, 20.0, 240.0)
    assert battery.share < 0.5
    battery.heard(True, 59.0, 250.0)  # a charge that leaps up while it empties is not believed
    assert battery.share < 0.5
    assert battery.heard(False, None, 260.0)
    assert battery.share == 1.0


def test_the_fullest_phase_bounds_the_target_where_amps_are_told():
    pdu = facility()
    assert limits(pdu) == (10_000.0, 8000.0)

    pdu.heard(told(power_w=6000.0, phases_a=(14.0, 8.0, 6.0)))

    assert pdu.phases.amps[2] == 14.0
    assert limits(pdu) == (10_000.0, pytest.approx(0.8 * 16.0 * 6000.0 / 14.0, rel=0.02))


def test_a_light_load_teaches_nothing_of_phases_and_a_doubtful_meter_frees_nothing():
    pdu = facility()
    pdu.heard(told(power_w=300.0, current_a=2.0))
    assert np.isinf(pdu.phases.ceiling_w[2])

    pdu.heard(told(power_w=6000.0, current_a=14.0))
    bound = limits(pdu)[1]
    for _ in range(40):
        pdu.heard(told(power_w=7000.0, current_a=10.0, gated=False))
    assert limits(pdu)[1] == bound
    for _ in range(40):
        pdu.heard(told(power_w=7000.0, current_a=10.0))
    assert limits(pdu)[1] == 8000.0


def test_no_module_left_is_no_watt_left_although_amps_are_not_known():
    ups = Domain(id="ups", kind="ups", rating_w=1000.0, supply_modules=5, meters=("m",))
    node = Node(id="n", domain="ups", node_class="b", fallback_w_per_gpu=100.0)
    dark = Facility(build(Rules(id="s", version=1, domains=(ups,), classes={"b": BOX}, nodes=(node,)), []))

    dark.heard(told("ups", modules_ok=0, modules_total=5))

    assert limits(dark, "ups") == (0.0, 0.0)


def test_a_feed_that_is_told_dead_is_dark_and_one_that_nobody_has_told_of_is_not():
    fed = facility(NO_A)
    assert fed.losses.dark == frozenset()

    fed.heard(told("feed-a", voltage_v=3.0))
    assert fed.losses.dark == {"feed-a"}
    assert fed.carried(fed.fleet).losses.dark == {"feed-a"}
    fed.heard(told("feed-a", voltage_v=400.0))
    assert fed.losses.dark == frozenset()


@st.composite
def readings(draw):
    """What the meters of the PDU and of its feed may say, trusted or not."""
    domain = draw(st.sampled_from(("pdu", "feed-a")))
    said = {
        "on_battery": draw(st.sampled_from((None, False, True))),
        "temperature_c": draw(st.sampled_from((None, 20.0, 31.0, 33.0))),
        "voltage_v": draw(st.sampled_from((None, 0.0, 400.0))),
        "battery_pct": draw(st.sampled_from((None, 10.0, 90.0))),
    }
    return told(
        domain, meter=draw(st.sampled_from(METERS[domain])), gated=draw(st.booleans()),
        quality=draw(st.sampled_from(("good", "suspect", "bad"))), **said,
    )  # fmt: skip


@given(said=st.lists(readings(), max_size=12))
def test_no_reading_but_a_good_one_of_a_gated_meter_ever_gives_a_watt_back(said):
    supply = facility(BATTERY, HOT, NO_A)
    for second, one in enumerate(said):
        hard_w, target_w = supply.hard_w, supply.target_w

        supply.heard(one, float(second))

        if one.quality != "good" or not one.gated:
            assert (supply.hard_w <= hard_w).all()
            assert (supply.target_w <= target_w).all()
        assert (supply.target_w <= supply.hard_w).all()
