"""What rules may say of curves, amps, derating and planned losses, and what is refused by field and reason."""

import math
from itertools import pairwise

import pytest

from easyrider.errors import BadTree
from easyrider.tree import CurvePoint, Domain
from easyrider.tree_reader import dump, read
from easyrider.trip_presets import presets

HEAD = """
tree: {id: s, version: 1}
classes: {b: {overhead_w: 10, overhead_slope: 1.1}}
nodes: [{id: n, domain: ups, class: b, fallback_w_per_gpu: 100}]
"""


def rules(ups: str = "", more: str = ""):
    return read(f"{HEAD}domains: [{{id: ups, kind: ups, rating_w: 10000{ups}}}]\n{more}", "rules.yaml")


def refused(ups: str = "", more: str = "") -> str:
    with pytest.raises(BadTree) as caught:
        rules(ups, more)
    return "; ".join(caught.value.faults)


@pytest.mark.parametrize("name", sorted(presets()))
def test_every_shipped_curve_holds_more_for_a_shorter_time_and_is_read_into_the_rules(name):
    known = rules(f", curve: {{preset: {name}}}")
    points = known.domains[0].trip_points

    assert points == presets()[name]
    assert all(b.multiple > a.multiple and b.time_s < a.time_s for a, b in pairwise(points))
    assert known.domains[0].unconfirmed == name


def test_the_rules_carry_the_points_of_a_preset_so_that_a_later_table_changes_nothing():
    known = rules(", curve: {preset: ul489, confirmed_by: H. Weber}")

    again = read(dump(known).decode(), "kept")

    assert again == known
    assert '"multiple": 1.25' in dump(known).decode()
    assert known.domains[0].unconfirmed == ""


def test_points_beside_a_preset_are_the_operators_edit_of_it_and_still_ask_to_be_confirmed():
    edited = rules(", curve: {preset: iec60898-c, points: [{multiple: 1.2, time_s: 900}]}").domains[0]

    assert edited.trip_points == (CurvePoint(multiple=1.2, time_s=900.0),)
    assert edited.unconfirmed == "iec60898-c"


def test_a_plain_list_of_points_is_a_curve_of_ones_own_as_before():
    own = rules(", curve: [{multiple: 1.2, time_s: 900}]").domains[0]

    assert own.unconfirmed == ""
    assert own.trip_points == (CurvePoint(multiple=1.2, time_s=900.0),)


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ("{preset: iec60898-z}", "domains[ups].curve.preset is 'iec60898-z', not one of iec60898-b"),
        ("{confirmed_by: me}", "domains[ups].curve names neither a preset nor points"),
        ("{preset: ul489, cooling_s: 0}", "domains[ups].curve.cooling_s is 0, not above 0"),
        ("{preset: ul489, trips: 3}", "domains[ups].curve.trips is not a key here"),
        ("null", "domains[ups].curve is empty where a list or a map is expected"),
        (
            "{points: [{multiple: 1.2, time_s: 10}, {multiple: 1.5, time_s: 20}]}",
            "domains[ups].curve must hold more for a shorter time: 1.5 x for 20 s follows 1.2 x for 10 s",
        ),
    ],
)
def test_a_curve_that_makes_no_sense_is_refused_with_its_field(curve, said):
    assert said in refused(f", curve: {curve}")


def test_the_smallest_of_rating_amps_and_derating_is_what_a_domain_carries():
    three = Domain(id="a", kind="pdu", rating_w=20_000.0, phases=3, limit_a=32.0, voltage_v=400.0, pf=0.95)
    one = Domain(id="b", kind="pdu", rating_w=20_000.0, limit_a=16.0, voltage_v=230.0)

    assert three.carries_w == pytest.approx(20_000.0)
    assert three.amps_w == pytest.approx(math.sqrt(3) * 400 * 32 * 0.95)
    assert one.carries_w == one.hard_w == pytest.approx(3680.0)
    assert one.aim_w == pytest.approx(0.8 * 3680.0)
    assert rules(", derate: 0.9").domains[0].hard_w == pytest.approx(9000.0)


def test_amps_without_volts_say_nothing_of_watts():
    assert rules(", limit_a: 16").domains[0].hard_w == 10_000.0


