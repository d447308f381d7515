"""Parents and children as one program, three levels deep: the sums of all of them, failover, a drop, a cut."""

from dataclasses import replace

import numpy as np
import pytest
from scoped_site import FEED_W, GUARANTEED_W, LEASE_S, Scope, ScopedSite
from wired_box import at

from easyrider import subjects
from easyrider.testing import FakeStore
from easyrider.tree import HoldRule
from easyrider_policy.core.crossing import key_of
from easyrider_policy.telling_regions import region_plans

WAIT_S = 10.0 + 5.0 + 2.0
"""Dead-man, ttl, two control periods."""
QUIET_S = 3.0


def lends(site: ScopedSite, name: str) -> dict[str, float]:
    lending = site.scopes[name].picture.regions.lending
    return lending.counted_w(site.clock.at_s)


def others_w(site: ScopedSite) -> float:
    """What all but the aisle could draw."""
    return site.could_w("feed") - site.could_w("row-b")


async def test_watts_reach_every_level_and_all_sums_hold(site: ScopedSite) -> None:
    assert site.could_w("feed") > 0.9 * FEED_W
    assert site.highest_w <= FEED_W
    assert site.could_w("row-a") <= site.granted_w("hall")
    assert site.could_w("rack-a") <= site.granted_w("rack")
    assert site.could_w("row-b") <= site.granted_w("aisle")


async def test_watts_of_a_region_without_work_go_to_the_others_and_come_back(site: ScopedSite) -> None:
    before_w, aisle = site.could_w("row-a"), site.scopes["aisle"]
    site.working["aisle"] = False
    aisle.picture.jobs.forget_unsaid({"o": site.clock.at_s + 100}, site.clock.at_s + 100)
    aisle.picture.jobs_moved = True
    aisle.box.draw_w = [80.0, 80.0]

    await site.until(lambda: site.could_w("row-a") > before_w + 100, 20)

    site.working["aisle"], aisle.box.draw_w = True, [600.0, 600.0]
    await site.until(lambda: (site.granted_w("aisle") or 0) > GUARANTEED_W["aisle"] + 100, 30)
    assert site.highest_w <= FEED_W


async def test_a_parent_out_of_sight_leaves_a_region_its_lease_and_then_its_guaranteed_share(
    site: ScopedSite,
) -> None:
    had_w = site.granted_w("aisle")
    site.cut.add("aisle")

    kept_s = await site.until(lambda: site.granted_w("aisle") is None, LEASE_S)
    left_s = site.scopes["aisle"].picture.envelope.left_s
    await site.until(lambda: site.could_w("row-b") <= GUARANTEED_W["aisle"], left_s)

    assert kept_s > LEASE_S - 4.0
    assert lends(site, "site")["aisle"] == pytest.approx(had_w, abs=1.0)


async def test_its_watts_are_lent_on_after_the_full_wait_and_not_before(site: ScopedSite) -> None:
    site.cut.add("aisle")
    cut_s, before_w = site.clock.at_s, others_w(site)

    await site.until(lambda: others_w(site) > before_w + 100, LEASE_S + WAIT_S + 4.0)

    assert site.clock.at_s - cut_s >= LEASE_S + WAIT_S - 1.1
    assert site.highest_w <= FEED_W


async def test_after_a_limit_drop_above_a_region_out_of_reach_the_others_are_lowered_for_it(
    site: ScopedSite,
) -> None:
    had_w = site.could_w("row-b")
    site.cut.add("aisle")

    site.supply(3)
    await site.until(lambda: site.could_w("feed") <= 0.75 * FEED_W, QUIET_S + 2.0)

    assert site.could_w("row-b") == pytest.approx(had_w, abs=1.0)
    assert lends(site, "site")["aisle"] >= had_w


async def test_a_drop_that_reaches_everybody_is_met_at_every_level_within_seconds(site: ScopedSite) -> None:
    site.supply(3)

    await site.until(lambda: site.could_w("feed") <= 0.75 * FEED_W, 4.0)

    await site.seconds(20)
    assert site.could_w("feed") <= 0.75 * FEED_W
    assert all(site.granted_w(name) is not None for name in GUARANTEED_W)


