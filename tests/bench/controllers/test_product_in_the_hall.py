"""The product's coordinator leads the hall: it keeps every limit, answers what is in force, and loses little."""

import numpy as np
import pytest
from small_hall import small_site

from easyrider.messages import GpuLimit, SetLimits
from easyrider.moments import unix_s
from easyrider_bench.cases import Key
from easyrider_bench.controllers.contract import Entry
from easyrider_bench.controllers.declared import MONTH_ENDS, clock_s, rules_of
from easyrider_bench.controllers.guardians import Guardians
from easyrider_bench.controllers.product import EasyRider
from easyrider_bench.controllers.static import Static
from easyrider_bench.hall import Hall
from easyrider_bench.scenarios.names import case
from easyrider_bench.score import figures

SHORT = Key(scenario="churn", oversub_pct=30, seed=1, seconds=60.0)


def test_a_minute_of_jobs_that_come_and_go_keeps_target_and_sums_and_loses_less_than_an_equal_cap() -> None:
    churn = case(SHORT)
    [ours] = Hall([churn], Entry(name="easyrider", make=EasyRider, period_s=0.1, woken=True)).run()
    [equal] = Hall([churn], Entry(name="static", make=Static)).run()

    kept, bar = figures(ours), figures(equal)

    assert (kept.trips, kept.sum_rule_s) == (0, 0.0)
    assert kept.over_target_j <= 1e-4 * kept.target_energy_j
    assert kept.work_lost_pct < bar.work_lost_pct


def set_limits(guardians: Guardians, seq: int, watts: float) -> SetLimits:
    limits = tuple(GpuLimit(uuid=uuid, limit_w=watts, fallback_w=200.0) for uuid in guardians.uuids[:2])
    return SetLimits(
        tree="hall", region="local", node="n0", epoch=1, seq=seq, nonce=1, ttl_s=5.0, limits=limits
    )


def test_a_node_answers_a_command_when_its_limits_are_in_force_and_not_before() -> None:
    site = small_site()
    guardians, enforced_w = Guardians(site), site.max_w.copy()
    guardians.take(set_limits(guardians, 1, 400.0), 10.0)

    early = guardians.answers(10.1, enforced_w)
    enforced_w[:2] = 400.0
    there = guardians.answers(10.2, enforced_w)

    assert early == []
    assert [(ack.seq, ack.gpus[0].enforced_w) for ack in there] == [(1, 400.0)]


def test_an_answer_waits_for_an_older_command_that_may_still_land() -> None:
    site = small_site()
    guardians, enforced_w = Guardians(site), site.max_w.copy()
    guardians.take(set_limits(guardians, 1, 400.0), 10.0)
    guardians.take(set_limits(guardians, 2, 700.0), 10.1)

    before = guardians.answers(10.15, enforced_w)
    after = guardians.answers(10.0 + site.command_delay_s[1], enforced_w)

    assert before == []
    assert after[0].seq == pytest.approx(2)
    assert np.array_equal(guardians.asked_w()[:2], [700.0, 700.0])


def test_a_demand_charge_is_declared_and_its_intervals_are_those_that_the_run_bills() -> None:
    site = case(Key(scenario="demand", oversub_pct=10, seed=1, seconds=60.0)).site
    assert site.demand is not None

    [window] = rules_of(site).demands
    begins_s = clock_s(site) + site.demand.first_begin_s

    assert (window.domain, window.month_peak_w) == ("rack", site.demand.month_peak_w)
    assert begins_s % site.demand.interval_s == 0
    assert 0 < unix_s(MONTH_ENDS) - begins_s <= 3 * site.demand.interval_s


def test_a_site_without_a_demand_charge_declares_none() -> None:
    assert rules_of(case(SHORT).site).demands == ()
