"""What a release comes to where regions have the boards: foretold from all their states, never from the top's alone."""

import json
from dataclasses import replace
from typing import Any

import pytest
from scoped_site import PARENTS, ScopedSite

from easyrider.tree import Rules
from easyrider_policy.answers import Answers
from easyrider_policy.core.foretelling import Foretold, foretell
from easyrider_policy.core.gathered import Uncounted, gathered
from easyrider_policy_api.core.releasing import released

FOUND_W = 700.0


async def states_of(site: ScopedSite) -> dict[str, dict[str, Any]]:
    """What every leader says; boards were found with all that they may draw."""
    found = {}
    for name in PARENTS:
        told = await Answers(site.scopes[name].coordinator, site.clock.now_s, lambda: 7).state()
        found[name] = json.loads(told)
        for board in found[name]["boards"]:
            board["baseline_w"] = FOUND_W
    return found


async def foretold(
    site: ScopedSite, scope: dict[str, tuple[str, ...]], rules: Rules | None = None
) -> Foretold:
    before = rules or site.rules
    state = gathered(before, await states_of(site), "site")
    return foretell(before, released(before, scope, "", ""), state, "site")


async def test_a_release_of_everything_is_foretold_from_the_boards_of_all_regions(site: ScopedSite) -> None:
    told = await foretold(site, {})

    assert (told.gpus, told.nodes) == (8, ("s", "h", "k", "o"))
    # Four boxes of two boards want 6000 of the feed's 4000 W, and what boards draw above a limit counts 3 %.
    assert told.lacking_w["feed"] == pytest.approx(2000.0 + 0.03 * 8 * FOUND_W, abs=1.0)


async def test_one_node_of_a_region_may_go_where_the_others_can_give_enough(site: ScopedSite) -> None:
    told = await foretold(site, {"node": ("k",)})

    assert (told.gpus, told.nodes) == (2, ("k",))
    assert not told.lacking_w


async def test_what_a_region_is_guaranteed_it_keeps_and_others_cannot_have(site: ScopedSite) -> None:
    dear = [
        replace(region, guaranteed_w=1500.0) if region.id == "aisle" else region
        for region in site.rules.regions
    ]

    told = await foretold(site, {"node": ("s", "h")}, replace(site.rules, regions=tuple(dear)))

    # Two boxes at 1500 W and 3 %; the rack's share, which is more than its boards at their least; the aisle's.
    assert told.lacking_w["feed"] == pytest.approx(3000.0 + 84.0 + 650.0 + 1500.0 - 4000.0, abs=1.0)


async def test_every_row_says_which_region_tells_it_and_a_regions_own_domain_is_told_by_it(
    site: ScopedSite,
) -> None:
    state = gathered(site.rules, await states_of(site), "site")

    assert {row["domain"]: row["region"] for row in state["domains"]} == {
        "feed": "site", "row-a": "hall", "rack-a": "rack", "row-b": "aisle",
    }  # fmt: skip
    assert {row["node"]: row["region"] for row in state["nodes"]} == {
        "s": "site", "h": "hall", "k": "rack", "o": "aisle",
    }  # fmt: skip
    assert all(row["room_w"] is not None for row in state["domains"])


async def test_a_region_that_has_not_counted_yet_is_not_guessed_at(site: ScopedSite) -> None:
    states = await states_of(site)
    states["rack"]["domains"][0]["room_w"] = None

    with pytest.raises(Uncounted, match="rack"):
        gathered(site.rules, states, "site")
