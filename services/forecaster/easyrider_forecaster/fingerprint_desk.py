"""Between the shelf of fingerprints and the store: read what a new job's type has, keep what runs taught.

A store that is late, absent or full costs fingerprints, never a forecast: this is a task of its own, and what could
not be read or kept waits.
"""

import asyncio

from easyrider import fingerprints, log, metrics
from easyrider.fingerprints import Fingerprint, FingerprintUnreadable
from easyrider.job_types import JobType
from easyrider.store_port import OlderFingerprint, StorePort, StoreRefused, StoreSilent
from easyrider_forecaster.adapters import clocks
from easyrider_forecaster.core.fingerprints import Shelf

LOOK_S, AGAIN_S = 1.0, 5.0
SWEEP_S = 6 * 3600.0
KEPT_AT_MOST = 1000
STALE_S = 180 * 86400.0
"""A fingerprint that no run was like for half a year is forgotten."""
_A_ROUND = 20

_kept = metrics.counter("forecaster_fingerprints_kept_total", "Fingerprints written to the store")
_read = metrics.counter("forecaster_fingerprints_read_total", "Fingerprints read for a job that began")
_unreadable = metrics.counter(
    "forecaster_fingerprints_unreadable_total", "Records in a fingerprint's place that are none"
)
_forgotten = metrics.counter(
    "forecaster_fingerprints_forgotten_total", "Fingerprints that no run was like any more"
)
_lost = metrics.gauge(
    "forecaster_fingerprints_lost", "Runs whose lesson was dropped since start: the store was away"
)
_runs = metrics.gauge(
    "forecaster_fingerprint_runs", "Running jobs by what their fingerprint is to them", ["state"]
)


class FingerprintDesk:
    """One tree's fingerprints for one shelf."""

    def __init__(self, *, shelf: Shelf, store: StorePort, tree: str) -> None:
        self._shelf, self._store, self._tree = shelf, store, tree
        self._log = log.get("fingerprints")
        self._sweep_at_s = 0.0

    async def keep(self) -> None:
        """For ever: what is wanted and what is due, some at a time."""
        while True:
            answered = await self.round()
            await asyncio.sleep(LOOK_S if answered else AGAIN_S)

    async def round(self) -> bool:
        """Read and keep what there is to; False where the store is silent or refuses."""
        try:
            for of in self._shelf.wanted()[:_A_ROUND]:
                await self._read(of)
            for one in self._shelf.memory.due(clocks.unix_ns() / 1e9)[:_A_ROUND]:
                await self._write(one)
            for one in self._shelf.memory.forgotten():
                await self._forget(one.id, one.revision)
                self._shelf.memory.gone(one)
            if clocks.mono_ns() / 1e9 >= self._sweep_at_s:
                await self._sweep()
                self._sweep_at_s = clocks.mono_ns() / 1e9 + SWEEP_S
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(self._log, "fingerprints", 60.0).warning(
                "fingerprints are neither read nor kept", why=str(fault)
            )
            return False
        finally:
            self._count()
        return True

    async def _read(self, of: JobType) -> None:
        found: list[Fingerprint] = []
        spoiled: list[tuple[str, int]] = []
        for kept_id in fingerprints.ids(of):
            held = await self._store.load_fingerprint(self._tree, kept_id)
            if held is None:
                continue
            one = self._decoded(kept_id, held[1])
            if one is None:
                spoiled.append((kept_id, held[0]))
            else:
                found.append(one)
        _read.inc(len(found))
        self._shelf.memory.take(of, found, spoiled)

    async def _write(self, one: Fingerprint) -> None:
        try:
            await self._store.save_fingerprint(self._tree, one.id, one.revision, fingerprints.encode(one))
        except OlderFingerprint as fault:
            held = await self._store.load_fingerprint(self._tree, one.id)
            newer = None if held is None else self._decoded(one.id, held[1])
            self._shelf.memory.overtaken(one, newer, fault.held)
            return
        except FingerprintUnreadable as fault:
            self._log.error("a run's lesson is no fingerprint and is dropped", why=str(fault))
            self._shelf.memory.refuse(one)
            return
        self._shelf.memory.kept(one)
        _kept.inc()

    async def _sweep(self) -> None:
        """Forget what is stale, and the oldest beyond what is kept at most."""
        kept = await self._store.load_fingerprints(self._tree)
        read = [
            (one.updated_unix_s, kept_id, revision)
            for kept_id, (revision, data) in kept.items()
            if (one := self._decoded(kept_id, data)) is not None
        ]
        stale_s = clocks.unix_ns() / 1e9 - STALE_S
        for at, (updated_s, kept_id, revision) in enumerate(sorted(read, reverse=True)):
            if at >= KEPT_AT_MOST or updated_s < stale_s:
                await self._forget(kept_id, revision)

    async def _forget(self, kept_id: str, revision: int) -> None:
        """Unless a run was like it meanwhile: then the store holds a newer one."""
        if await self._store.forget_fingerprint(self._tree, kept_id, revision):
            _forgotten.inc()

    def _decoded(self, kept_id: str, data: bytes) -> Fingerprint | None:
        try:
            return fingerprints.decode(kept_id, data)
        except FingerprintUnreadable as fault:
            _unreadable.inc()
            log.bounded(self._log, "unreadable", 60.0).warning("no fingerprint", why=str(fault))
            return None

    def _count(self) -> None:
        _lost.set(self._shelf.memory.lost)
        states = [track.state for track in self._shelf.tracks.values()]
        for state in ("waiting", "believed", "unlike"):
            _runs.labels(state).set(states.count(state))
