"""Battery, heat of breakers and billed peaks, from a meter's reading to the plan that is told."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from wired_box import REGION, at, reading
from wired_site import Wired, rules

from easyrider import subjects
from easyrider.event_kinds import check
from easyrider.moments import unix_s
from easyrider.tariffs import DemandWindow, Tariff, TariffPeriod
from easyrider.tree import Contingency, CurvePoint, Domain, Feeds, TripCurve
from easyrider_policy.adapters.peaks_file import PeaksFile
from easyrider_policy.bills import bill
from easyrider_policy.core.domain_draw import Draws
from easyrider_policy.core.tidings import Tidings
from easyrider_policy.peak_keeping import PeakKeeper
from easyrider_policy.picture import Picture
from easyrider_policy.telling import why
from easyrider_policy.telling_demands import demand_plans

FLAT = Tariff(id="t", currency="EUR", periods=(TariffPeriod(demand_price_per_kw=10.0),))
WINDOW = DemandWindow(
    id="w", domain="pdu", tariff="t", work_price_per_gpu_h=0.01, month="2026-12", month_peak_w=1000.0
)
LAST = unix_s("2026-12-31T23:45:00Z")


def billed(**other) -> Picture:
    window = replace(WINDOW, **other)
    return Picture(replace(rules(), tariffs=(FLAT,), demands=(window,)), REGION, 0.0)


def draws(natural_w: float) -> Draws:
    row = lambda w: np.array([w, w])  # noqa: E731
    return Draws(
        standing_w=row(200.0), natural_w=row(natural_w), least_w=row(600.0), soft_w=row(800.0),
        weighted_gpus=row(4.0), unmanaged_w=row(0.0),
    )  # fmt: skip


def meter(picture: Picture, watts: float, now_s: float) -> None:
    picture.meters.heard(picture.fleet.domain_index["pdu"], watts, 0.0, now_s, 1.0, True)


def test_a_billed_peak_lowers_the_target_of_its_domain_and_the_plan_says_why():
    picture = billed()
    for second in range(5):
        meter(picture, 1500.0, float(second))
        bill(picture, draws(1500.0), float(second), LAST + second)

    (told,) = demand_plans(picture)
    row = picture.fleet.domain_index["pdu"]

    assert picture.target_w[row] == told.ceiling_w == pytest.approx(1000.0, rel=0.02)
    assert picture.own_target_w[row] == pytest.approx(0.95 * 2400.0)
    assert (told.billed_w, told.currency, told.why) == (1000.0, "EUR", "it pays")
    assert told.saved_value > told.cost_value


def test_peaks_outlive_a_restart(tmp_path: Path):
    picture = billed()
    keeper = PeakKeeper(picture, PeaksFile(tmp_path))
    picture.billing.every[0].book.closed("2026-12", 0, 1234.0)
    asyncio.run(keeper.once())

    again = billed(month="", month_peak_w=None)
    PeakKeeper(again, PeaksFile(tmp_path))

    assert again.billing.every[0].book.billed_w("2026-12", 0) == 1234.0


def test_peaks_that_cannot_be_read_are_unknown_and_not_none(tmp_path: Path):
    (tmp_path / "peaks.json").write_bytes(b'{"w": 3}')
    again = billed(month="", month_peak_w=None)
    PeakKeeper(again, PeaksFile(tmp_path))

    assert again.billing.every[0].book.billed_w("2026-12", 0) is None


def test_a_disk_that_takes_no_peaks_is_asked_again(tmp_path: Path):
    picture = billed()
    keeper = PeakKeeper(picture, PeaksFile(tmp_path / "missing"))
    picture.billing.every[0].book.closed("2026-12", 0, 1234.0)
    asyncio.run(keeper.once())
    (tmp_path / "missing").mkdir()
    asyncio.run(keeper.once())

    kept = msgspec.json.decode((tmp_path / "missing" / "peaks.json").read_bytes())
    assert kept == {"w": {"2026-12": {"0": 1234.0}}}


def test_on_battery_the_limits_in_force_are_those_of_the_contingency():
    loss = Contingency(name="battery", when="on_battery", hard_limit_w=1800.0, target_w=1500.0)
    picture = Picture(rules(contingencies=(loss,)), REGION, 0.0)
    row = picture.fleet.domain_index["pdu"]

    assert (picture.hard_w[row], picture.target_w[row]) == (1800.0, 1500.0)
    assert picture.facility.losses.names(row) == ("battery",)


def test_a_breaker_that_is_nearly_spent_is_an_alarm_of_the_coordinator():
    curve = TripCurve(points=(CurvePoint(multiple=1.1, time_s=60.0), CurvePoint(multiple=2.0, time_s=2.0)))
    picture = Picture(rules(curve=curve), REGION, 0.0)
    row = picture.fleet.domain_index["pdu"]
    for second in range(3):
        load_w = np.zeros(2)
        load_w[row] = 3600.0
        picture.heat.pass_to(float(second), load_w, picture.facility.capacity_w)

    assert picture.heat.pressed[row]
    assert picture.heat.told(load_w, picture.target_w)[row].time_to_trip_s is not None


async def test_heat_is_counted_from_when_every_board_was_heard_and_not_from_what_they_could_draw_before():
    curve = TripCurve(points=(CurvePoint(multiple=1.1, time_s=60.0), CurvePoint(multiple=2.0, time_s=2.0)))
    site = Wired(rules(pdu_w=2000.0, curve=curve))  # less than four boards at their maximum
    row = site.picture.fleet.domain_index["pdu"]
    for box in site.boxes.values():
        box.draw_w = [150.0, 150.0]
    while site.picture.safety.lead.phase != "leading":
        await site.look()
        assert not site.picture.heat.pressed.any()
        assert np.isnan(site.picture.heat.multiple[row]), "nothing is known of what warms it"
    await site.seconds(2.0)

    assert 0.0 < site.picture.heat.multiple[row] < 1.0
    assert site.picture.heat.spent[row] < 0.5


def test_what_holds_a_job_goes_by_the_name_of_the_bill():
    picture = billed()
    for second in range(5):
        meter(picture, 1500.0, float(second))
        bill(picture, draws(1500.0), float(second), LAST + second)
    asked = SimpleNamespace(reasons=("target:pdu", "target:ups", "natural"))

    assert [why(picture, asked, job) for job in range(3)] == ["demand:w", "target:ups", "natural"]


def test_when_a_feed_dies_the_other_is_seen_to_carry_all_of_it():
    loss = Contingency(name="without_a", when="feed_lost", feed="feed-a", hard_limit_w=2400.0)
    site = rules(feeds=Feeds(A="feed-a", B="feed-b"), contingencies=(loss,))
    pdu = next(domain for domain in site.domains if domain.id == "pdu")
    feeds = tuple(
        Domain(id=name, kind="feed", rating_w=6000.0, voltage_v=400.0, meters=(f"m-{name}",))
        for name in ("feed-a", "feed-b")
    )
    led = Wired(replace(site, domains=(*feeds, replace(pdu, parent=None))))
    before = led.picture.fleet.weights.normal(np.ones(2))

    led.desk.on_meter(
        reading(0.0, None, domain="feed-a", meter="m-feed-a", voltage_v=0.0),
        at(subjects.meter(REGION, "m-feed-a"), 1.0),
    )
    what = led.picture.follow()

    after, row = led.picture.fleet.weights.normal(np.ones(2)), led.picture.fleet.domain_index
    assert what == "supply"
    assert before[[row["feed-a"], row["feed-b"]]].tolist() == [1.0, 1.0]
    assert after[[row["feed-a"], row["feed-b"]]].tolist() == [0.0, 2.0]
    assert led.picture.follow() is None


def test_a_ups_whose_meter_falls_silent_is_planned_as_on_battery_and_the_journal_says_why():
    loss = Contingency(name="battery", when="on_battery", hard_limit_w=1800.0, target_w=1500.0)
    led = Wired(rules(contingencies=(loss,), meters=("m",)))
    notes: list[dict[str, object]] = []
    led.desk.note = notes.append
    row = led.picture.fleet.domain_index["pdu"]
    mains = reading(0.0, None, domain="pdu", meter="m", on_battery=False)
    led.desk.on_meter(mains, at(subjects.meter(REGION, "m"), 0.0))
    before_w = float(led.picture.hard_w[row])

    led.desk.pass_to(2.9)
    kept_w = float(led.picture.hard_w[row])
    led.desk.pass_to(3.1)

    assert before_w == kept_w > 1800.0
    assert led.picture.hard_w[row] == 1800.0
    assert [(note["what"], note.get("why")) for note in notes[-1:]] == [
        ("limit_moved", "no meter tells of its supply any more")
    ]


def test_an_interval_that_closes_is_an_event_of_what_its_cap_saved_and_cost():
    picture = billed(work_price_per_gpu_h=1.0)
    for second in range(905):
        meter(picture, min(1500.0, float(picture.billing.ceiling_w[1])), float(second))
        bill(picture, draws(1500.0), float(second), LAST + second)

    (tiding,) = Tidings().intervals(picture.billing.take_closed())
    said = check(tiding.kind, tiding.data)

    assert (tiding.kind, said.ends, said.currency) == ("demand_interval", "2027-01-01T00:00:00Z", "EUR")
    assert said.mean_w < 1020.0 < said.would_w
    assert said.saved_value > said.cost_value > 0


def test_where_a_meter_is_silent_the_account_goes_by_the_boards():
    picture = billed(month_peak_w=1e6)
    picture.walls.add(np.full((10, len(picture.fleet.gpus)), 0.0))
    for second in range(3):
        bill(picture, draws(1500.0), float(second), LAST + second)

    most_w = 2 * (100.0 + 2 * 700.0)  # of boards that nobody has reported yet
    assert picture.billing.every[0].energy_j == pytest.approx(2 * most_w)
    assert picture.billing.every[0].known_s == pytest.approx(2.0)
