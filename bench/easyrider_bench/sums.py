"""The sum rule of all runs, by the referee's own function, every 20 ms of virtual time.

A board counts its enforced limit times its true overshoot. What is judged is what the limits allow, so nothing is
evaluated between two changes of a limit, of a hard limit or of a load that nobody limits: the state stands.
"""

from dataclasses import dataclass, field

import numpy as np

from easyrider_bench.cases import WARM_UP_S, Case
from easyrider_bench.controllers.contract import Floats
from easyrider_bench.windows import drop_windows
from easyrider_twin.referee.mixtures import TOLERANCE_W
from easyrider_twin.referee.site import Site

TICK_S = 0.02


@dataclass
class Sums:
    """The sum rule of one run. `broken_s` counts ticks of any domain over its hard limit, drop windows apart."""

    case: Case
    overshoot: Floats
    broken_s: float = 0.0
    worst_w: float = 0.0
    _over: list[tuple[int, float]] = field(default_factory=list)  # (domain, sum) of the state that stands
    _tick: int = round(WARM_UP_S / TICK_S)

    def __post_init__(self) -> None:
        site = self.case.site
        names, nodes = [d.id for d in site.domains], site.node_ids
        self._names = names
        self._boards = {
            node: [int(b) for b in (site.node_of == k).nonzero()[0]] for k, node in enumerate(nodes)
        }
        self._windows = drop_windows(self.case)
        below = [tuple(nodes[k] for k in row.nonzero()[0]) for row in site.carries]
        fixed = np.array([d.fixed_w for d in site.domains])
        self._ground = Site(
            overhead_w=dict(zip(nodes, site.overhead_w.tolist(), strict=True)),
            slope=dict(zip(nodes, site.overhead_slope.tolist(), strict=True)),
            nodes_below=dict(zip(names, below, strict=True)),
            fixed_w={name: float(fixed[site.contains[k] > 0].sum()) for k, name in enumerate(names)},
            hard_w={d.id: d.hard_limit_w for d in site.domains},
        )
        self._before_w = [
            d.hard_limit_w / max(row.max(), 1e-9) for d, row in zip(site.domains, site.carries, strict=True)
        ]

    def stand(
        self, t_s: float, enforced_w: Floats, hard_w: Floats, carries: Floats, stranger_w: Floats
    ) -> None:
        """From `t_s` on this is in force: limits (boards,), hard limits, shares and loads by domain."""
        self.until(t_s)
        counted = (enforced_w * self.overshoot).tolist()
        limits_w = {node: [counted[b] for b in boards] for node, boards in self._boards.items()}
        self._over = []
        for place, name in enumerate(self._names):
            share = float(carries[place].max())
            if share <= 0.0:
                continue
            sum_w = self._ground.sum_w(name, limits_w) + float(stranger_w[place])
            if share * sum_w > float(hard_w[place]) + TOLERANCE_W:
                self._over.append((place, sum_w))
                if t_s >= WARM_UP_S and not self._excused(place, sum_w, t_s):
                    self.worst_w = max(self.worst_w, share * sum_w - float(hard_w[place]))

    def until(self, t_s: float) -> None:
        """Count the ticks before `t_s` in which the present state stood."""
        last = max(round(t_s / TICK_S), self._tick)
        if self._over:
            ticks = range(self._tick, last)
            broken = sum(any(not self._excused(p, w, k * TICK_S) for p, w in self._over) for k in ticks)
            self.broken_s += broken * TICK_S
        self._tick = last

    def _excused(self, place: int, sum_w: float, t_s: float) -> bool:
        """Whether it fitted before a limit that has just dropped."""
        if sum_w > self._before_w[place] + TOLERANCE_W:
            return False
        return any(begin - 1e-9 <= t_s < end - 1e-9 for begin, end in self._windows.get(place, ()))
