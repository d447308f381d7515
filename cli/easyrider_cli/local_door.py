"""Bus and store of the stack on this machine as a door, for a stack without an API, by the API's own key."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from easyrider import log, store_acl
from easyrider.admin_store import AdminStore, AdminStorePort, RulesMoved
from easyrider.bus import Bus, BusDown
from easyrider.bus_port import BusPort, BusRefused
from easyrider.bus_port import NoAnswer as Unanswered
from easyrider.errors import BadTree
from easyrider.messages import Answer, Ask
from easyrider.messages.asks import Question
from easyrider.moments import rfc_3339
from easyrider.nats_config import seed_file
from easyrider.scopes import line_of, owner_of
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.tree import HoldRule, Rules
from easyrider.tree_reader import dump, read
from easyrider_cli import address
from easyrider_cli.doors import Done, Freed, Kind, NoAnswer, Refused, Scope
from easyrider_cli.local_audit import LocalAudit
from easyrider_cli.rundir import RunFolder
from easyrider_policy_api.core import edits, releasing
from easyrider_policy_api.core.adoption import TURNS, Edit, Overtaken, judged, whole, within

USER = "api"
_CONNECT_S, _ANSWER_S = 5.0, 2.0
_EXPLAIN: dict[Kind, Question] = {"gpu": "explain_gpu", "job": "explain_job", "domain": "explain_domain"}


class LocalDoor:
    """One stack, its connections open. Made by `opened`."""

    def __init__(
        self,
        runner: asyncio.Runner,
        bus: BusPort,
        store: AdminStorePort,
        place: address.Address,
        who: str,
        audit: LocalAudit,
    ) -> None:
        self._runner, self._bus, self._store, self._place, self._who = runner, bus, store, place, who
        self._audit = audit

    def rules(self) -> Rules:
        """See `Door`."""
        return self._runner.run(self._rules())

    def state(self, region: str = "") -> dict[str, Any]:
        """See `Door`."""
        return self._read("state", "", region)

    def _read(self, what: Question, name: str = "", region: str = "") -> dict[str, Any]:
        answer = self._runner.run(self._ask(what, name, region))
        if not answer.ok:
            raise Refused(answer.reason)
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def explain(self, kind: Kind, name: str) -> dict[str, Any]:
        """See `Door`. Of what a region below has, that region is asked."""
        what = _EXPLAIN[kind]
        try:
            found = self._read(what, name)
        except Refused as fault:
            return self._explained_below(what, name, fault)
        while governed_by := found.get("governed_by"):
            found = self._read(what, name, governed_by) | {"region": governed_by}
        return found

    def _explained_below(self, what: Question, name: str, fault: Refused) -> dict[str, Any]:
        for region in line_of(self.rules(), self._place.region)[1:]:
            try:
                return self._read(what, name, region) | {"region": region}
            except Refused:
                continue
        raise fault

    def trust(self) -> dict[str, Any]:
        """See `Door`."""
        return self._read("trust")

    def hold(self, hold: HoldRule) -> Done:
        """See `Door`."""
        return self._edited(lambda rules: edits.with_hold(rules, hold), f"hold {hold.id}")

    def clear(self, hold_id: str) -> Done:
        """See `Door`."""
        return self._edited(lambda rules: edits.without_hold(rules, hold_id), f"clear {hold_id}")

    def free(self, kind: Freed, name: str) -> float | None:
        """See `Door`."""
        rules = self.rules()
        known = rules.nodes if kind == "node" else rules.regions
        if name not in {row.id for row in known}:
            raise Refused(f"the rules name no {kind} {name!r}")
        if kind == "node":
            told = self._read("free", name, owner_of(rules, name, self._place.region))
        else:
            told = self._read(
                "free_region", name, next(r.parent or "" for r in rules.regions if r.id == name)
            )
        freed_w: float | None = told.get("freed_w")
        return freed_w

    def release(self, scope: Scope, reason: str, override: str = "") -> Done:
        """See `Door`. Whoever asks has foretold it, or answers for it."""
        since = rfc_3339(time.time())
        act = f"release {edits.told(scope)}" + (f", not foretold: {override}" if override else "")
        return self._edited(lambda rules: releasing.released(rules, scope, reason, since), act)

    def _edited(self, edit: Edit, act: str = "edit") -> Done:
        try:
            return self._runner.run(self._edit(edit, act))
        except BadTree as fault:
            raise Refused("; ".join(fault.faults)) from fault
        except (edits.NotThere, edits.AlreadyThere, releasing.Unclear) as fault:
            raise Refused(str(fault)) from fault

    async def _edit(self, edit: Edit, act: str) -> Done:
        overtaken = False
        for _ in range(TURNS):
            before = await self._rules()
            if overtaken and within(edit, before):
                return await self._standing(before)
            after = whole(dataclasses.replace(edit(before), version=before.version + 1))
            self._audit.intend(act, before, after)
            try:
                done = await self._saved(before, after)
            except (RulesMoved, Overtaken) as fault:
                self._audit.finish("refused", why=str(fault))
                overtaken = isinstance(fault, Overtaken)
                continue
            except Refused as fault:
                self._audit.finish("refused", why=fault.why)
                raise
            except NoAnswer as fault:
                self._audit.finish("unknown", why=str(fault))
                raise
            self._audit.finish("done", done.version, done.why)
            return done
        raise Refused(f"others edited the rules {TURNS} times meanwhile; try again")

    async def _saved(self, before: Rules, after: Rules) -> Done:
        """Save it and ask the leader to look; what it refuses is taken back. Raises `RulesMoved`, `Overtaken`."""
        await self._replace(before.version, after)
        try:
            answer = await self._ask("rules")
        except NoAnswer as fault:
            return Done(version=after.version, in_force=False, why=fault.why)
        verdict, why = judged(answer, after)
        if verdict == "adopted":
            late = [why for why in [await self._late(region, after) for region in self._below(after)] if why]
            return Done(version=after.version, in_force=not late, why="; ".join(late))
        if verdict == "overtaken":
            raise Overtaken(answer.version, after.version, why)
        if verdict == "pending":
            return Done(version=after.version, in_force=False, why=why)
        back = dataclasses.replace(before, version=after.version + 1)
        try:
            await self._replace(after.version, back)
        except (RulesMoved, NoAnswer) as fault:
            left = f"{why}; and it could not be taken back: {fault}"
            return Done(version=after.version, in_force=False, why=left)
        raise Refused(f"{why}; the rules before stand again, as version {back.version}")

    def _below(self, rules: Rules) -> tuple[str, ...]:
        return line_of(rules, self._place.region)[1:]

    async def _late(self, region: str, rules: Rules) -> str:
        """Why these rules are not in force in a region; empty: they are."""
        try:
            verdict, why = judged(await self._ask("rules", "", region), rules)
        except NoAnswer as fault:
            return f"region {region}: {fault.why}"
        return "" if verdict == "adopted" else f"region {region}: {why or verdict}"

    async def _standing(self, rules: Rules) -> Done:
        """The edit is in these rules, which somebody else saved; whether they are in force."""
        try:
            verdict, why = judged(await self._ask("rules"), rules)
        except NoAnswer as fault:
            verdict, why = "pending", fault.why
        return Done(version=rules.version, in_force=verdict == "adopted", why=why)

    async def _rules(self) -> Rules:
        try:
            held = await self._store.load_rules(self._place.tree)
        except (StoreSilent, StoreRefused) as fault:
            raise NoAnswer("the store", str(fault)) from fault
        if held is None:
            raise Refused("the store holds no rules yet; is a coordinator up?")
        return dataclasses.replace(read(held[1].decode(), "the rules of the store"), version=held[0])

    async def _replace(self, held: int, rules: Rules) -> None:
        try:
            await self._store.replace_rules(self._place.tree, held, rules.version, dump(rules))
        except RulesMoved:
            raise
        except (StoreSilent, StoreRefused) as fault:
            raise NoAnswer("the store", str(fault)) from fault

    async def _ask(self, what: Question, name: str = "", region: str = "") -> Answer:
        at = region or self._place.region
        ask = Ask(tree=self._place.tree, region=at, what=what, name=name, who=self._who)
        try:
            return await self._bus.ask(at, ask, _ANSWER_S)
        except (Unanswered, BusDown) as fault:
            place = f"the coordinator of region {region}" if region else "the coordinator"
            raise NoAnswer(place, fault.why) from fault


@contextmanager
def opened(run: Path, who: str) -> Iterator[LocalDoor]:
    """The stack in this run folder. Raises `NoStack`, `NoAnswer`."""
    log.configure("easyrider", level="error", form="console")
    place, keys = address.read(run), RunFolder(run).state("keys")
    guarded = place.watcher_seed is not None
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def enter() -> tuple[Bus, AdminStore]:
            bus = await stack.enter_async_context(
                Bus.connect(
                    place.nats_url,
                    name=USER,
                    seed_file=seed_file(keys, USER) if guarded else None,
                    wait_s=_CONNECT_S,
                )
            )
            login = store_acl.login(keys, USER) if guarded else None
            return bus, await stack.enter_async_context(AdminStore.connect(place.redis_url, login=login))

        try:
            bus, store = runner.run(enter())
        except (BusDown, BusRefused) as fault:
            raise NoAnswer("the bus", fault.why) from fault
        try:
            yield LocalDoor(
                runner, bus, store, place, who, LocalAudit(RunFolder(run).state("local-door"), who)
            )
        finally:
            runner.run(stack.aclose())
