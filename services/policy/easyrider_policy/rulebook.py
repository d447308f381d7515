"""Which rules are in force: the newest valid of this disk, the given file and the store; all three follow it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from easyrider import log
from easyrider.errors import BadConfig, BadTree
from easyrider.scopes import find
from easyrider.store_port import OlderRules, StorePort, StoreRefused, StoreSilent
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump
from easyrider_policy import promoting
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.judging import checked, judged
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
ASK_EVERY_S = 2.0
JUDGED_AGAIN = 3
"""Times that newer rules are judged in one look, where boards are heard meanwhile; then they wait for the next."""
Note = Callable[[dict[str, object]], None]
Say = Callable[[str, dict[str, object]], Awaitable[None]]


def first_rules(
    folder: RulesFolder, tree_file: Path | None, tree: str, scope: str = "local", parent: str | None = None
) -> Rules | None:
    """The rules to start with, checked and kept on this disk; None without any, then nothing is controlled.

    Raises `BadConfig` with every fault, the numbers of the sum and timing rules included.
    """
    try:
        folder.open()
    except OSError as fault:
        raise BadConfig("settings", [f"state_dir cannot be written in: {fault}"]) from fault
    try:
        kept = folder.newest()
        accepted = None if kept is None else checked(kept[1], tree, f"version {kept[0]} of the state folder")
        given = None if tree_file is None else checked(tree_file.read_bytes(), tree, str(tree_file))
        rules = given if accepted is None else accepted
        if accepted is not None and given is not None:
            rules = _newer(accepted, given)
        if rules is not None:
            check_scope(rules, scope, parent)
        if rules is not None and rules is not accepted:
            folder.keep(rules.version, dump(rules))
    except BadTree as fault:
        raise BadConfig(fault.source, fault.faults) from fault
    except OSError as fault:
        raise BadConfig("rules", [f"{fault.filename}: {fault.strerror}"]) from fault
    return rules


async def stored_rules(store: StorePort, folder: RulesFolder, tree: str) -> Rules:
    """Wait until the store holds rules that can be kept: a first start without a file of its own."""
    while True:
        rules = await _offered(store, tree, above=-1)
        if rules is not None and await _kept(folder, rules):
            return rules
        await asyncio.sleep(ASK_EVERY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of a look at the store: the version in force, and why a newer one is not."""

    version: int
    adopted: bool
    faults: tuple[str, ...]
    silent: str  # why the store said nothing; empty: it spoke
    sha256: str  # of the document in force: two documents may have one version


