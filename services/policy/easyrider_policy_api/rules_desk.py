"""The rules in the store: read, edited under a version, checked as the coordinator would, and put before it."""

import asyncio
import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from easyrider.admin_store import AdminStorePort, RulesMoved
from easyrider.errors import BadTree
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.tree import Rules
from easyrider.tree_reader import dump, to_document
from easyrider.tree_reader import read as read_text
from easyrider_policy.core.targets import ended, far_ahead
from easyrider_policy_api.auditor import Auditor
from easyrider_policy_api.change import Change
from easyrider_policy_api.coordinator_link import CoordinatorLink
from easyrider_policy_api.core.adoption import TURNS, Edit, Overtaken, judged, whole, within
from easyrider_policy_api.core.changes import difference
from easyrider_policy_api.core.edits import AlreadyThere, NotThere
from easyrider_policy_api.core.releasing import Unclear
from easyrider_policy_api.problems import FieldFault, Problem, not_valid, store_silent
from easyrider_policy_api.regions_adopting import not_adopted


@dataclass(frozen=True, slots=True)
class Edited:
    """What is saved now, and whether the coordinator has it in force."""

    rules: Rules
    adoption: str  # "adopted", "unchanged", or "pending" with the reason
    why: str = ""
    remarks: tuple[str, ...] = ()  # what may be said and is hardly meant

    @property
    def told(self) -> dict[str, Any]:
        """As every edit is answered."""
        return {
            "version": self.rules.version,
            "adoption": self.adoption,
            "why": self.why,
            "remarks": list(self.remarks),
        }


