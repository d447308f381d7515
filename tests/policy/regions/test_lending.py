"""A parent's side: lower first, verified, then raise; and what a region counts that says nothing."""

from typing import Any

import numpy as np
import pytest

from easyrider.messages import Demand
from easyrider.tree import Leases
from easyrider_policy.core.lending import Borrower, Grant, Lending

LEASES, LEASE_S = Leases(), 10.0
WAIT_S = 10.0 + 5.0 + 2.0
CARRIED = {"a": np.ones(1), "b": np.ones(1)}


def lending() -> Lending:
    found = Lending(
        [Borrower(id=name, row=0, guaranteed_w=100.0, worst_w=900.0) for name in "ab"], LEASES, LEASE_S
    )
    found.took_over(1, -1000.0)
    return found


def demand(region: str, seq: int, named: tuple[int, int] = (0, 0), **other: Any) -> Demand:
    told: dict[str, Any] = {
        "parent": "site", "region": region, "boot_id": "boot", "nonce": seq, "observed_w": None, "floor_w": 50.0,
        "want_w": 900.0, "curve_w": (), "curve_value": (), "t_ns": 0, "mono_ns": 0, "epoch": 1, "seq": seq,
        "highest_epoch": named[0], "highest_seq": named[1], "counted_w": 50.0,
    }  # fmt: skip
    return Demand(**{**told, **other})


def say(found: Lending, now_s: float, a_w: float, b_w: float, limit_w: float = 1000.0) -> dict[str, Grant]:
    room_w = np.array([limit_w - sum(found.counted_w(now_s).values())])
    wanted = {"a": (a_w, a_w), "b": (b_w, b_w)}
    return {grant.region: grant for grant in found.compose(now_s, wanted, room_w, CARRIED, True)}


def obeyed(found: Lending, grant: Grant, seq: int, now_s: float, **other: Any) -> None:
    """The region names the budget, and says that it draws so much at most."""
    word = {"granted_w": grant.hard_w, "counted_w": grant.hard_w} | other
    assert found.heard(demand(grant.region, seq, grant.key, **word), now_s)


def met() -> Lending:
    """Both regions obey this leader; `a` holds 800 W, `b` its guaranteed 100 W. Next seq: 3."""
    found = lending()
    for name in "ab":
        found.heard(demand(name, 1), 0.0)
    first = say(found, 0.0, 100.0, 100.0)
    for name in "ab":
        obeyed(found, first[name], 2, 0.1)
    obeyed(found, say(found, 0.1, 800.0, 100.0)["a"], 3, 0.2)
    return found


def test_what_one_gives_back_is_lent_on_when_it_says_so_and_not_before():
    found = met()
    found.heard(demand("b", 3, (1, 2), granted_w=100.0), 1.0)

    grants = say(found, 1.0, 200.0, 800.0)
    assert grants["a"].hard_w == 200.0
    assert grants["b"].hard_w == pytest.approx(200.0)  # what was free anyway

    obeyed(found, grants["a"], 4, 1.2)
    found.heard(demand("b", 4, grants["b"].key, granted_w=200.0), 1.3)
    assert say(found, 1.3, 200.0, 800.0)["b"].hard_w == 800.0


def test_a_region_that_took_a_smaller_budget_counts_what_it_could_still_be_drawing():
    found = met()
    smaller = say(found, 1.0, 200.0, 100.0)["a"]
    obeyed(found, smaller, 4, 1.2, counted_w=650.0)

    assert found.counted_w(1.2)["a"] == 650.0


def test_a_smaller_budget_leaves_at_once_although_the_demand_was_answered():
    found = met()
    say(found, 0.3, 800.0, 100.0)

    assert say(found, 0.4, 300.0, 100.0)["a"].hard_w == 300.0


def test_a_silent_region_counts_all_it_was_granted_until_the_full_wait_then_its_share():
    found = met()
    say(found, 0.3, 300.0, 100.0)  # lost on its way

    assert found.counted_w(LEASE_S + WAIT_S)["a"] == 800.0
    assert found.counted_w(0.21 + LEASE_S + WAIT_S)["a"] == 100.0


def test_what_a_region_could_not_get_below_stays_counted_after_its_lease():
    found = met()
    grant = say(found, 0.3, 800.0, 100.0)["a"]
    obeyed(found, grant, 4, 0.5, floor_w=450.0)

    assert found.counted_w(500.0)["a"] == 450.0