class Rulebook:
    """Keeps the store and this instance at the same version: the highest valid one that either has."""

    def __init__(
        self, store: StorePort, folder: RulesFolder, picture: Picture, tree: str, note: Note, say: Say
    ) -> None:
        self._store, self._folder, self._picture, self._tree = store, folder, picture, tree
        self._note, self._say = note, say
        self._refused: tuple[int, bytes] | None = None
        self._faults: list[str] = []  # of the version that was refused
        self._written: tuple[Rules, bytes] | None = None  # rules, and the document that they are
        self._same: bytes | None = (
            None  # what the store held at our version when it said the same in other words
        )
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """For ever, beside the loop."""
        while True:
            await self.once()
            await asyncio.sleep(ASK_EVERY_S)

    async def asked(self) -> Judgement:
        """Look at the store now, whatever was refused before, and say what came of it."""
        before, self._refused, self._faults = self._picture.rules.version, None, []
        silent = await self.once()
        document = await self._document()
        version = self._picture.rules.version
        return Judgement(
            version=version,
            adopted=version > before,
            faults=tuple(self._faults),
            silent=silent,
            sha256=digest(document),
        )

    async def once(self) -> str:
        """The same as `_look`, one at a time."""
        async with self._turn:
            return await self._look()

    async def _look(self) -> str:
        """Adopt newer rules of the store, or give it ours if it holds older ones or none; why it says nothing."""
        ours, document = self._picture.rules, await self._document()
        try:
            held = await self._store.load_rules(self._tree)
            if held is None or held[0] < ours.version:
                await self._store.save_rules(self._tree, ours.version, document)
                self._note(
                    {
                        "what": "rules_seeded",
                        "version": ours.version,
                        "over": None if held is None else held[0],
                    }
                )
                if held is not None:
                    _LOG.warning(
                        "the store held older rules, ours are written over them: what was saved there after it "
                        "lost ours has to be made again",
                        version=ours.version,
                        over=held[0],
                    )
                return ""
            if held[0] == ours.version:
                return (
                    ""
                    if await self._says_the_same(held[1], ours, document)
                    else await self._settle(ours, held[1])
                )
        except OlderRules:
            return ""  # somebody was faster; the next round reads theirs
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(_LOG, "rules", 30.0).warning("the store and our rules may differ", fault=str(fault))
            return str(fault)
        if held != self._refused:
            await self._adopt(*held)
        return ""

    async def _document(self) -> bytes:
        """The rules in force as they are written, made once for each; beside the loop, for they may be long."""
        while self._written is None or self._written[0] is not self._picture.rules:
            rules = self._picture.rules
            self._written = (rules, await asyncio.to_thread(dump, rules))
        return self._written[1]

    async def _says_the_same(self, held: bytes, ours: Rules, document: bytes) -> bool:
        if held in (document, self._same):
            return True
        try:
            same = await asyncio.to_thread(checked, held, self._tree, "the store") == ours
        except BadTree:
            same = False
        self._same = held if same else None
        return same

    async def _settle(self, ours: Rules, theirs: bytes) -> str:
        """The store holds another document at our version: a store that lost ours was edited on. Ours stay.

        They go up by one, so that everybody comes to hold the same; who saved the others learns it when he asks.
        Only a leader does so: a contender's rules may be those that were lost. Why it could not be done.
        """
        if self._picture.safety.lead.phase == "contending":
            return ""
        raised = replace(ours, version=ours.version + 1)
        if not await _kept(self._folder, raised):
            return f"it holds another version {ours.version}, and our disk does not take ours one up"
        await self._store.save_rules(self._tree, raised.version, await asyncio.to_thread(dump, raised))
        if self._picture.rules is ours:
            self._picture.accept(raised)
        told = {"version": ours.version, "kept_as": raised.version, "sha256_left": digest(theirs)}
        self._note({"what": "rules_conflict", **told})
        _LOG.error(
            "the store held another document at the version in force; ours stay, one version up: what was "
            "saved there is not in force and has to be made again",
            **told,
        )
        return ""

    async def _adopt(self, version: int, document: bytes) -> None:
        """Judged and kept beside the loop, put in force on it if it was judged against what is still so."""
        picture = self._picture
        for _ in range(JUDGED_AGAIN):
            if picture.rules.version >= version:
                return
            ours, boards = picture.rules, [*picture.boards.values()]
            try:
                rules = await asyncio.to_thread(judged, document, version, self._tree, picture.region, boards)
            except BadTree as fault:
                self._refuse(version, document, fault.faults)
                return
            if boards != [*picture.boards.values()]:
                continue
            # A contender follows what was adopted: what it has seen itself may be less than the leader has.
            if picture.safety.lead.phase != "contending" and (faults := promoting.faults(picture, rules)):
                self._refuse(version, document, faults)
                return
            if not await _kept(self._folder, rules):
                self._faults = ["the coordinator's disk does not take them; those in force stay"]
                return
            if picture.rules is ours:
                await self._put_in_force(rules)
                return

    def _refuse(self, version: int, document: bytes, faults: list[str]) -> None:
        self._refused, self._faults = (version, document), faults
        self._note({"what": "rules_refused", "version": version, "faults": faults})
        _LOG.error("rules of the store are refused, those in force stay", version=version, faults=faults)

    async def _put_in_force(self, rules: Rules) -> None:
        picture = self._picture
        changes, before = promoting.changes(picture, rules), picture.rules.version
        promoting.lift(picture, rules)
        picture.accept(rules)
        self._note({"what": "rules_adopted", "version": rules.version, "before": before})
        _LOG.warning("newer rules are in force", version=rules.version, before=before)
        for told in changes:
            await self._say("mode_change", told)


def check_scope(rules: Rules, scope: str, parent: str | None) -> None:
    """Raise `BadTree` where rules with regions know no such scope, or another parent of it than the settings name."""
    region = find(rules, scope)
    named = None if region is None else region.parent
    if parent is not None and parent != named:
        known = "no parent" if named is None else f"the parent {named!r}"
        raise BadTree(rules.id, [f"region {scope!r} has {known} here, the setting `parent` is {parent!r}"])


def _newer(accepted: Rules, given: Rules) -> Rules:
    if given.version > accepted.version:
        return given
    if given != accepted:
        why = "another document" if given.version == accepted.version else f"older than {accepted.version}"
        _LOG.warning(
            "the given file is not in force: raise its version",
            version=given.version,
            why=why,
            in_force=accepted.version,
        )
    return accepted


async def _offered(store: StorePort, tree: str, above: int) -> Rules | None:
    try:
        held = await store.load_rules(tree)
        if held is None or held[0] <= above:
            return None
        return await asyncio.to_thread(checked, held[1], tree, f"version {held[0]}")
    except (StoreSilent, StoreRefused, BadTree) as fault:
        log.bounded(_LOG, "rules", 30.0).warning("no rules yet", fault=str(fault))
        return None


async def _kept(folder: RulesFolder, rules: Rules) -> bool:
    try:
        await asyncio.to_thread(lambda: folder.keep(rules.version, dump(rules)))
    except OSError as fault:
        log.bounded(_LOG, "keep", 30.0).error("newer rules cannot be kept and wait", fault=str(fault))
        return False
    return True
