"""What a poll's words mean, and what of it may be believed."""

import pytest
from meter_process import floats

from easyrider_infra_bridge.core.meter_desk import FROZEN_NS, MeterDesk, Place
from easyrider_infra_bridge.core.meter_spec import MeterSpec, Register, faults_of
from easyrider_infra_bridge.core.registers import Block, blocks_of, value_of

S = 1_000_000_000


def register(quantity, address, form="float32", **other):
    return Register(quantity=quantity, address=address, type=form, **other)


POWER_METER = (
    register("power_w", 0),
    register("voltage_v", 2),
    register("current_a", 4),
    register("frequency_hz", 6),
)
UPS = (
    register("power_w", 0),
    register("modules_total", 2, "uint16"),
    register("modules_ok", 3, "uint16"),
    register("on_battery", 4, "uint16"),
    register("battery_pct", 5, "uint16"),
)


def desk(registers=POWER_METER, kind="power_meter", gate_polls=3, **other):
    spec = MeterSpec(id="m", domain="rack", kind=kind, host="h", port=502, registers=registers, **other)
    return MeterDesk(spec, Place(region="local", boot_id="boot"), gate_polls)


def words(power_w=20000.0, volts=400.0, amperes=29.5, hertz=50.0):
    flat = [word for value in (power_w, volts, amperes, hertz) for word in floats(value)]
    return dict(enumerate(flat))


def ups_words(power_w=20000.0, total=5, working=5, battery=0, charge=100):
    return dict(enumerate([*floats(power_w), total, working, battery, charge]))


def test_neighbouring_registers_are_one_request_and_gaps_are_not_read():
    map_ = [register("power_w", 10), register("voltage_v", 12), register("load_pct", 20, "uint16")]

    assert blocks_of(map_) == [Block(10, 4), Block(20, 1)]


def test_word_order_is_a_registers_own():
    both = {0: 0x449A, 1: 0x5000, 2: 0x5000, 3: 0x449A}

    assert value_of(register("power_w", 0), both) == 1234.5
    assert value_of(register("power_w", 2, word_order="little"), both) == 1234.5


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("float32", [0x7FC0, 0]),
        ("float32", [0x7F80, 0]),
        ("uint16", [0xFFFF]),
        ("int16", [0x8000]),
        ("uint32", [0xFFFF, 0xFFFF]),
    ],
)
def test_not_implemented_is_unknown_and_never_a_number(kind, raw):
    assert value_of(register("power_w", 0, kind), dict(enumerate(raw))) is None


def test_a_signed_register_and_its_scale_give_degrees():
    assert value_of(register("temperature_c", 0, "int16", scale=0.1), {0: 0x10000 - 55}) == pytest.approx(
        -5.5
    )


def test_a_good_poll_gives_every_quantity():
    reading = desk().poll(words(), 1, 2).reading

    assert (reading.power_w, reading.voltage_v, reading.frequency_hz) == (20000.0, 400.0, 50.0)
    assert (reading.quality, reading.suspect, reading.modules_ok) == ("good", "", None)


def test_the_wrong_word_order_is_refused_with_the_right_one_named():
    map_ = (register("power_w", 0),)

    swapped = desk(map_)
    outcome = swapped.poll({0: 0x5000, 1: 0x449A}, 1, 2)  # 1234.5 with its halves swapped reads 8.6e9

    assert outcome.reading is None
    assert "plausible with word order little" in swapped.doubts[0]


def test_a_map_off_by_one_is_told_so():
    off = desk((register("power_w", 0),))

    off.poll({0: 0xC3C8, 1: 0xFFC8}, 1, 2)

    assert "try offset +1" in off.doubts[0]


def test_watts_ten_times_volts_times_amperes_are_refused_as_a_scale_fault_and_shut_the_gate():
    meter = desk()
    for k in range(3):
        meter.poll(words(power_w=20000.0 + k), 1, k * S)
    assert meter.gated

    reading = meter.poll(words(power_w=200000.0), 1, 3 * S).reading

    assert (reading.power_w, reading.quality) == (None, "bad")
    assert "a scale is wrong" in reading.suspect
    assert not meter.gated


@pytest.mark.parametrize("phases_factor", [0.6, 0.95, 1.0, 3**0.5 * 0.98, 3 * 0.9])
def test_one_and_three_phases_with_usual_power_factors_pass(phases_factor):
    reading = desk().poll(words(power_w=400.0 * 30 * phases_factor, amperes=30.0), 1, 2).reading

    assert reading.quality == "good"


