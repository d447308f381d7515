"""Whether saved rules are in force in regions below too, whose coordinators would find them seconds later."""

import asyncio

from easyrider.scopes import line_of
from easyrider.tree import Rules
from easyrider_policy_api.coordinator_link import CoordinatorLink
from easyrider_policy_api.core.adoption import judged
from easyrider_policy_api.problems import Problem


async def not_adopted(link: CoordinatorLink, rules: Rules, who: str) -> str:
    """Each region that has them not in force, and why; empty: all have."""
    names = line_of(rules, link.region)[1:]
    told = await asyncio.gather(*(_why(link, rules, who, name) for name in names))
    return "; ".join(f"region {name}: {why}" for name, why in zip(names, told, strict=True) if why)


async def _why(link: CoordinatorLink, rules: Rules, who: str, region: str) -> str:
    try:
        answer = await link.ask("rules", who, "", region)
    except Problem as fault:
        return fault.detail
    verdict, why = await asyncio.to_thread(judged, answer, rules)
    return "" if verdict == "adopted" else why or answer.reason or verdict
