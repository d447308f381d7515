"""An operator answers for a region that will not return: what it takes, what it gives, how long it holds."""

from typing import Any

import numpy as np
import pytest
from scoped_site import GUARANTEED_W, LEASE_S, rules
from test_lending import demand
from wired_box import TREE

from easyrider.testing import FakeStore
from easyrider_policy.core.account import Grant
from easyrider_policy.core.lending import Lending
from easyrider_policy.dark_regions import DarkRegions
from easyrider_policy.picture import Picture
from easyrider_policy.telling_regions import region_plans

RUNS_S = LEASE_S + 10.0 + 5.0 + 2.0
"""Lease, dead-man, ttl, two control periods."""
ROW_W, SHARE_W = 3000.0, GUARANTEED_W["aisle"]


class Parent:
    """One process of the parent scope, at a store that others use too."""

    def __init__(self, store: FakeStore, now_s: float) -> None:
        self.now_s = now_s
        self.journal: list[dict[str, object]] = []
        self.picture = Picture(rules(), "site", now_s)
        self.dark = DarkRegions(store, self.picture, TREE, self.journal.append, lambda: self.now_s)

    @property
    def lending(self) -> Lending:
        return self.picture.regions.lending

    def leads(self, epoch: int) -> None:
        self.picture.safety.taken(epoch, self.now_s, self.now_s)
        self.picture.regions.follow(self.picture.safety.lead)

    def later(self, seconds: float) -> None:
        """Time passes while it leads."""
        self.now_s += seconds
        self.picture.safety.renewed(self.now_s)

    def counted_w(self) -> float:
        return self.lending.counted_w(self.now_s)["aisle"]

    def hears(self, seq: int, **other: Any) -> None:
        assert self.lending.heard(demand("aisle", seq, counted_w=SHARE_W, **other), self.now_s)

    def grants(self) -> list[Grant]:
        """Budgets that leave when the aisle is to have 1,000 W."""
        wanted, size = {"aisle": (1000.0, 1000.0)}, len(self.picture.fleet.domains)
        return self.lending.compose(
            self.now_s, wanted, np.full(size, 9000.0), self.picture.regions.carried, raises_allowed=True
        )


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
async def parent(store: FakeStore) -> Parent:
    """It leads since all that was lent before has run out, and never heard the aisle."""
    found = Parent(store, 1000.0)
    found.leads(1)
    await found.dark.once()
    found.later(RUNS_S + 4.0)
    return found


async def successor(store: FakeStore, before: Parent, epoch: int) -> Parent:
    """Another process that leads after it, and has read what the store holds."""
    found = Parent(store, before.now_s + 5.0)
    found.leads(epoch)
    await found.dark.once()
    return found


async def test_a_region_never_heard_counts_its_guaranteed_share_once_an_operator_answers_for_it(
    parent: Parent,
) -> None:
    before_w = parent.counted_w()

    freed_w = await parent.dark.release("aisle", "ann")

    assert before_w == ROW_W
    assert freed_w == ROW_W - SHARE_W
    assert parent.counted_w() == parent.lending.planned_w(parent.now_s)["aisle"] == SHARE_W
    assert parent.journal == [
        {"what": "region_freed", "region": "aisle", "counted_w": ROW_W, "who": "ann"},
    ]
    assert {plan.region: plan.released for plan in region_plans(parent.picture, parent.now_s)} == {
        "hall": False,
        "aisle": True,
    }


async def test_what_a_region_last_said_it_could_not_go_below_is_let_go_of_too(parent: Parent) -> None:
    parent.hears(1, floor_w=1400.0)
    parent.later(RUNS_S + 4.0)
    before_w = parent.counted_w()

    await parent.dark.release("aisle", "ann")

    assert before_w >= 1400.0
    assert parent.counted_w() == SHARE_W


async def test_a_region_that_spoke_within_the_time_of_a_lease_and_its_wait_is_not_answered_for(
    parent: Parent,
) -> None:
    parent.hears(1)
    speaks = await parent.dark.release("aisle", "ann")
    parent.later(RUNS_S - 0.1)
    silent = await parent.dark.release("aisle", "ann")
    parent.later(0.2)

    assert "was heard 0.0 s ago" in str(speaks)
    assert "was heard 26.9 s ago" in str(silent)
    assert isinstance(await parent.dark.release("aisle", "ann"), float)