def test_a_region_that_comes_back_gets_no_more_than_is_still_there():
    found = met()
    found.heard(demand("a", 4, (1, 3), granted_w=800.0, counted_w=800.0), 0.3)
    say(found, 0.3, 800.0, 100.0)  # lost, and then the link is gone
    found.heard(demand("b", 3, (1, 2), granted_w=100.0), 100.0)
    obeyed(found, say(found, 100.0, 100.0, 900.0)["b"], 4, 100.2)

    found.heard(demand("a", 5, (1, 3)), 101.0)

    assert say(found, 101.0, 800.0, 900.0)["a"].hard_w <= 100.0


def test_after_a_take_over_a_region_counts_its_whole_domain_until_it_names_a_budget_of_ours():
    found = met()
    found.took_over(2, 10.0)
    assert found.counted_w(10.0)["a"] == 900.0

    found.heard(demand("a", 4, (1, 9), granted_w=800.0), 10.5)
    assert found.counted_w(10.5)["a"] == 900.0
    hold = say(found, 10.5, 800.0, 100.0)["a"]
    assert hold.hard_w == 800.0

    obeyed(found, hold, 5, 10.7)
    assert found.counted_w(10.7)["a"] == 800.0


def test_a_region_never_heard_counts_its_whole_domain_however_long_that_lasts():
    found = lending()
    found.took_over(2, 0.0)

    for now_s in (1.0, LEASE_S + WAIT_S + 0.1, 9000.0):
        assert found.counted_w(now_s)["b"] == 900.0

    found.heard(demand("b", 1), 9000.0)
    assert found.counted_w(9000.0)["b"] == 100.0


def test_a_region_heard_before_a_take_over_and_not_since_counts_its_share_once_every_grant_ran_out():
    found = met()
    found.took_over(2, 1.0)

    assert found.counted_w(1.0 + LEASE_S + WAIT_S - 0.1)["a"] == 900.0
    assert found.counted_w(1.0 + LEASE_S + WAIT_S + 0.1)["a"] == 100.0


@pytest.mark.parametrize("unknown", [{"counted_w": None}, {"floor_w": None}])
def test_what_a_region_did_not_know_before_it_fell_silent_is_not_zero(unknown):
    found = met()
    found.heard(demand("b", 3, (1, 2), **unknown), 1.0)

    for now_s in (LEASE_S + WAIT_S + 1.1, 9000.0):
        assert found.counted_w(now_s)["b"] == 900.0


def test_a_region_without_a_floor_counts_what_it_tells_as_long_as_it_is_heard():
    found = met()
    found.heard(demand("b", 3, (1, 2), floor_w=None), 1.0)

    assert found.counted_w(2.0)["b"] == 100.0


def test_a_take_over_moves_nobody_for_a_moment():
    found = met()
    found.took_over(2, 10.0)

    assert found.planned_w(10.5)["a"] == 800.0


@pytest.mark.parametrize("late", [(1, 2), (0, 99)])
def test_a_late_or_repeated_demand_changes_nothing(late):
    found = met()
    before = found.counted_w(1.0)

    assert not found.heard(demand("a", late[1], (1, 4), epoch=late[0], counted_w=1.0, granted_w=1.0), 1.0)
    assert found.counted_w(1.0) == before


def test_a_demand_that_names_a_budget_never_said_is_left_aside():
    found = met()

    assert not found.heard(demand("a", 4, (1, 999), granted_w=1.0, counted_w=1.0), 1.0)
    assert found.counted_w(1.0)["a"] == 800.0


def test_a_region_with_something_that_cannot_be_counted_counts_its_whole_domain():
    found = met()
    found.heard(demand("a", 4, (1, 3), counted_w=None), 1.0)

    assert found.counted_w(1.0)["a"] == 900.0


def test_over_a_limit_nothing_rises_not_even_inside_the_count():
    found = met()
    smaller = say(found, 0.3, 300.0, 100.0)["a"]
    obeyed(found, smaller, 4, 0.5, counted_w=800.0)

    assert say(found, 0.6, 700.0, 100.0, limit_w=500.0)["a"].hard_w == 300.0


def test_a_guaranteed_share_that_rules_lower_counts_until_the_region_says_it_has_those_rules():
    found = met()
    lower = [Borrower(id=name, row=0, guaranteed_w=60.0, worst_w=900.0) for name in "ab"]
    moved = found.moved_to(lower, LEASES, LEASE_S, 2)
    assert moved.counted_w(500.0)["b"] == 100.0

    moved.heard(demand("b", 9, (1, 2), tree_version=2), 500.0)
    assert moved.counted_w(1000.0)["b"] == 60.0


def test_the_wait_grows_by_a_lease_for_each_level_of_regions_below():
    deep = Borrower(id="a", row=0, guaranteed_w=1.0, worst_w=2.0, levels=2)

    assert lending().wait_s(deep) == WAIT_S + 2 * LEASE_S


