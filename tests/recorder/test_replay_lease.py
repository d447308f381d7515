"""A region that was recorded under its parent's leases is replayed with the budgets it had, as long as it had them."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from made_site import UNIX_NS, Recorded
from wired_site import REGION

from easyrider import subjects, wire
from easyrider.messages import Budget, Demand
from easyrider.tree import Region, Rules
from easyrider_cli.replay_engine import Told, run
from easyrider_cli.replay_lease import ReplayedLease
from easyrider_policy.core.crossing import key_of, packed
from easyrider_policy.picture import Picture
from easyrider_recorder.core.framing import Record

SHARE_W, GRANT_W = 1300.0, 1900.0
BOOT_S = 77_000.0
"""Boot clock of the recorded host at the recorder's moment 0."""


def under_a_parent(rules: Rules) -> Rules:
    """The same site as a region of another."""
    top = replace(rules.domains[0], id="grid", hard_limit_w=None, target_w=None, meters=(), rating_w=9000.0)
    domains = (replace(top, supply_modules=None, contingencies=()), *rules.domains)
    domains = tuple(replace(d, parent="grid") if d.id == "ups" else d for d in domains)
    return replace(
        rules,
        domains=domains,
        regions=(Region(id="top"), Region(id=REGION, parent="top", domain="ups", guaranteed_w=SHARE_W)),
    )


def nonce(at_s: float) -> int:
    return round((BOOT_S + at_s) * 1e9)


def demand(at_s: float, **other: Any) -> Demand:
    told: dict[str, Any] = {
        "parent": "top", "region": REGION, "boot_id": "boot", "nonce": nonce(at_s), "observed_w": None,
        "floor_w": 1000.0, "want_w": 2400.0, "curve_w": (), "curve_value": (), "t_ns": 0, "mono_ns": 0, "tree": "site",
        "epoch": 1, "seq": round(at_s * 10),
    }  # fmt: skip
    return Demand(**{**told, **other})


def budget(at_s: float, seq: int, granted_w: float = GRANT_W, **other: Any) -> Budget:
    told: dict[str, Any] = {
        "parent": "top", "region": REGION, "epoch": 1, "seq": seq, "nonce": nonce(at_s), "lease_s": 10.0,
        "granted_w": granted_w, "guaranteed_w": SHARE_W, "t_ns": 0, "tree": "site",
    }  # fmt: skip
    return Budget(**{**told, **other})


class Bench:
    """A picture of the region, and its replayed lease."""

    def __init__(self, rules: Rules) -> None:
        self.picture = Picture(rules, REGION, 0.0)
        self.lease = ReplayedLease(self.picture)

    def hears(self, message: Demand | Budget, at_s: float) -> None:
        self.lease.heard(message, round(at_s * 1e9))

    def hard_w(self, at_s: float) -> float:
        self.lease.look(round(at_s * 1e9))
        assert self.picture.envelope is not None
        return self.picture.envelope.hard_w


@pytest.fixture(scope="module")
def site() -> Recorded:
    found = Recorded()
    asyncio.run(found.seconds(3))
    for name in "ab":
        found.starts(f"job-{name}", name)
    asyncio.run(found.seconds(24))
    return found


@pytest.fixture
def bench(site: Recorded) -> Bench:
    return Bench(under_a_parent(site.picture.rules))


def test_before_anything_was_heard_the_guaranteed_share_holds(bench: Bench) -> None:
    assert bench.hard_w(5.0) == SHARE_W


def test_a_stretch_begins_with_what_the_first_demand_says_is_obeyed(bench: Bench) -> None:
    bench.hears(demand(5.0, granted_w=1700.0, highest_epoch=3, highest_seq=9), 5.0)

    assert bench.hard_w(5.1) == 1700.0
    bench.hears(budget(5.0, 9, epoch=3), 5.2)  # the one that it named: nothing new
    assert bench.hard_w(5.3) == 1700.0
    bench.hears(budget(5.0, 10, epoch=3), 5.4)
    assert bench.hard_w(5.5) == GRANT_W


def test_a_budget_holds_until_the_reaction_time_before_the_lease_of_its_demand_ends(bench: Bench) -> None:
    bench.hears(demand(5.0, granted_w=1700.0, highest_epoch=1, highest_seq=1), 5.0)
    bench.hears(budget(5.0, 2), 5.9)

    assert bench.hard_w(5.0 + 10.0 - 2.4) == GRANT_W
    assert bench.hard_w(5.0 + 10.0 - 2.2) == SHARE_W


def test_the_first_budget_of_another_leader_raises_nothing_as_it_did(bench: Bench) -> None:
    bench.hears(demand(5.0, granted_w=1700.0, highest_epoch=1, highest_seq=1), 5.0)

    bench.hears(budget(5.0, 1, epoch=2), 5.1)
    assert bench.hard_w(5.2) == 1700.0
    bench.hears(demand(6.0), 6.0)
    bench.hears(budget(6.0, 2, epoch=2), 6.1)
    assert bench.hard_w(6.2) == GRANT_W


def test_budgets_of_others_are_none_of_ours(bench: Bench) -> None:
    bench.hears(demand(5.0, granted_w=1700.0, highest_epoch=1, highest_seq=1), 5.0)

    bench.hears(budget(5.0, 2, region="other"), 5.1)
    bench.hears(budget(5.0, 3, tree="other"), 5.1)
    bench.hears(budget(4.0, 4), 5.1)  # of no demand that was recorded

    assert bench.hard_w(5.2) == 1700.0


def test_what_was_echoed_is_echoed_as_long_as_the_lease_runs(bench: Bench) -> None:
    keys, shares = packed({key_of("job-a"): 0.5})
    bench.hears(demand(5.0, granted_w=1700.0, highest_epoch=1, highest_seq=1), 5.0)
    bench.hears(budget(5.0, 2, job_keys=keys, job_shares=shares), 5.1)
    bench.hard_w(5.2)
    echoed = dict(bench.picture.echoed)
    bench.hard_w(20.0)

    assert echoed == {key_of("job-a"): 0.5}
    assert bench.picture.echoed == {}


def test_rules_without_a_parent_have_no_lease(site: Recorded) -> None:
    alone = Bench(site.picture.rules)
    alone.hears(demand(5.0, granted_w=1700.0), 5.0)
    alone.lease.look(6_000_000_000)

    assert alone.picture.envelope is None


def hard_limits_w(told: Told, begin_s: float, end_s: float) -> list[float]:
    return [plan.domains[0].hard_limit_w for at_s, plan in told.replayed if begin_s <= at_s <= end_s]


def test_a_recorded_region_is_replayed_within_its_budgets_and_then_within_its_guaranteed_share(
    site: Recorded,
) -> None:
    rules, first_s = under_a_parent(site.picture.rules), site.kept[0].mono_ns / 1e9
    more = []
    for second in range(12):
        at_s = first_s + second
        told = {"granted_w": GRANT_W, "highest_epoch": 1, "highest_seq": second}
        for subject, message in (
            (subjects.demand("top", REGION), demand(at_s, **told)),
            (subjects.budget(REGION), budget(at_s, second + 1)),
        ):
            at_ns = round(at_s * 1e9) + 1
            more.append(Record(subject, at_ns, UNIX_NS + at_ns, wire.encode(message)))
    records = sorted([*site.kept, *more], key=lambda record: record.mono_ns)

    told = run(rules, REGION, ((record, None) for record in records))

    assert told.malformed == 0
    assert set(hard_limits_w(told, 2.0, 15.0)) == {GRANT_W}
    assert set(hard_limits_w(told, 20.0, 26.0)) == {SHARE_W}
