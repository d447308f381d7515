"""What goes into a plan and what comes out of it, as arrays over boards (G,), jobs (J,) and domains (D,)."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from easyrider_policy.core.fleet import Fleet
from easyrider_policy.core.layout import Layout
from easyrider_policy.core.situation import Situation as Situation
from easyrider_policy.core.solution import Solution
from easyrider_policy.core.weights import Loads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LONG_AGO: Final = -1e9


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Memory:
    """What one plan must know of the plans before it; handed in and handed out, never changed."""

    last_s: float
    limit_w: Floats  # (G,) as held at the last plan
    changed_s: Floats  # (G,) when a limit last moved
    lowered_s: Floats  # (G,) when it last fell
    penalty_w: Floats  # (D,) taken off targets by emergencies
    alarm_for_s: Floats  # (D,) how long an alarm has lasted unanswered
    acted_ago_s: Floats  # (D,) since a penalty rose or the target fell
    eased_w: (
        Floats  # (D,) targets that were planned by: they come back slowly; infinite before the first plan
    )
    spare_w: Floats  # (D,) what ramps allow to open at once; infinite where there is none
    target_w: Floats | None = None  # (D,) at the last plan
    reactive: bool = True
    doubt_s: float = 0.0  # how long the confidence has spoken against the present `reactive`
    solution: Solution | None = None  # stands while the question stays the same; else its prices are a start
    loads: Loads | None = None
    loads_layout: Layout | None = None
    loads_steered: Bools | None = None
    loads_version: int = -1

    def carried(self, old: Fleet, new: Fleet) -> "Memory":
        """The same for another fleet: what is known of boards and domains that are still there."""
        fresh = start(new, self.last_s)
        boards = np.array([old.gpu_index.get(uuid, -1) for uuid in new.gpus], dtype=np.int64)
        places = np.array([old.domain_index.get(domain, -1) for domain in new.domains], dtype=np.int64)
        for names, before in (
            (("limit_w", "changed_s", "lowered_s"), boards),
            (("penalty_w", "alarm_for_s", "acted_ago_s", "eased_w"), places),
        ):
            for name in names:
                getattr(fresh, name)[before >= 0] = getattr(self, name)[before[before >= 0]]
        return replace(fresh, reactive=self.reactive, doubt_s=self.doubt_s)


def start(fleet: Fleet, now_s: float) -> Memory:
    """The memory of a planner that has planned nothing yet."""
    boards, domains = len(fleet.gpus), len(fleet.domains)
    return Memory(
        last_s=now_s,
        limit_w=np.full(boards, np.nan),
        changed_s=np.full(boards, LONG_AGO),
        lowered_s=np.full(boards, LONG_AGO),
        penalty_w=np.zeros(domains),
        alarm_for_s=np.zeros(domains),
        acted_ago_s=np.zeros(domains),
        eased_w=np.full(domains, np.inf),
        spare_w=np.where(np.isfinite(fleet.ramp_w_per_s), 0.0, np.inf),
    )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Decision:
    """Every limit with its reason. `wanted_w` is NaN for boards that are not ours to write."""

    wanted_w: Floats  # (G,)
    job_limit_w: Floats  # (J,) per board
    best_w: Floats  # (J,) the limit without pacing
    demand_w: Floats  # (J,) per board, as if uncapped
    slowdown: Floats  # (J,) expected, 0-1
    stalled: Bools  # (J,)
    reasons: tuple[str, ...]  # (J,)
    budget_w: Floats  # (D,) board watts that jobs may draw
    observed_w: Floats  # (D,) wall watts now, from boards and the learned offset
    price: Floats  # (D,) weighted boards' worth of speed that one more wall watt buys
    missing_w: Floats  # (D,) above 0: infeasible by so much
    reckoned_w: Floats  # (D,) wall watts that boards are expected to bring, as a mean
    alarm: Bools  # (D,) an emergency now
    reactive: bool
    gap: float  # certified share of the lost work between this and the optimum
    memory: Memory
