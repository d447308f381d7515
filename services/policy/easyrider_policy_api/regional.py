"""Questions whose answer a region below may have, and not the scope that this API is of: whoever knows is asked."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from easyrider.messages.asks import Question
from easyrider.scopes import line_of, owner_of
from easyrider.tree import Leases, Rules
from easyrider_policy.core.gathered import State, Uncounted, gathered
from easyrider_policy.core.regions import QUIET_PERIODS
from easyrider_policy.core.unforetold import Unforetold
from easyrider_policy_api.coordinator_link import CoordinatorLink, Snapshot
from easyrider_policy_api.problems import Problem
from easyrider_policy_api.rules_desk import RulesDesk


async def below(rules: RulesDesk, link: CoordinatorLink) -> tuple[str, ...]:
    """Regions below this scope; none where the store does not say."""
    try:
        return line_of(await rules.held(), link.region)[1:]
    except Problem:
        return ()


async def checked(rules: RulesDesk, link: CoordinatorLink, region: str) -> str:
    """A region that was asked for by name. Raises `Problem` 404 with those there are."""
    names = (link.region, *await below(rules, link))
    if region and region not in names:
        raise Problem(
            404, "no-region", f"There is no region {region[:64]!r} here; there is {', '.join(names)}."
        )
    return region


async def whole_state(link: CoordinatorLink, rules: Rules) -> State:
    """The state of this scope with those of all regions below. Raises `Unforetold`; `Problem` where it has none."""
    line = line_of(rules, link.region)
    if len(line) == 1:
        state: State = (await link.state()).document
        return state
    found = await asyncio.gather(*(_state(link, region) for region in line))
    try:
        return gathered(rules, dict(zip(line, found, strict=True)), link.region)
    except Uncounted as fault:
        raise Unforetold(str(fault)) from fault


async def state(rules: RulesDesk, link: CoordinatorLink, node: str, region: str) -> Snapshot:
    """Of the region named, else of this scope; a node of a region below is asked of that. Raises `Problem`."""
    if region:
        return await link.state(node, await checked(rules, link, region))
    try:
        return await link.state(node)
    except Problem as problem:
        if problem.status != 404 or not (owner := await owner_told(rules, link, node)):
            raise
        return await link.state(node, owner)


async def explained(
    rules: RulesDesk, link: CoordinatorLink, what: Question, name: str, region: str
) -> dict[str, Any] | None:
    """The answer of the region named, else of the scope that has it; None: nobody knows it. Raises `Problem` 503."""
    if region:
        return await _asked(link, what, name, await checked(rules, link, region))
    found = await _asked(link, what, name, "")
    while found is not None and (governed_by := found.get("governed_by")):
        try:
            found = await _asked(link, what, name, governed_by) or {**found, "governed_by": ""}
        except Problem:
            return found  # it names the region, which is silent
    if found is None:
        found = await _first(link, what, name, await below(rules, link))
    return found


@dataclass(frozen=True, slots=True)
class Jobs:
    """What each scope answers of its jobs, and regions that do not answer."""

    snapshots: dict[str, Snapshot]
    silent: list[str]


async def jobs(rules: RulesDesk, link: CoordinatorLink, region: str) -> Jobs:
    """Of the region named, else of this scope and all below. Raises `Problem` 503 where the first is silent."""
    first = await checked(rules, link, region) if region else link.region
    found, quiet = {first: await link.jobs(first)}, list[str]()
    lends = isinstance(found[first].document, dict) and found[first].document.get("regions")
    for name in await below(rules, link) if lends and not region else ():
        try:
            found[name] = await link.jobs(name)
        except Problem:
            quiet.append(name)
    return Jobs(found, quiet)


@dataclass(frozen=True, slots=True)
class Plans:
    """The last plan of a scope in JSON with its age in s, those of regions below, and scopes that are not heard now."""

    first: tuple[bytes, float]
    below: dict[str, tuple[bytes, float]]
    silent: list[str]


async def plans(rules: RulesDesk, link: CoordinatorLink, region: str) -> Plans:
    """Of the region named, else of this scope and all below. Raises `Problem`: 404, 503 where the first is silent.

    A plan is said each period. The last word of a scope that said none for `QUIET_PERIODS` is told, and it as silent.
    """
    name = (await checked(rules, link, region)) or link.region
    names, late_s = await _heard(rules, link)
    found, quiet = {name: link.plan(name)}, list[str]()
    for other in names if link.lends and not region else ():
        try:
            found[other] = link.plan(other)
        except Problem:
            quiet.append(other)
    quiet += [other for other, (_, age_s) in found.items() if age_s > late_s]
    first = found.pop(name)
    return Plans(first, found, sorted(quiet))


async def _heard(rules: RulesDesk, link: CoordinatorLink) -> tuple[tuple[str, ...], float]:
    """Regions below, and the age in s at which a plan is overdue; without a store those that the last plan tells of."""
    try:
        held = await rules.held()
    except Problem:
        return link.lent_to, QUIET_PERIODS * Leases().control_period_s
    return line_of(held, link.region)[1:], QUIET_PERIODS * held.leases.control_period_s


def silent(name: str, regions: Iterable[str]) -> Problem:
    """Nobody who answers knows it, and not everybody answers."""
    why = f"Nobody who answers knows {name[:64]!r}; region {', '.join(regions)} does not answer."
    return Problem(503, "region-silent", why, retry_after_s=2.0)


async def owner_told(rules: RulesDesk, link: CoordinatorLink, node: str) -> str:
    """The region below that governs a node; empty where it is ours, or nobody says."""
    try:
        held = await rules.held()
    except Problem:
        return ""
    found = owner_of(held, node, link.region)
    return found if found in line_of(held, link.region)[1:] else ""


async def _state(link: CoordinatorLink, region: str) -> State:
    try:
        found = (await link.state("", region)).document
    except Problem as problem:
        raise Unforetold(f"region {region} does not say how it stands: {problem.detail}") from problem
    return found if isinstance(found, dict) else {}


async def _asked(link: CoordinatorLink, what: Question, name: str, region: str) -> dict[str, Any] | None:
    try:
        snapshot = await link.explained(what, name, region)
    except Problem as problem:
        if problem.status == 404:
            return None
        raise
    found = snapshot.document
    return {"region": region or link.region, **found} if isinstance(found, dict) else None


async def _first(
    link: CoordinatorLink, what: Question, name: str, regions: Iterable[str]
) -> dict[str, Any] | None:
    quiet: list[str] = []
    for region in regions:
        try:
            found = await _asked(link, what, name, region)
        except Problem:
            quiet.append(region)
            continue
        if found is not None:
            return found
    if quiet:
        raise silent(name, quiet)
    return None
