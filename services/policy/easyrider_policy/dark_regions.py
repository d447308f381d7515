"""Regions that an operator answers for, kept in the store: taken up by whoever leads, gone when one is heard again."""

import asyncio
from collections.abc import Callable

import msgspec

from easyrider import log
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_policy.core.dark_regions import Record, record_of, why_not
from easyrider_policy.core.lending import Lending
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
FIELD = "dark_regions"
LOOK_S = 0.5
Note = Callable[[dict[str, object]], None]


class DarkRegions:
    """Runs beside the loop, which never waits for the store. `now_s` is monotonic, `note` journals a line."""

    def __init__(
        self, store: StorePort, picture: Picture, tree: str, note: Note, now_s: Callable[[], float]
    ) -> None:
        self._store, self._picture, self._tree = store, picture, tree
        self._note, self._now_s = note, now_s
        self._lending.records.kept = True
        self._turn = asyncio.Lock()  # a word and a look do not write over each other

    async def run(self) -> None:
        """For ever."""
        while True:
            await self.once()
            await asyncio.sleep(LOOK_S)

    async def once(self) -> None:
        """Take up what the leader before knew, write it anew, and have gone what was heard again."""
        async with self._turn:
            lending = self._lending
            if not self._leads(lending):
                return
            try:
                if not lending.records.read:
                    await self._take_up(lending)
                wanted = lending.records.wanted(lending.accounts, lending.epoch)
                if wanted != lending.records.held:
                    await self._keep(lending, wanted)
            except (StoreSilent, StoreRefused) as fault:
                log.bounded(_LOG, "dark regions", 10.0).warning(
                    "the store does not tell which regions were released: none of those rises",
                    fault=str(fault),
                )

    async def release(self, name: str, who: str) -> float | str:
        """Watts that are let go of, or why none are. Nothing is let go of before the store holds it."""
        async with self._turn:
            lending, now_s = self._lending, self._now_s()
            account = lending.accounts.get(name)
            runs_s = 0.0 if account is None else lending.lease_s + lending.wait_s(account.borrower)
            why = why_not(account, name, lending.taken_s, runs_s, now_s)
            if why is None and not lending.records.read:
                why = "the store has not told yet which regions were released before: ask again"
            if why is not None or account is None:
                return why or ""
            heard_s, before_w = account.heard_s, lending.counted_w(now_s)[name]
            wanted = lending.records.wanted(lending.accounts, lending.epoch)
            try:
                await self._keep(lending, wanted | {name: record_of(account, lending.epoch, who)})
            except (StoreSilent, StoreRefused) as fault:
                return f"the store did not keep it, so nothing was released: {fault}"
            if self._lending is not lending or not self._leads(lending) or account.heard_s != heard_s:
                return f"{name} was heard, or the lead or the rules moved, meanwhile: nothing was released"
            account.dark = True
            freed_w = max(0.0, before_w - lending.counted_w(self._now_s())[name])
        self._note({"what": "region_freed", "region": name, "counted_w": round(before_w, 1), "who": who})
        _LOG.warning(
            "an operator answers for a region that will not return: it counts its guaranteed share until it is heard",
            region=name,
            counted_w=round(before_w, 1),
            who=who,
        )
        return freed_w

    @property
    def _lending(self) -> Lending:
        return self._picture.regions.lending

    def _leads(self, lending: Lending) -> bool:
        safety = self._picture.safety
        return safety.may_publish(self._now_s()) and lending.epoch == safety.lead.epoch

    async def _take_up(self, lending: Lending) -> None:
        epoch = lending.epoch
        fields = await self._store.load_state(self._tree, self._picture.region)
        found = _records(fields.get(FIELD))
        if lending.epoch == epoch:
            lending.records.take_up(found, lending.accounts, epoch)

    async def _keep(self, lending: Lending, wanted: dict[str, Record]) -> None:
        records, epoch = lending.records, lending.epoch
        # Both may be there until the store has answered.
        records.held = records.held | wanted
        await self._store.save_state(self._tree, self._picture.region, {FIELD: msgspec.json.encode(wanted)})
        if lending.epoch == epoch:
            records.held = wanted


def _records(body: bytes | None) -> dict[str, Record]:
    if body is None:
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Record])
    except msgspec.DecodeError as fault:
        _LOG.error(
            "what the store holds of released regions cannot be read: none is taken up", fault=str(fault)
        )
        return {}
