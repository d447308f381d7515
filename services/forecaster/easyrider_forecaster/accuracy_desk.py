"""Between the ledger and the store: each running job's accuracy, every ten seconds, and kept a week after its end.

A store that is late, absent or full costs the record, never a forecast: this is a task of its own, few jobs at a time.
"""

import asyncio

from easyrider import accuracy, log, metrics
from easyrider.accuracy import AccuracyUnreadable
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider_forecaster import accuracy_gauges
from easyrider_forecaster.adapters import clocks
from easyrider_forecaster.core import accuracy_told
from easyrider_forecaster.core.engine import Engine

EVERY_S, AGAIN_S = 10.0, 5.0
KEPT_S = 7 * 86400
KEPT_AT_MOST = 20_000
SWEEP_S = 6 * 3600.0
_AT_A_TIME, _PAUSE_S = 50, 0.25
"""Records of fifty jobs take some ms, and no forecast waits longer for them; two hundred jobs a second at most."""

_kept = metrics.counter(
    "forecaster_accuracies_kept_total", "Records of a job's accuracy written to the store"
)
_forgotten = metrics.counter("forecaster_accuracies_forgotten_total", "Records of jobs that ended long ago")


class AccuracyDesk:
    """One region's ledger for one store."""

    def __init__(self, *, engine: Engine, store: StorePort, tree: str, region: str) -> None:
        self._engine, self._store, self._tree, self._region = engine, store, tree, region
        self._log = log.get("accuracy")
        self._sweep_at_s = 0.0

    async def keep(self) -> None:
        """For ever: every job's record, then the next round."""
        while True:
            begun_s = clocks.mono_ns() / 1e9
            answered = await self.round(_PAUSE_S)
            rest_s = begun_s + EVERY_S - clocks.mono_ns() / 1e9
            await asyncio.sleep(max(rest_s, 0.0) if answered else AGAIN_S)

    async def round(self, pause_s: float = 0.0) -> bool:
        """Write the record of every job that runs; False where the store is silent or refuses."""
        jobs = self._engine.running()
        accuracy_gauges.show(self._engine.ledger, jobs)
        accuracy_gauges.show_domains(self._engine.domains)
        names = [told.job for told in jobs]
        try:
            for first in range(0, len(names), _AT_A_TIME):
                await self._write(names[first : first + _AT_A_TIME])
                await asyncio.sleep(pause_s)
            if clocks.mono_ns() / 1e9 >= self._sweep_at_s:
                before_s = clocks.unix_ns() // 10**9 - KEPT_S
                _forgotten.inc(await self._store.sweep_accuracies(self._tree, before_s, KEPT_AT_MOST))
                self._sweep_at_s = clocks.mono_ns() / 1e9 + SWEEP_S
        except (StoreSilent, StoreRefused) as fault:
            log.bounded(self._log, "accuracy", 60.0).warning("accuracy is not kept", why=str(fault))
            return False
        return True

    async def _write(self, names: list[str]) -> None:
        """Those of these jobs that still run: rows are given to others between two writes."""
        jobs = self._engine.running(names)
        unix_s = clocks.unix_ns() / 1e9
        behind_s = clocks.mono_ns() / 1e9 - self._engine.closed_s
        kept = {}
        for one in accuracy_told.records(self._engine.ledger, jobs, self._region, unix_s, unix_s - behind_s):
            try:
                kept[one.id] = accuracy.encode(one)
            except AccuracyUnreadable as fault:
                log.bounded(self._log, "no record", 60.0).error(
                    "a record is none and is dropped", why=str(fault)
                )
        await self._store.save_accuracy(self._tree, int(unix_s), kept)
        _kept.inc(len(kept))
