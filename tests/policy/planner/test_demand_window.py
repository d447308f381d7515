"""A 15-minute peak is held only where that saves money, and every interval says what it saved and cost."""

from dataclasses import replace

import numpy as np
import pytest

from easyrider.moments import unix_s
from easyrider.tariffs import DemandWindow, Tariff, TariffPeriod
from easyrider.tree import Domain, Node, NodeClass, Rules
from easyrider_policy.core.billing import Billing
from easyrider_policy.core.demand_window import Bill, Load, choose, interval_at
from easyrider_policy.core.fleet import build
from easyrider_policy.core.peak_book import PeakBook
from easyrider_policy.core.tariff import hour_at, month_at, month_left_s

LENGTH_S = 900.0
BOX = NodeClass(overhead_w=0.0, overhead_slope=1.0)
HALL = Load(standing_w=20_000.0, natural_w=100_000.0, least_w=45_000.0, weighted_gpus=120.0)
WINDOW = DemandWindow(
    id="w", domain="site", tariff="t", work_price_per_gpu_h=2.0, month="2026-12", month_peak_w=80_000.0
)
FLAT = Tariff(
    id="t",
    currency="EUR",
    periods=(TariffPeriod(demand_price_per_kw=10.0, energy_price_per_kwh=0.2),),
)
LAST_DAY = unix_s("2026-12-31T23:45:00Z")
"""The last interval of the month: what is saved in it is saved."""


def bill(**other) -> Bill:
    told = {
        "billed_w": 80_000.0, "price_per_kw": 10.0, "work_price_per_gpu_h": 2.0, "past_w": np.zeros(0),
        "intervals_left": 0.0,
    }  # fmt: skip
    return Bill(**{**told, **other})


def test_intervals_follow_the_clock_of_the_meter():
    ahead = replace(WINDOW, clock_ahead_s=40.0)

    assert interval_at(WINDOW, unix_s("2026-12-01T10:29:59Z")).ends_s == unix_s("2026-12-01T10:30:00Z")
    assert interval_at(ahead, unix_s("2026-12-01T10:29:30Z")).begins_s == unix_s("2026-12-01T10:29:20Z")
    assert interval_at(replace(WINDOW, interval_min=30), unix_s("2026-12-01T10:29:59Z")).begins_s == unix_s(
        "2026-12-01T10:00:00Z"
    )


def test_an_interval_that_closes_below_what_is_billed_anyhow_is_let_run():
    assert choose(HALL, bill(billed_w=100_000.0), 0.0, LENGTH_S, LENGTH_S) is None


def test_where_a_peak_costs_more_than_the_work_it_is_held_and_the_account_closes_there():
    aim = choose(HALL, bill(), 0.0, LENGTH_S, LENGTH_S)

    assert aim is not None
    assert aim.aim_w == pytest.approx(80_000.0)
    assert aim.saves == pytest.approx(200.0)
    assert 0 < aim.costs < aim.saves
    assert aim.ceiling_w == pytest.approx(80_000.0, rel=0.01)


def test_work_that_is_worth_more_than_the_peak_is_not_touched():
    assert choose(HALL, bill(work_price_per_gpu_h=200.0), 0.0, LENGTH_S, LENGTH_S) is None


def test_a_free_peak_is_never_held():
    assert choose(HALL, bill(price_per_kw=0.0), 0.0, LENGTH_S, LENGTH_S) is None


def test_a_load_that_would_exceed_in_every_interval_of_the_month_is_not_held_for_the_sake_of_one():
    once, always = bill(), bill(intervals_left=2800.0)

    assert choose(HALL, once, 0.0, LENGTH_S, LENGTH_S) is not None
    assert choose(HALL, always, 0.0, LENGTH_S, LENGTH_S) is None


def test_a_rare_peak_is_held_although_the_month_is_long():
    past_w = np.full(600, 60_000.0)

    aim = choose(HALL, bill(intervals_left=2800.0, past_w=past_w), 0.0, LENGTH_S, LENGTH_S)

    assert aim is not None
    assert aim.aim_w == pytest.approx(80_000.0)


def test_some_aims_between_pay_best():
    dear_below = bill(work_price_per_gpu_h=80.0)

    aim = choose(HALL, dear_below, 0.0, LENGTH_S, LENGTH_S)

    assert aim is not None
    assert 80_000.0 < aim.aim_w < 100_000.0