@pytest.mark.parametrize(
    ("ups", "said"),
    [
        (", ramp_w_per_s: 0", "domains[ups].ramp_w_per_s"),
        (", derate: 1.2", "domains[ups].derate is 1.2, above 1"),
        (", voltage_v: 0", "domains[ups].voltage_v is 0, not above 0"),
        (
            ", limit_a: 16, voltage_v: 230, hard_limit_w: 5000",
            "domains[ups].hard_limit_w is 5000 W, above the 3680 W that its amps leave of its rating",
        ),
        (
            ", derate: 0.5, target_w: 6000",
            "domains[ups].target_w is 6000 W, above the 5000 W that its derating leave",
        ),
    ],
)
def test_limits_that_contradict_each_other_are_refused_with_both_numbers(ups, said):
    assert said in refused(ups)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("when: on_battery", "when is on_battery, which no meter of this domain can tell"),
        ("when: feed_lost", "feed is missing: `when: feed_lost` hangs on it"),
        ("when: feed_lost, feed: nowhere", "feed names 'nowhere', which is no domain"),
        ("when: cooling_lost", "above_c is missing"),
        ("runtime_s: 600", "runtime_s belongs to `when: on_battery`"),
        ("target_w: 9500", "target_w is 9500 W, above its hard limit of 9000 W"),
        ("when: never", "not one of on_battery, feed_lost, cooling_lost"),
    ],
)
def test_a_planned_loss_that_nothing_could_tell_is_refused(loss, said):
    assert said in refused(f", contingencies: [{{name: loss, hard_limit_w: 9000, {loss}}}]")


def test_keys_that_came_later_are_left_out_while_they_say_nothing_so_that_an_older_program_reads_them():
    kept = dump(rules()).decode()

    assert not {"derate", "ramp_w_per_s", "tariffs", "demands", "strategy"} & set(
        kept.replace('"', " ").split()
    )


TARIFF = """
tariffs:
  - id: utility
    currency: EUR
    timezone: {zone}
    periods: [{periods}]
demands: [{{id: site, domain: ups, tariff: utility, work_price_per_gpu_h: {price}{demand}}}]
"""
DAY = "{begins: '06:00', ends: '22:00', demand_price_per_kw: 12}"
NIGHT = "{begins: '00:00', ends: '06:00'}, {begins: '22:00', ends: '24:00'}"


def tariff(periods=f"{DAY}, {NIGHT}", zone="Europe/Berlin", price="2.5", demand=""):
    return TARIFF.format(zone=zone, periods=periods, price=price, demand=demand)


def test_a_tariff_that_covers_every_minute_once_is_taken():
    known = rules(more=tariff())

    assert known.tariffs[0].periods[0].demand_price_per_kw == 12.0
    assert read(dump(known).decode(), "kept") == known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (tariff(DAY), "tariffs[utility].periods leave a gap from 00:00 to 06:00 on mon of month 1 and 83 more"),
        (tariff(f"{DAY}, {NIGHT}, {DAY}"), "periods overlap from 06:00 to 22:00 on mon of month 1 and 83 more"),
        (tariff("{months: [1, 2]}"), "leave a gap from 00:00 to 24:00 on mon of month 3 and 69 more"),
        (tariff("{begins: '22:00', ends: '06:00'}"), "ends at 06:00, not after 22:00; a night is two periods"),
        (tariff("{begins: '6'}"), "periods[0].begins is '6', no time of day like 06:00"),
        (tariff("{demand_price_per_kw: -1}"), "periods[0].demand_price_per_kw is -1, below 0"),
        (tariff("{demand_price_per_kw: .nan}"), "demand_price_per_kw is nan, not a finite number"),
        (tariff(zone="Mars/Olympus"), "tariffs[utility].timezone is 'Mars/Olympus', no time zone"),
        (tariff(zone="../etc/passwd"), "tariffs[utility].timezone is '../etc/passwd', no time zone"),
        (tariff(price="0"), "demands[site].work_price_per_gpu_h is 0, not above 0"),
        (tariff(demand=", interval_min: 20"), "demands[site].interval_min is 20, not one of 15, 30"),
        (tariff(demand=", month: '2026-13', month_peak_w: 1"), "month is '2026-13', no month like 2026-12"),
        (tariff(demand=", month_peak_w: 1"), "demands[site] says month and month_peak_w together or neither"),
        (tariff(demand=", clock_ahead_s: 900"), "clock_ahead_s is 900, an interval or more"),
        (tariff().replace("domain: ups", "domain: x"), "demands[site].domain names 'x', which is no domain"),
        (tariff().replace("tariff: utility,", "tariff: x,"), "demands[site].tariff names 'x', which is no tariff"),
    ],
)  # fmt: skip
def test_a_tariff_with_a_fault_is_refused_with_its_field(text, said):
    assert said in refused(more=text)


@pytest.mark.parametrize("weight", ["0", ".nan", "-1"])
def test_a_weight_that_is_none_is_refused(weight):
    said = refused(more=f"priorities: {{night: {{weight: {weight}}}}}")

    assert "priorities.night.weight is" in said