def replaced(site: ScopedSite, name: str, host: str) -> Scope:
    site.scopes[name].dead = True
    heir = site.scopes[name] = site.scope(name, host)
    return heir


async def test_a_region_led_from_another_host_begins_at_its_guaranteed_share(site: ScopedSite) -> None:
    heir = replaced(site, "aisle", "second")

    await site.look()
    assert heir.picture.envelope.granted_w is None
    assert heir.picture.hard_w[0] == GUARANTEED_W["aisle"]

    await site.until(lambda: (site.granted_w("aisle") or 0) > GUARANTEED_W["aisle"] + 50, 30)
    assert site.highest_w <= FEED_W


async def test_a_region_that_starts_again_on_its_host_moves_no_limit(site: ScopedSite) -> None:
    before_w = list(site.boxes["aisle"].limit_w)
    heir = replaced(site, "aisle", "first")

    await site.look()
    assert heir.picture.envelope.granted_w is not None
    for _ in range(120):
        await site.look()
        assert min(site.boxes["aisle"].limit_w) >= min(before_w) - 25

    assert heir.picture.safety.lead.epoch == 2


async def test_a_region_on_a_host_that_booted_again_has_no_lease(site: ScopedSite) -> None:
    site.scopes["aisle"].dead = True
    heir = site.scopes["aisle"] = site.scope("aisle", "first", boot_id="another")

    await site.look()

    assert heir.picture.envelope.granted_w is None
    assert heir.child.lease.fence[0] == 1


async def test_a_new_parent_raises_nobody_and_lowers_nobody(site: ScopedSite) -> None:
    before = {name: site.granted_w(name) for name in GUARANTEED_W}
    replaced(site, "site", "second")

    for _ in range(100):
        await site.look()
        assert all(
            site.granted_w(name) == pytest.approx(watts, abs=0.02 * FEED_W) for name, watts in before.items()
        )

    assert site.scopes["aisle"].child.lease.fence[0] == 2
    assert site.highest_w <= FEED_W


async def test_a_deposed_parent_has_no_effect(site: ScopedSite) -> None:
    old = site.scopes["site"]
    replaced(site, "site", "second")
    await site.until(lambda: site.scopes["aisle"].child.lease.fence[0] == 2, 20)
    said = list(old.picture.regions.lending.accounts["aisle"].grants)
    before = site.scopes["aisle"].child.lease.tenure

    budget = old.parent._budget(said[-1])
    await site.scopes["aisle"].child.on_budget(budget, at(subjects.budget("aisle"), site.clock.at_s))

    assert site.scopes["aisle"].child.lease.tenure == before


async def test_a_middle_scope_that_loses_its_parent_takes_its_own_regions_down_with_it(
    site: ScopedSite,
) -> None:
    site.cut.add("hall")

    await site.until(lambda: site.granted_w("hall") is None, LEASE_S)
    left_s = site.scopes["hall"].picture.envelope.left_s
    await site.until(lambda: site.could_w("row-a") <= GUARANTEED_W["hall"], left_s)

    assert site.could_w("rack-a") >= GUARANTEED_W["rack"] - 60
    assert site.scopes["site"].picture.regions.lending.wait_s(
        site.scopes["site"].picture.regions.borrowers[0]
    ) == pytest.approx(WAIT_S + LEASE_S)


async def test_a_meter_teaches_an_offset_where_no_region_hangs_below_and_there_alone(
    site: ScopedSite,
) -> None:
    top, aisle = site.scopes["site"], site.scopes["aisle"]
    for _ in range(20):
        top.coordinator.meter_seen("feed", 3500.0)
        aisle.coordinator.meter_seen("row-b", 1500.0)
        await site.seconds(1)

    assert np.isnan(top.picture.walls.offset_w[0])
    assert np.isfinite(aisle.picture.walls.offset_w[0])


async def test_a_hold_above_a_region_stops_its_raises_and_its_plan_says_so(site: ScopedSite) -> None:
    top, before_w = site.scopes["site"], site.granted_w("hall")
    site.working["aisle"] = False
    held = replace(top.picture.rules, version=2, holds=(HoldRule(id="work", domains=("row-a",)),))
    top.picture.accept(held)
    site.cut.add("aisle")

    await site.seconds(LEASE_S + WAIT_S + 4.0)

    (told,) = [region for region in region_plans(top.picture, site.clock.at_s) if region.region == "hall"]
    assert site.granted_w("hall") <= before_w + 1.0
    assert told.waits_for == "hold"
    assert told.granted_w == pytest.approx(site.granted_w("hall"))


