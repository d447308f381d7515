"""What a contender knows of a leader elsewhere: the version of its rules, while its plans are fresh and its own."""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from wired_box import REGION, at
from wired_site import Wired, rules

from easyrider import subjects, wire
from easyrider.messages import Plan
from easyrider.tree import Leases
from easyrider_policy.leaders_word import LeadersWord

SUBJECT = subjects.plan(REGION)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Of a site that leads under version 7."""

    async def led() -> Plan:
        leader = Wired(rules(7))
        await leader.seconds(2)
        return leader.said(Plan)[-1]  # type: ignore[no-any-return]

    return asyncio.run(led())


def word(plan: Plan, **other: Any) -> tuple[Wired, LeadersWord]:
    wired = Wired(replace(rules(1), leases=Leases(leader_lease_s=5.0)))
    found = LeadersWord(wired.picture, wired.clock.now_s)
    found.on_plan(wire.encode(msgspec.structs.replace(plan, **other)), at(SUBJECT, wired.now_s))
    return wired, found


def test_a_fresh_plan_of_a_leader_says_its_version(plan: Plan) -> None:
    assert word(plan)[1].version() == 7


def test_nobody_was_heard_to_lead(plan: Plan) -> None:
    wired = Wired()

    assert LeadersWord(wired.picture, wired.clock.now_s).version() is None


@pytest.mark.parametrize(("ago_s", "version"), [(4.9, 7), (5.1, None)])
def test_a_leader_lives_for_as_long_as_its_lease(plan: Plan, ago_s: float, version: int | None) -> None:
    wired, found = word(plan)
    wired.clock.at_s += ago_s

    assert found.version() == version


@pytest.mark.parametrize("other", [{"leading": False}, {"tree": "elsewhere"}, {"epoch": 3}])
def test_a_plan_of_a_contender_of_another_tree_or_of_a_former_leader_says_nothing(
    plan: Plan, other: dict[str, Any]
) -> None:
    wired, found = word(plan, **{"epoch": 4} | other)
    wired.picture.safety.lead = replace(wired.picture.safety.lead, highest_epoch=4)

    assert found.version() is None


def test_what_is_no_plan_says_nothing() -> None:
    wired = Wired()
    found = LeadersWord(wired.picture, wired.clock.now_s)
    found.on_plan(b"\xc1", at(SUBJECT, wired.now_s))

    assert found.version() is None