def test_a_share_that_rules_raise_is_named_once_the_sums_hold_and_not_before():
    found = met()
    held = found.accounts["b"].demand
    assert held is not None
    swapped = [
        Borrower(id="a", row=0, guaranteed_w=60.0, worst_w=900.0),
        Borrower(id="b", row=0, guaranteed_w=140.0, worst_w=900.0),
    ]
    moved = found.moved_to(swapped, LEASES, LEASE_S, 2)

    moved.heard(demand("a", 4, (1, 3), tree_version=1, granted_w=100.0, counted_w=100.0), 1.0)
    moved.heard(demand("b", 3, (1, 2), tree_version=2, granted_w=100.0, counted_w=100.0), 1.0)
    assert say(moved, 1.0, 100.0, 140.0, limit_w=200.0)["b"].vouched_w == 100.0

    moved.heard(demand("a", 5, (1, 3), tree_version=2, granted_w=60.0, counted_w=60.0), 50.0)
    moved.heard(demand("b", 4, (1, 2), tree_version=2, granted_w=100.0, counted_w=100.0), 50.0)
    assert say(moved, 50.0, 60.0, 140.0, limit_w=200.0)["b"].vouched_w == 140.0


def again(before: Lending, version: int = 2, share_w: float = 60.0) -> Lending:
    """The same parent, started again: it has its rules and its record of shares."""
    borrowers = [Borrower(id=name, row=0, guaranteed_w=share_w, worst_w=900.0) for name in "ab"]
    found = Lending(borrowers, LEASES, LEASE_S, version)
    found.remember({name: account.standing for name, account in before.accounts.items()})
    found.took_over(2, 0.0)
    return found


def test_a_parent_that_starts_again_owes_the_higher_share_that_a_region_has_not_disavowed():
    lower = [Borrower(id=name, row=0, guaranteed_w=60.0, worst_w=900.0) for name in "ab"]
    found = again(met().moved_to(lower, LEASES, LEASE_S, 2))

    found.heard(demand("b", 9, tree_version=1, counted_w=60.0), 1.0)
    assert found.counted_w(9000.0)["b"] == 100.0
    found.heard(demand("b", 10, tree_version=2, counted_w=60.0), 9000.0)
    assert found.counted_w(18000.0)["b"] == 60.0


def test_a_parent_without_a_record_owes_a_region_with_older_rules_all_its_domain_may_carry():
    found = Lending([Borrower(id="b", row=0, guaranteed_w=60.0, worst_w=900.0)], LEASES, LEASE_S, 2)
    found.took_over(1, -1000.0)

    found.heard(demand("b", 9, tree_version=1, counted_w=60.0), 1.0)

    assert found.counted_w(9000.0)["b"] == 900.0


def test_a_parent_that_starts_again_offers_no_more_than_the_share_it_had_named():
    found = again(met(), share_w=500.0)

    found.heard(demand("b", 9, tree_version=2, counted_w=100.0), 1.0)

    word = say(found, 1.0, 500.0, 500.0)["b"]
    assert (word.hard_w, word.vouched_w) == (100.0, 100.0)


def in_store(found: Lending, now_s: float, until_s: float, a_w: float) -> Grant:
    wanted = {"a": (a_w, a_w), "b": (100.0, 100.0)}
    room_w = np.array([1000.0 - sum(found.counted_w(now_s).values())])
    told = found.compose(now_s, wanted, room_w, CARRIED, True, until_s=until_s)
    return {grant.region: grant for grant in told}["a"]


def test_no_lease_of_a_region_ends_later_than_one_that_left_within_our_lease_at_the_store():
    found, until_s = met(), 4.0
    for seq, at_s in enumerate((3.0, 6.0, 12.0), 4):
        found.heard(demand("a", seq, (1, 3), granted_w=800.0, counted_w=800.0), at_s)
        grant = in_store(found, at_s, until_s, 800.0)
        assert at_s + grant.lease_s <= until_s + LEASE_S
        assert grant.hard_w == 800.0


def test_beyond_our_lease_at_the_store_nothing_rises_and_at_last_the_guaranteed_share_alone_is_said():
    found, until_s = met(), 4.0
    found.heard(demand("a", 4, (1, 3), granted_w=800.0, counted_w=800.0), 6.0)
    assert in_store(found, 6.0, until_s, 900.0).hard_w == 800.0
    assert found.accounts["a"].why == "store"
    assert in_store(found, 6.1, until_s, 300.0).hard_w == 300.0

    found.heard(demand("a", 5, (1, 3), counted_w=100.0), 15.0)
    assert in_store(found, 15.0, until_s, 800.0).hard_w == 100.0