async def test_a_budget_is_on_the_disk_before_it_leaves_and_without_a_journal_none_rises(
    site: ScopedSite,
) -> None:
    top = site.scopes["site"]
    top.journal.broken = "the disk is full"
    before_w = site.granted_w("hall")
    site.cut.add("aisle")

    await site.seconds(LEASE_S + WAIT_S + 4.0)
    assert site.granted_w("hall") <= before_w + 1.0

    top.journal.broken = ""
    await site.until(lambda: site.granted_w("hall") > before_w + 50, 10)


async def test_a_parent_cut_off_from_the_store_steps_down_for_another_and_neither_pushes_the_epoch_up(
    site: ScopedSite,
) -> None:
    first, elsewhere = site.scopes["site"], FakeStore(now_s=site.clock.now_s)
    elsewhere.silent = "no route"
    first.leadership._store = elsewhere
    second = site.scope("site", "second")
    site.rivals.append(second)

    await site.until(lambda: second.picture.safety.lead.phase == "leading", 20)
    for _ in range(100):
        await site.look()
        assert all(site.granted_w(name) is not None for name in GUARANTEED_W)

    assert first.picture.safety.lead.phase == "contending"
    assert (first.picture.safety.lead.epoch, second.picture.safety.lead.epoch) == (1, 2)
    assert {site.scopes[name].child.lease.fence[0] for name in ("hall", "aisle")} == {2}
    assert site.highest_w <= FEED_W


async def test_a_parent_that_its_store_does_not_answer_goes_on_but_renews_no_lease(site: ScopedSite) -> None:
    top, elsewhere = site.scopes["site"], FakeStore(now_s=site.clock.now_s)
    elsewhere.silent = "no route"
    top.leadership._store = elsewhere

    await site.seconds(site.rules.leases.leader_lease_s - 1.0)
    assert all(site.granted_w(name) is not None for name in GUARANTEED_W)
    await site.seconds(LEASE_S + 1.0)

    assert top.picture.safety.lead.phase == "leading"
    assert all((site.granted_w(name) or 0.0) <= GUARANTEED_W[name] for name in ("hall", "aisle"))
    assert site.could_w("row-b") <= GUARANTEED_W["aisle"]

    top.leadership._store = site.store
    await site.until(lambda: (site.granted_w("aisle") or 0.0) > GUARANTEED_W["aisle"] + 100, 20)
    assert site.highest_w <= FEED_W


async def test_a_job_that_crosses_regions_is_held_in_both_to_the_smaller_share(site: ScopedSite) -> None:
    site.job_of |= {"hall": "wide", "aisle": "wide"}
    hall, aisle = site.scopes["hall"], site.scopes["aisle"]
    key = key_of("wide")

    await site.until(lambda: key in hall.picture.echoed and key in aisle.picture.echoed, 12)
    await site.seconds(2)

    share = hall.picture.echoed[key]
    assert aisle.picture.echoed[key] == share < 1.0
    for scope in (hall, aisle):
        solution = scope.coordinator.decision.memory.solution
        row = [each.id for each in solution.problem.layout.jobs].index("wide")
        planned = solution.allocation.watts[row] / solution.problem.peak_w[row]
        assert planned <= scope.coordinator.situation.echo[row] + 1e-6
    site.cut.add("aisle")
    await site.until(lambda: site.granted_w("aisle") is None, LEASE_S)
    assert aisle.picture.echoed == {}


async def test_two_instances_of_a_region_say_one_demand_a_second(site: ScopedSite) -> None:
    site.rivals.append(site.scope("aisle", "second"))
    before = len(site.bus.exchange.said)

    await site.seconds(10)

    said = [
        where for where, _ in site.bus.exchange.said[before:] if where == subjects.demand("site", "aisle")
    ]
    assert 10 <= len(said) <= 14
    assert site.rivals[0].picture.safety.lead.phase == "contending"