def test_what_was_drawn_already_leaves_so_much_less_for_the_rest():
    drawn_j = 600.0 * 85_000.0

    aim = choose(HALL, bill(), drawn_j, 300.0, LENGTH_S)

    assert aim is not None
    assert aim.ceiling_w == pytest.approx((aim.aim_w * LENGTH_S - drawn_j) / 300.0, rel=0.01)
    assert aim.ceiling_w < 80_000.0


def test_no_ceiling_goes_below_what_jobs_draw_at_their_minimum():
    drawn_j = 800.0 * 100_000.0

    aim = choose(HALL, bill(), drawn_j, 100.0, LENGTH_S)

    assert aim is None or aim.ceiling_w >= HALL.least_w


DAY = TariffPeriod(
    begins="08:00", ends="20:00", days=("mon", "tue", "wed", "thu", "fri"), demand_price_per_kw=15.0
)
REST = (
    TariffPeriod(begins="00:00", ends="08:00", days=DAY.days),
    TariffPeriod(begins="20:00", ends="24:00", days=DAY.days),
    TariffPeriod(days=("sat", "sun")),
)
BERLIN = Tariff(id="t", currency="EUR", timezone="Europe/Berlin", periods=(DAY, *REST))


@pytest.mark.parametrize(
    ("moment", "price"),
    [
        ("2026-12-01T06:59:59Z", 0.0),
        ("2026-12-01T07:00:00Z", 15.0),  # 08:00 in winter
        ("2026-07-01T06:00:00Z", 15.0),  # 08:00 in summer
        ("2026-12-01T18:59:59Z", 15.0),
        ("2026-12-01T19:00:00Z", 0.0),
        ("2026-12-05T12:00:00Z", 0.0),  # a Saturday
    ],
)
def test_prices_go_by_the_local_clock_summer_and_winter(moment, price):
    hour = hour_at(BERLIN, unix_s(moment))

    assert hour.demand_price_per_kw == price
    if price:
        assert hour.week_share == pytest.approx(60 / 168)


def test_a_billing_month_ends_at_local_midnight():
    assert month_at(BERLIN, unix_s("2026-12-31T22:59:59Z")) == "2026-12"
    assert month_at(BERLIN, unix_s("2026-12-31T23:00:00Z")) == "2027-01"
    assert month_left_s(BERLIN, unix_s("2026-12-31T22:59:00Z")) == pytest.approx(60.0)
    assert month_left_s(BERLIN, unix_s("2026-03-29T00:00:00Z")) == pytest.approx((2 * 24 + 22) * 3600.0)


def test_a_month_nobody_has_told_of_and_nobody_saw_begin_has_no_known_peak():
    book = PeakBook(replace(WINDOW, month="", month_peak_w=None), FLAT, {})
    book.begins("2026-12")
    book.closed("2026-12", 0, 90_000.0)

    assert book.billed_w("2026-12", 0) is None
    book.begins("2027-01")
    assert book.billed_w("2027-01", 0) == 0.0
    book.closed("2027-01", 0, 70_000.0)
    assert book.billed_w("2027-01", 0) == 70_000.0


def test_a_ratchet_bills_a_share_of_the_highest_month_before():
    book = PeakBook(
        WINDOW, replace(FLAT, ratchet_share=0.8), {"2026-06": {0: 120_000.0}, "2024-06": {0: 500_000.0}}
    )

    assert book.billed_w("2026-12", 0) == pytest.approx(96_000.0)
    assert PeakBook(replace(WINDOW, year_peak_w=200_000.0), replace(FLAT, ratchet_share=0.5), {}).billed_w(
        "2026-12", 0
    ) == pytest.approx(100_000.0)


def test_hours_of_another_price_have_a_peak_of_their_own():
    book = PeakBook(replace(WINDOW, month_peak_w=0.0), BERLIN, {})
    book.closed("2026-12", 0, 50_000.0)
    book.closed("2026-12", 1, 90_000.0)

    assert book.billed_w("2026-12", 0) == 50_000.0


def fleet():
    site = Domain(id="site", kind="feed", rating_w=150_000.0)
    node = Node(id="n", domain="site", node_class="b", fallback_w_per_gpu=100.0)
    return build(
        Rules(id="s", version=1, domains=(site,), classes={"b": BOX}, nodes=(node,)),
        [],
    )  # fmt: skip