async def test_a_parent_that_leads_since_a_moment_answers_for_nobody(store: FakeStore) -> None:
    parent = Parent(store, 1000.0)
    parent.leads(1)
    await parent.dark.once()
    parent.later(3.0)

    why = await parent.dark.release("aisle", "ann")

    assert "leads since 3.0 s" in str(why)
    assert parent.counted_w() == ROW_W


@pytest.mark.parametrize("name", ["rack", "nobody", "site"])
async def test_only_a_region_right_below_is_answered_for(parent: Parent, name: str) -> None:
    assert "no region right below" in str(await parent.dark.release(name, "ann"))


async def test_it_is_answered_for_once(parent: Parent) -> None:
    await parent.dark.release("aisle", "ann")

    assert "already" in str(await parent.dark.release("aisle", "ann"))


async def test_nothing_is_let_go_of_that_the_store_did_not_keep(parent: Parent, store: FakeStore) -> None:
    store.silent = "no route"

    why = await parent.dark.release("aisle", "ann")

    assert "nothing was released" in str(why)
    assert parent.counted_w() == ROW_W
    assert parent.journal == []


async def test_the_word_outlives_the_leader_it_was_given_to_and_the_next(
    parent: Parent, store: FakeStore
) -> None:
    await parent.dark.release("aisle", "ann")

    second = await successor(store, parent, 2)
    third = await successor(store, second, 3)

    assert second.counted_w() == third.counted_w() == SHARE_W


async def test_a_record_that_the_leader_before_did_not_write_anew_is_believed_no_more(
    parent: Parent, store: FakeStore
) -> None:
    await parent.dark.release("aisle", "ann")

    assert (await successor(store, parent, 3)).counted_w() == ROW_W


async def test_a_region_heard_again_counts_and_rises_only_when_its_record_is_gone(
    parent: Parent, store: FakeStore
) -> None:
    await parent.dark.release("aisle", "ann")
    parent.hears(1, floor_w=800.0)
    counted_w = parent.counted_w()
    parent.grants()
    named = parent.lending.accounts["aisle"].grants[-1].key
    parent.hears(2, named=named, granted_w=SHARE_W)
    early = parent.grants()
    why = parent.lending.accounts["aisle"].why

    await parent.dark.once()
    parent.hears(3, named=early[-1].key, granted_w=SHARE_W)
    late = parent.grants()

    assert counted_w >= 800.0
    assert early[-1].hard_w <= SHARE_W
    assert why == "released"
    assert (await store.load_state(TREE, "site"))["dark_regions"] == b"{}"
    assert late[-1].hard_w == 1000.0


async def test_a_leader_that_heard_the_region_since_believes_no_record_of_before(
    parent: Parent, store: FakeStore
) -> None:
    await parent.dark.release("aisle", "ann")
    heir = Parent(store, parent.now_s)
    heir.hears(1)

    heir.leads(2)
    await heir.dark.once()

    assert not heir.lending.accounts["aisle"].dark
    assert heir.counted_w() == ROW_W  # until it names a budget of this leader


async def test_a_late_demand_of_before_wakes_nobody(parent: Parent) -> None:
    parent.hears(5)
    parent.later(RUNS_S + 4.0)
    await parent.dark.release("aisle", "ann")

    assert not parent.lending.heard(demand("aisle", 4, counted_w=SHARE_W), parent.now_s)
    assert parent.lending.accounts["aisle"].dark


async def test_until_the_store_has_told_nothing_rises_below_a_new_leader(
    parent: Parent, store: FakeStore
) -> None:
    heir = Parent(store, parent.now_s)
    heir.leads(2)
    store.silent = "no route"
    await heir.dark.once()
    assert heir.lending.records.bar("hall") == "released"
    assert "not told yet" in str(await late_release(heir))

    store.silent = ""
    await heir.dark.once()
    assert heir.lending.records.bar("hall") == ""


async def late_release(parent: Parent) -> float | str:
    parent.later(RUNS_S + 4.0)
    return await parent.dark.release("aisle", "ann")


@pytest.mark.parametrize("body", [b"not json", b'{"aisle": {"leader_epoch": "one"}}'])
async def test_a_record_that_cannot_be_read_is_no_word(store: FakeStore, parent: Parent, body: bytes) -> None:
    await store.save_state(TREE, "site", {"dark_regions": body})

    assert (await successor(store, parent, 2)).counted_w() == ROW_W


async def test_rules_that_change_forget_no_word(parent: Parent) -> None:
    await parent.dark.release("aisle", "ann")

    parent.picture.accept(rules(version=2, feed_w=3900.0))
    parent.picture.follow()

    assert parent.counted_w() == SHARE_W