class RulesDesk:
    """Edits of one tree. `unix_s`: time of day, for appointments."""

    def __init__(
        self,
        store: AdminStorePort,
        tree: str,
        link: CoordinatorLink,
        auditor: Auditor,
        unix_s: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._tree, self._link, self._auditor = store, tree, link, auditor
        self._unix_s = unix_s
        self._parsed: tuple[bytes, Rules] | None = None

    async def held(self) -> Rules:
        """The newest rules. Raises `Problem`: 404 where there are none, 503."""
        rules = await self._held()
        if rules is None:
            raise Problem(
                404,
                "no-rules",
                f"The store holds no rules for the tree {self._tree}: put some, with If-None-Match: *.",
            )
        return rules

    async def edit(self, change: Change, edit: Edit, expected: int | None) -> Edited:
        """Save what `edit` makes of the newest rules, one version up. `expected`: of the client's If-Match.

        Without it, an edit that loses to another is tried again on what that one saved; so is one that was saved
        and overtaken by another document before it was in force.
        """
        overtaken = False
        for turn in range(TURNS):
            before = await self.held()
            if overtaken and within(edit, before):
                return await self._standing(change, before)
            if expected is not None and before.version != expected:
                raise stale(before.version, expected)
            try:
                return await self._save(change, before, edited(edit, before))
            except (RulesMoved, Overtaken) as fault:
                overtaken = isinstance(fault, Overtaken)
                if (expected is not None and not overtaken) or turn == TURNS - 1:
                    raise stale(fault.held, before.version) from fault
        raise AssertionError("not reached")

    async def create(self, change: Change, rules: Rules) -> Edited:
        """Save the first rules of all. Raises `Problem` 412 where there are some."""
        held = await self._held()
        if held is not None:
            raise stale(held.version, None)
        try:
            return await self._save(change, None, rules)
        except (RulesMoved, Overtaken) as fault:
            raise stale(fault.held, None) from fault

    async def checked(self, rules: Rules) -> Rules:
        """The same rules, if they can be kept. Raises `Problem` 422 with every fault."""
        try:
            return await asyncio.to_thread(whole, rules)
        except BadTree as fault:
            raise unkeepable(fault.faults) from fault

    async def _save(self, change: Change, before: Rules | None, after: Rules) -> Edited:
        version = 1 if before is None else before.version + 1
        if before is not None and after == before:
            change.version = before.version
            return Edited(before, "unchanged")
        rules = await self.checked(dataclasses.replace(after, version=version))
        remarks = appointed(before, rules, self._unix_s())
        old = None if before is None else to_document(before)
        change.before, change.after = difference(old, to_document(rules))
        await self._auditor.intend(change)
        try:
            await self._store.replace_rules(
                self._tree, None if before is None else before.version, version, dump(rules)
            )
        except RulesMoved:
            raise
        except (StoreSilent, StoreRefused) as fault:
            raise store_silent(str(fault)) from fault
        change.version = version
        return dataclasses.replace(await self._put_before(change, before, rules), remarks=remarks)

    async def _put_before(self, change: Change, before: Rules | None, rules: Rules) -> Edited:
        """Ask the coordinator to look. What it refuses is taken back, one version further up."""
        who = change.caller.name if change.caller else ""
        try:
            answer = await self._link.ask("rules", who)
        except Problem as fault:
            return Edited(rules, "pending", fault.detail)
        verdict, why = await asyncio.to_thread(judged, answer, rules)
        if verdict == "adopted":
            late = await not_adopted(self._link, rules, who)
            return Edited(rules, "pending" if late else "adopted", late)
        if verdict == "overtaken":
            raise Overtaken(answer.version, rules.version, why)
        if verdict == "pending" or before is None:
            return Edited(rules, "pending", why)
        back = dataclasses.replace(before, version=rules.version + 1)
        try:
            await self._store.replace_rules(self._tree, rules.version, back.version, dump(back))
        except (StoreSilent, StoreRefused) as fault:
            return Edited(rules, "pending", f"{answer.reason}; and it could not be taken back: {fault}")
        change.version = back.version
        raise Problem(
            409,
            "not-adopted",
            f"The coordinator {answer.reason}. The rules before stand again, as version {back.version}.",
            fields=[FieldFault("rules", answer.reason)],
        )

    async def _standing(self, change: Change, rules: Rules) -> Edited:
        """The edit is in these rules, which somebody else saved; whether they are in force."""
        change.version = rules.version
        try:
            answer = await self._link.ask("rules", change.caller.name if change.caller else "")
        except Problem as fault:
            return Edited(rules, "pending", fault.detail)
        verdict, why = await asyncio.to_thread(judged, answer, rules)
        return Edited(rules, "adopted" if verdict == "adopted" else "pending", why)

    async def _held(self) -> Rules | None:
        try:
            found = await self._store.load_rules(self._tree)
        except (StoreSilent, StoreRefused) as fault:
            raise store_silent(str(fault)) from fault
        if found is None:
            return None
        version, document = found
        if self._parsed is not None and self._parsed[0] == document and self._parsed[1].version == version:
            return self._parsed[1]
        try:
            rules = await asyncio.to_thread(read_text, document.decode(), f"version {version} of the store")
        except (BadTree, UnicodeDecodeError) as fault:
            raise Problem(
                503,
                "rules-unreadable",
                f"The store holds rules that cannot be read; those in force stay. {fault}"[:1000],
                retry_after_s=10.0,
            ) from fault
        self._parsed = (document, dataclasses.replace(rules, version=version))
        return self._parsed[1]


def edited(edit: Edit, before: Rules) -> Rules:
    """What an edit gives, or the problem it has."""
    try:
        return edit(before)
    except NotThere as fault:
        raise Problem(404, "not-there", f"{fault}; nothing was changed.") from fault
    except AlreadyThere as fault:
        raise Problem(409, "already-there", f"{fault}; nothing was changed.") from fault
    except Unclear as fault:
        raise Problem(409, "unclear", f"{fault}; nothing was changed.") from fault


def appointed(before: Rules | None, after: Rules, now_s: float) -> tuple[str, ...]:
    """Remarks on load targets that are new. Raises `Problem` 422 for those that ended already."""
    known = () if before is None else before.targets
    new = [target for target in after.targets if target not in known]
    if late := ended(new, now_s):
        raise unkeepable([f"targets[{each.id}].ends is {each.ends}, which is past" for each in late])
    return tuple(
        f"targets[{each.id}] begins at {each.begins}, in more than a year: is that meant?"
        for each in far_ahead(new, now_s)
    )


def stale(held: int | None, expected: int | None) -> Problem:
    """412, with the version to look at before trying again."""
    more: dict[str, Any] = {} if held is None else {"version": held}
    seen = "none" if expected is None else f"version {expected}"
    now = "there are none" if held is None else f"version {held} is held"
    return Problem(
        412,
        "stale-edit",
        f"The edit began with {seen} of the rules, and {now}: read them again. Nothing was changed.",
        **more,
    )


def unkeepable(found: list[str]) -> Problem:
    """422: the rules would not be safe, or hang together."""
    fields = [FieldFault(*_split(fault)) for fault in found[:50]]
    faults = "1 fault" if len(found) == 1 else f"{len(found)} faults"
    return not_valid(fields, f"These rules cannot be kept ({faults}); those in force stay.")


def _split(fault: str) -> tuple[str, str]:
    """A fault is told as its place and the rest."""
    place, _, rest = fault.partition(" ")
    return place.rstrip(":"), rest