def test_a_dark_feed_is_zero_volts_and_no_fault():
    reading = desk().poll(words(0.0, 0.0, 0.0, 0.0), 1, 2).reading

    assert (reading.power_w, reading.quality) == (0.0, "good")


@pytest.mark.parametrize(
    ("rating", "power_w"),
    [({"rating_w": 10000.0}, 20001.0), ({}, -5.0), ({}, 2e8)],
    ids=["rating", "negative", "huge"],
)
def test_power_outside_what_the_device_can_carry_is_left_out(rating, power_w):
    reading = desk((*POWER_METER[:1], *POWER_METER[3:]), **rating).poll(words(power_w), 1, 2).reading

    assert reading.power_w is None
    assert reading.quality == "suspect"


def test_amperes_without_their_scale_are_refused_as_above_the_rating():
    meter = desk((register("current_a", 0, "uint16"),), rating_a=16.0)

    assert meter.poll({0: 84}, 1, 2).reading is None
    assert desk((register("current_a", 0, "uint16", scale=0.1),), rating_a=16.0).poll(
        {0: 84}, 1, 2
    ).reading.current_a == pytest.approx(8.4)


def test_the_gate_opens_after_so_many_plausible_polls_in_a_row():
    meter = desk(gate_polls=3)

    polls = [words(20000), words(20001), words(-1.0), words(20002), words(20003), words(20004)]
    gates = [meter.poll(poll, 1, k * S).reading.gated for k, poll in enumerate(polls)]

    assert gates == [False, False, False, False, False, True]


def test_the_same_bits_for_five_minutes_are_frozen():
    meter = desk()

    qualities = [meter.poll(words(), 1, k * S).reading.quality for k in range(0, FROZEN_NS // S + 2)]

    assert qualities[FROZEN_NS // S - 1] == "good"
    assert qualities[-1] == "suspect"
    assert meter.poll(words(20001.0), 1, 400 * S).reading.quality == "good"


def test_a_lost_supply_module_is_an_event_with_the_numbers():
    ups = desk(UPS, "ups")
    ups.poll(ups_words(), 1, 1)

    outcome = ups.poll(ups_words(working=4), 1, 2)

    assert outcome.reading.modules_ok == 4
    (event,) = outcome.events
    assert event.what == "module_lost"
    assert event.data == {
        "what": "module_lost", "meter": "m", "domain": "rack", "modules_ok": 4, "modules_total": 5, "modules_before": 5,
    }  # fmt: skip
    assert [e.what for e in ups.poll(ups_words(), 1, 3).events] == ["module_back"]


def test_a_ups_found_on_battery_with_a_module_missing_says_both_at_the_first_poll():
    events = desk(UPS, "ups").poll(ups_words(working=3, battery=1, charge=80), 1, 1).events

    assert [event.what for event in events] == ["module_lost", "on_battery"]
    assert events[1].data["battery_pct"] == 80


def test_a_state_that_is_unknown_changes_nothing():
    ups = desk(UPS, "ups")
    ups.poll(ups_words(battery=1), 1, 1)

    outcome = ups.poll(ups_words(working=0xFFFF, battery=0xFFFF), 1, 2)

    assert outcome.events == []
    assert (outcome.reading.modules_ok, outcome.reading.on_battery) == (None, None)
    assert ups.poll(ups_words(battery=1), 1, 3).events == []


def test_more_modules_working_than_there_are_is_refused():
    reading = desk(UPS, "ups").poll(ups_words(working=9), 1, 1).reading

    assert reading.modules_ok is None
    assert "modules_ok 9 of 5" in reading.suspect


def test_every_fault_of_a_register_map_is_named():
    wrong = MeterSpec(
        id="m", domain="d", kind="ups", host="h", port=0, device_id=300, period_s=0.0,
        registers=(register("power_w", 65535), register("power_w", 0, scale=0.0)),
    )  # fmt: skip

    faults = faults_of((wrong, wrong))

    for word in ("port", "device_id", "period_s", "twice", "address 65535", "scale 0", "m stands twice"):
        assert any(word in fault for fault in faults), word


def test_amps_of_phases_are_told_apart_and_not_at_all_where_one_is_not_to_be_believed():
    phases = tuple(register(f"phase_{k}_a", k, "uint16", scale=0.1) for k in (1, 2, 3))
    meter = desk(phases, rating_a=32.0)

    whole = meter.poll({1: 140, 2: 80, 3: 60}, 0, 0).reading
    torn = meter.poll({1: 60000, 2: 80, 3: 60}, 0, S).reading

    assert whole.phases_a == pytest.approx((14.0, 8.0, 6.0))
    assert torn.phases_a == ()
    assert "phase_1_a 6000 is outside" in torn.suspect
