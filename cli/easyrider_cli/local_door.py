"""Bus and store of the stack on this machine as a door, for a stack without an API, by the API's own key."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from easyrider import log, store_acl
from easyrider.admin_store import AdminStore, RulesMoved
from easyrider.bus import Bus, BusDown
from easyrider.bus_port import BusRefused
from easyrider.bus_port import NoAnswer as Unanswered
from easyrider.errors import BadTree
from easyrider.messages import Answer, Ask
from easyrider.messages.asks import REFUSED, Question
from easyrider.moments import rfc_3339
from easyrider.nats_config import seed_file
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.tree import HoldRule, Rules
from easyrider.tree_reader import dump, read
from easyrider_cli import address
from easyrider_cli.doors import Done, NoAnswer, Refused, Scope
from easyrider_cli.rundir import RunFolder
from easyrider_policy_api.core import edits, releasing

USER = "api"
_CONNECT_S, _ANSWER_S = 5.0, 2.0
_TURNS = 5
"""Tries of an edit while others edit too."""


class LocalDoor:
    """One stack, its connections open. Made by `opened`."""

    def __init__(
        self, runner: asyncio.Runner, bus: Bus, store: AdminStore, place: address.Address, who: str
    ) -> None:
        self._runner, self._bus, self._store, self._place, self._who = runner, bus, store, place, who

    def rules(self) -> Rules:
        """See `Door`."""
        return self._runner.run(self._rules())

    def state(self) -> dict[str, Any]:
        """See `Door`."""
        answer = self._runner.run(self._ask("state"))
        if not answer.ok:
            raise Refused(answer.reason)
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def hold(self, hold: HoldRule) -> Done:
        """See `Door`."""
        return self._edited(lambda rules: edits.with_hold(rules, hold))

    def clear(self, hold_id: str) -> Done:
        """See `Door`."""
        return self._edited(lambda rules: edits.without_hold(rules, hold_id))

    def release(self, scope: Scope, reason: str) -> Done:
        """See `Door`."""
        since = rfc_3339(time.time())
        return self._edited(lambda rules: releasing.released(rules, scope, reason, since))

    def _edited(self, edit: Callable[[Rules], Rules]) -> Done:
        try:
            return self._runner.run(self._edit(edit))
        except (edits.NotThere, edits.AlreadyThere, releasing.Unclear, BadTree) as fault:
            raise Refused(str(fault)) from fault

    async def _edit(self, edit: Callable[[Rules], Rules]) -> Done:
        for turn in range(_TURNS):
            before = await self._rules()
            after = dataclasses.replace(edit(before), version=before.version + 1)
            document = dump(after)
            read(document.decode(), "the edit")  # with every fault, before anybody has to refuse it
            try:
                await self._replace(before.version, after.version, document)
            except RulesMoved:
                if turn == _TURNS - 1:
                    raise
                continue
            return await self._put_before(before, after)
        raise AssertionError("not reached")

    async def _put_before(self, before: Rules, after: Rules) -> Done:
        """Ask the leader to look; what it refuses is taken back."""
        try:
            answer = await self._ask("rules")
        except NoAnswer as fault:
            return Done(version=after.version, in_force=False, why=fault.why)
        if answer.ok and answer.version >= after.version:
            return Done(version=answer.version, in_force=True)
        if not answer.reason.startswith(REFUSED):
            why = answer.reason or f"version {answer.version} is in force"
            return Done(version=after.version, in_force=False, why=why)
        back = dataclasses.replace(before, version=after.version + 1)
        await self._replace(after.version, back.version, dump(back))
        raise Refused(f"{answer.reason}; the rules before stand again, as version {back.version}")

    async def _rules(self) -> Rules:
        try:
            held = await self._store.load_rules(self._place.tree)
        except (StoreSilent, StoreRefused) as fault:
            raise NoAnswer("the store", str(fault)) from fault
        if held is None:
            raise Refused("the store holds no rules yet; is a coordinator up?")
        return dataclasses.replace(read(held[1].decode(), "the rules of the store"), version=held[0])

    async def _replace(self, held: int, version: int, document: bytes) -> None:
        try:
            await self._store.replace_rules(self._place.tree, held, version, document)
        except StoreSilent as fault:
            raise NoAnswer("the store", str(fault)) from fault

    async def _ask(self, what: Question) -> Answer:
        ask = Ask(tree=self._place.tree, region=self._place.region, what=what, who=self._who)
        try:
            return await self._bus.ask(self._place.region, ask, _ANSWER_S)
        except (Unanswered, BusDown) as fault:
            raise NoAnswer("the coordinator", fault.why) from fault


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
            yield LocalDoor(runner, bus, store, place, who)
        finally:
            runner.run(stack.aclose())
