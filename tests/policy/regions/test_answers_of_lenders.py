"""What a scope that lends tells of domains, jobs and advice that regions below it have."""

import json
from dataclasses import replace
from typing import Any

import pytest
from scoped_site import Scope, ScopedSite

from easyrider_policy.advice_answers import AdviceAnswers
from easyrider_policy.answers import Answers
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.explain_answers import ExplainAnswers
from easyrider_policy.picture import Picture
from easyrider_policy.telling_regions import lent


async def state_of(site: ScopedSite, scope: Scope) -> dict[str, Any]:
    told = await Answers(scope.coordinator, site.clock.now_s, lambda: 7).state()
    found: dict[str, Any] = json.loads(told)
    return found


def explained(site: ScopedSite, kind: str, name: str) -> dict[str, Any]:
    body = ExplainAnswers(site.scopes["site"].coordinator, site.clock.now_s).of(kind, name)
    assert body is not None
    found: dict[str, Any] = json.loads(body)
    return found


async def test_domains_above_regions_count_what_regions_could_draw_as_the_plan_does(site: ScopedSite) -> None:
    top = site.scopes["site"]

    domains = {row["domain"]: row for row in (await state_of(site, top))["domains"]}

    could_w = top.picture.regions.lending.counted_w(site.clock.at_s)
    assert domains["row-a"]["counted_w"] == pytest.approx(could_w["hall"], abs=1.0)
    assert domains["feed"]["counted_w"] == pytest.approx(
        could_w["hall"]
        + could_w["aisle"]
        + site.could_w("feed")
        - site.could_w("row-a")
        - site.could_w("row-b"),
        abs=60,
    )


async def test_a_domain_of_a_region_names_it(site: ScopedSite) -> None:
    state = await state_of(site, site.scopes["site"])
    domains = {row["domain"]: row for row in state["domains"]}

    assert [row["region"] for row in state["regions"]] == ["hall", "aisle"]
    assert (domains["row-a"]["governed_by"], domains["feed"]["governed_by"]) == ("hall", "")
    assert domains["feed"]["regions"] == ["hall", "aisle"]
    assert "ask" in domains["row-a"]["sum_rule"]
    assert "hall" in domains["row-a"]["sum_rule"]


async def test_an_explanation_of_a_domain_with_regions_below_points_to_them(site: ScopedSite) -> None:
    frees = explained(site, "domain", "feed")["frees"]

    assert [way["place"] for way in frees if way["act"] == "ask_region"] == ["hall", "aisle"]


async def test_a_scope_that_only_lends_says_what_is_drawn_and_whom_to_ask(site: ScopedSite) -> None:
    top = site.scopes["site"]
    top.coordinator.decision = None  # as where it never heard a node: it has none
    state = await state_of(site, top)
    feed = next(row for row in state["domains"] if row["domain"] == "feed")

    drawn_w, _, _ = lent(top.picture, top.coordinator.looked.sums, site.clock.at_s)
    assert feed["observed_w"] == pytest.approx(drawn_w[0], abs=0.1)
    assert feed["observed_w"] > 1000
    assert "wait" not in [way["act"] for way in explained(site, "domain", "feed")["frees"]]


async def test_advice_of_a_scope_without_nodes_names_the_regions_to_ask(site: ScopedSite) -> None:
    rules = site.scopes["site"].picture.rules
    bare = replace(rules, nodes=tuple(node for node in rules.nodes if node.id != "s"))
    picture = Picture(bare, "site", site.clock.at_s)

    told = json.loads(await AdviceAnswers(Coordinator(picture), site.clock.now_s).offsets())

    assert "ask region hall, aisle" in told["says"]


async def test_a_job_that_the_parents_grant_binds_is_told_so_and_whom_to_ask(site: ScopedSite) -> None:
    aisle = site.scopes["aisle"]
    answers = ExplainAnswers(aisle.coordinator, site.clock.now_s)
    lent = json.loads(answers.of("job", "job-aisle") or b"")
    site.cut.add("aisle")
    await site.until(lambda: site.granted_w("aisle") is None, 12)
    await site.seconds(12)

    cut = json.loads(answers.of("job", "job-aisle") or b"")
    domain = json.loads(answers.of("domain", "row-b") or b"")

    assert (lent["reason"], cut["reason"]) == ("lent:site", "share:site")
    asked = [way for way in lent["frees"] if way["act"] == "ask_parent"]
    assert {way["place"] for way in asked} == {"site"}
    assert max(way["by_w"] for way in asked) > 100.0
    assert not [way for way in lent["frees"] + domain["frees"] if way["act"].startswith("raise")]
