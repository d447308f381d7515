"""Which rules are in force: the newest valid of this disk, the given file and the store; all three follow it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from easyrider import log
from easyrider.errors import BadTree
from easyrider.store_port import OlderRules, StorePort, StoreRefused, StoreSilent
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump
from easyrider_policy import promoting
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.judging import checked, judged
from easyrider_policy.picture import Picture
from easyrider_policy.rules_at_start import ASK_EVERY_S, kept

_LOG = log.get("policy")
JUDGED_AGAIN = 3
"""Times that newer rules are judged in one look, where boards are heard meanwhile; then they wait for the next."""
Note = Callable[[dict[str, object]], None]
Say = Callable[[str, dict[str, object]], Awaitable[None]]


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
        self,
        store: StorePort,
        folder: RulesFolder,
        picture: Picture,
        tree: str,
        note: Note,
        say: Say,
        led: Callable[[], int | None],
    ) -> None:
        self._store, self._folder, self._picture, self._tree = store, folder, picture, tree
        self._note, self._say, self._led = note, say, led  # the version of a leader that lives elsewhere
        self._refused: tuple[int, bytes] | None = None
        self._waiting: tuple[int, bytes] | None = None  # for a leader: they may raise a mode
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
        if held != self._refused and not (held == self._waiting and self._waits(held[0])):
            await self._adopt(*held)
        return ""

    async def _document(self) -> bytes:
        """The rules in force as they are written, made once for each; beside the loop, for they may be long."""
        while self._written is None or self._written[0] is not self._picture.rules:
            rules = self._picture.rules
            self._written = (rules, await asyncio.to_thread(dump, rules))
            self._picture.documented(rules, await asyncio.to_thread(digest, self._written[1]))
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
        if self._contends():
            return ""
        raised = replace(ours, version=ours.version + 1)
        if not await kept(self._folder, raised):
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
            # A contender follows what a live leader judged: what it has seen itself may be less. Nobody has
            # judged what was saved while nobody led: that waits, though its own book might let it pass.
            if self._contends():
                if self._waits(version) and promoting.may_raise(picture, rules):
                    self._wait(version, document)
                    return
            elif faults := promoting.faults(picture, rules):
                self._refuse(version, document, faults)
                return
            if not await kept(self._folder, rules):
                self._faults = ["the coordinator's disk does not take them; those in force stay"]
                return
            if picture.rules is ours:
                await self._put_in_force(rules)
                return

    def _contends(self) -> bool:
        return self._picture.safety.lead.phase == "contending"

    def _waits(self, version: int) -> bool:
        """Whether nobody has judged these rules, and it is not on us yet."""
        return self._contends() and self._led() != version

    def _wait(self, version: int, document: bytes) -> None:
        self._faults = ["they may raise a mode, and wait until a coordinator that leads has judged them"]
        if self._waiting == (version, document):
            return
        self._waiting = (version, document)
        self._note({"what": "rules_wait", "version": version})
        _LOG.warning(
            "newer rules may raise a mode: they wait until whoever leads has them in force, or this instance leads",
            version=version,
        )

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
