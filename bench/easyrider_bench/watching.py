"""What each run's controller gets to see at its looks, and nothing more."""

from collections.abc import Sequence

import numpy as np

from easyrider_bench.cases import Case
from easyrider_bench.controllers.contract import Bools, Floats, Observation
from easyrider_bench.meters import Meters
from easyrider_bench.notices import Notices
from easyrider_bench.sensors import Sensors
from easyrider_bench.supply import Supply

KEPT = 600
"""Samples kept for a controller that looks seldom: one minute."""
SLOW_LOOKS = 10
"""Boards tell what slows them every so many samples, each node on its own beat."""


class Watching:
    """Samples since each run's last look."""

    def __init__(
        self, cases: Sequence[Case], sensors: Sensors, meters: Meters, supply: Supply, notices: Notices
    ) -> None:
        self._cases, self._sensors, self._meters = cases, sensors, meters
        self._supply, self._notices = supply, notices
        self._samples: list[tuple[float, Floats, Floats, Floats]] = []
        self._taken = 0
        self._from = [0] * len(cases)
        self._seen_seq = np.zeros_like(meters.seq)
        self._dead = [(run, dead) for run, case in enumerate(cases) for dead in case.dead]
        self._boards = [case.site.node_of for case in cases]
        self._flagged = np.zeros((len(cases), cases[0].site.gpus), dtype=np.bool_)
        self._beat = cases[0].site.node_of % SLOW_LOOKS

    def sample(self, now_s: float, bound: Bools) -> None:
        """Read all boards; those that their limits hold back are `bound` (runs, boards)."""
        energy_w, instant_w, average_w = self._sensors.look(now_s)
        heard = np.broadcast_to(self._beat == self._taken % SLOW_LOOKS, bound.shape).copy()
        for run, dead in self._dead:
            if dead.begin_s <= now_s < dead.end_s:
                mine = self._boards[run] == dead.node
                for values in (energy_w, instant_w, average_w):
                    values[run, mine] = np.nan
                heard[run, mine] = False
        self._flagged = np.where(heard, bound, self._flagged)
        self._samples.append((now_s, energy_w, instant_w, average_w))
        self._taken += 1
        if len(self._samples) > 2 * KEPT:
            del self._samples[:KEPT]

    def look(self, run: int, now_s: float, enforced_w: Floats) -> Observation:
        """All that has come since this run's last look."""
        fresh = min(self._taken - self._from[run], len(self._samples))
        self._from[run] = self._taken
        samples = self._samples[len(self._samples) - fresh :]
        events = tuple(self._notices.news[run])
        self._notices.news[run].clear()
        meters, told = self._meters, self._supply.told
        count = len(self._cases[run].site.domains)
        seq = meters.seq[run, :count].copy()
        fresh_meters = seq > self._seen_seq[run, :count]
        self._seen_seq[run, :count] = seq
        return Observation(
            now_s=now_s,
            sample_s=np.array([each[0] for each in samples]),
            energy_w=np.array([each[1][run] for each in samples]),
            instant_w=np.array([each[2][run] for each in samples]),
            average_w=np.array([each[3][run] for each in samples]),
            flagged=self._flagged[run].copy(),
            enforced_w=enforced_w.copy(),
            silent_s=self._silent_s(run, now_s),
            jobs=tuple(self._notices.jobs[run].values()),
            events=events,
            meter_w=meters.power_w[run, :count].copy(),
            meter_age_s=now_s - meters.end_s[run, :count],
            meter_fresh=fresh_meters,
            hard_w=told.hard_w[run, :count].copy(),
            target_w=told.target_w[run, :count].copy(),
            carries=told.carries[run, :count].copy(),
            modules_ok=self._modules_ok(run),
            on_battery=told.on_battery[run, :count].copy(),
            battery_s=self._supply.battery_s(run)[:count],
        )

    def _silent_s(self, run: int, now_s: float) -> Floats:
        silent_s = np.zeros(len(self._cases[run].site.node_ids))
        for of, dead in self._dead:
            if of == run and dead.begin_s <= now_s < dead.end_s:
                silent_s[dead.node] = now_s - dead.begin_s
        return silent_s

    def _modules_ok(self, run: int) -> np.ndarray:
        domains = self._cases[run].site.domains
        lost = self._supply.told.lost_modules[run, : len(domains)]
        return (np.array([d.modules for d in domains]) - lost).astype(np.intp)