def run(billing: Billing, begin_s: float, seconds: float, natural_w=100_000.0, load=HALL) -> list[float]:
    """A hall that draws what it may; what it drew each second."""
    drawn = []
    for second in np.arange(0.0, seconds):
        wish_w = natural_w(second) if callable(natural_w) else natural_w
        watts = max(load.least_w, min(wish_w, float(billing.ceiling_w[0])))
        drawn.append(watts)
        now_load = replace(load, natural_w=wish_w)
        billing.pass_to(1000.0 + second, begin_s + second, np.array([watts]), {0: now_load})
    return drawn


def test_an_interval_is_held_to_its_aim_and_tells_what_that_saved_and_cost():
    billing = Billing(fleet(), [FLAT], [WINDOW])

    run(billing, LAST_DAY, 902.0)
    (closed,) = billing.take_closed()

    assert closed.mean_w == pytest.approx(80_000.0, rel=0.01)
    assert closed.would_w == pytest.approx(100_000.0, rel=0.01)
    assert closed.saved == pytest.approx(10.0 * (closed.would_w - closed.mean_w) / 1e3, rel=0.02)
    assert 0 < closed.cost < closed.saved
    assert closed.known_ratio == pytest.approx(1.0, abs=0.01)
    assert closed.energy_cost == pytest.approx(0.2 * 80.0 * 0.25, rel=0.01)
    assert billing.take_closed() == []


def test_an_hour_that_is_late_in_exceeding_is_braked_gently_and_closes_at_the_peak():
    billing = Billing(fleet(), [FLAT], [WINDOW])

    drawn = run(billing, LAST_DAY, 902.0, natural_w=lambda s: 60_000.0 if s < 600 else 110_000.0)
    (closed,) = billing.take_closed()

    assert max(drawn) > 80_000.0
    assert closed.mean_w <= 80_500.0


def test_without_a_known_peak_nothing_is_held_and_it_says_why():
    billing = Billing(fleet(), [FLAT], [replace(WINDOW, month="", month_peak_w=None)])

    run(billing, LAST_DAY, 60.0)

    assert np.isinf(billing.ceiling_w[0])
    assert "the peak of 2026-12 is not known" in billing.every[0].why


def test_an_interval_that_was_seen_in_part_teaches_no_peak():
    billing = Billing(fleet(), [FLAT], [WINDOW])

    run(billing, LAST_DAY + 300.0, 602.0, natural_w=70_000.0)
    (closed,) = billing.take_closed()

    assert closed.known_ratio < 0.7
    assert closed.mean_w == pytest.approx(
        70_000.0, rel=0.01
    )  # what passed unseen is taken to be like the rest
    assert not billing.every[0].past_w


def test_new_rules_keep_peaks_the_running_account_and_the_ceiling():
    billing = Billing(fleet(), [FLAT], [WINDOW])
    run(billing, LAST_DAY, 500.0)

    moved = billing.moved_to(fleet(), [FLAT], [WINDOW])

    assert moved.every[0].energy_j == billing.every[0].energy_j
    assert moved.ceiling_w[0] == billing.ceiling_w[0] < 100_000.0


def test_a_pause_leaves_a_gap_and_no_watts_out_of_nothing():
    billing = Billing(fleet(), [FLAT], [WINDOW])
    run(billing, LAST_DAY, 100.0, natural_w=50_000.0)
    quiet = replace(HALL, natural_w=50_000.0)

    billing.pass_to(1000.0 + 400.0, LAST_DAY + 400.0, np.array([50_000.0]), {0: quiet})

    assert billing.every[0].energy_j == pytest.approx(400.0 * 50_000.0, rel=0.01)
    assert billing.every[0].known_s < 110.0


def test_a_peak_is_held_as_if_the_time_before_anybody_looked_had_been_as_high():
    billing = Billing(fleet(), [FLAT], [WINDOW])

    run(billing, LAST_DAY + 450.0, 1.0, natural_w=HALL.least_w)  # asleep while we look first
    drawn_w = run(billing, LAST_DAY + 451.0, 440.0)

    closes_w = (450.0 * 80_000.0 + sum(drawn_w) + 10 * drawn_w[-1]) / LENGTH_S
    assert closes_w == pytest.approx(80_000.0, rel=0.01)
