"""A world of a few lines for the planner: jobs that compute and wait, boards that obey limits at once.

No twin, no bus. Two PDUs below one UPS, two nodes of eight boards on each.
"""

from dataclasses import dataclass, field

import numpy as np

from easyrider.tree import Domain, Node, NodeClass, Pacing, Rules
from easyrider_policy.core import curves
from easyrider_policy.core.fleet import Board, Fleet, build
from easyrider_policy.core.layout import Job, layout
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.plan import plan
from easyrider_policy.core.records import Decision, Memory, Situation, start
from easyrider_policy.core.walls import Walls

MIN_W, MAX_W, IDLE_W = 200.0, 700.0, 75.0
OVERHEAD_W, SLOPE = 1600.0, 1.23
UPS, PDU_A, PDU_B = 0, 1, 2


def site(
    ups_w=36_000.0, pdu_w=22_000.0, target_share=0.8, hard_is_target=(), window_s=10.0, ramps=None
) -> Fleet:
    """Four nodes of eight boards. Ratings in wall watts; `hard_is_target`: domains of one limit; `ramps`: W/s."""

    def domain(name, kind, rating_w, parent=None):
        aim_w = target_share * rating_w
        hard_w = aim_w if name in hard_is_target else rating_w
        return Domain(
            id=name, kind=kind, parent=parent, rating_w=rating_w, hard_limit_w=hard_w, target_w=aim_w,
            target_window_s=window_s, ramp_w_per_s=(ramps or {}).get(name),
        )  # fmt: skip

    domains = (
        domain("ups", "ups", ups_w),
        domain("pdu-a", "pdu", pdu_w, "ups"),
        domain("pdu-b", "pdu", pdu_w, "ups"),
    )
    nodes = tuple(
        Node(id=f"n{i}", domain="pdu-a" if i < 2 else "pdu-b", node_class="box", fallback_w_per_gpu=MIN_W)
        for i in range(4)
    )
    rules = Rules(
        id="small",
        version=1,
        domains=domains,
        classes={"box": NodeClass(overhead_w=OVERHEAD_W, overhead_slope=SLOPE)},
        nodes=nodes,
    )
    boards = [
        Board(uuid=f"n{i}g{g}", node=f"n{i}", min_w=MIN_W, max_w=MAX_W) for i in range(4) for g in range(8)
    ]
    return build(rules, boards)


@dataclass
class Load:
    """What a job does when nobody limits it."""

    job: Job
    peak_w: float
    busy: float = 1.0
    period_s: float = 3.0
    low_w: float = 240.0
    paused: bool = False  # waits for a disk: draws 155 W
    at_s: float = 0.0
    worked_s: float = 0.0


def load(name, gpus, peak_w=600.0, **kw) -> Load:
    """A job on rows `gpus`; what `Load` knows goes there, the rest to `Job`."""
    own = {k: kw.pop(k) for k in ("busy", "period_s", "low_w", "paused") if k in kw}
    job = Job(**{"id": name, "gpus": tuple(gpus), "mode": "enforce", **kw})
    return Load(job=job, peak_w=peak_w, **own)


@dataclass
class World:
    """Boards, their limits, and the planner's beliefs about them; `second` moves all of it by one second."""

    fleet: Fleet
    loads: list[Load]
    limit_w: np.ndarray = None
    overshoot: np.ndarray = None
    gain: np.ndarray = None
    noise_w: float = 0.0
    meters: bool = False
    confidence: float | None = 1.0
    pacing: Pacing = field(default_factory=Pacing)
    now_s: float = 0.0
    share: np.ndarray = None
    unmanaged_w: np.ndarray = None
    silent: np.ndarray = None
    moves: int = 0
    decision: Decision | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    memory: Memory = None
    closed: np.ndarray = None
    pilot_floor_w: float | None = None
    ahead_w: np.ndarray = None

    def __post_init__(self):
        boards, domains = len(self.fleet.gpus), len(self.fleet.domains)
        self.limit_w = np.full(boards, MAX_W) if self.limit_w is None else self.limit_w
        self.overshoot = np.ones(boards) if self.overshoot is None else self.overshoot
        self.gain = np.ones(boards) if self.gain is None else self.gain
        self.share = np.ones(domains)
        self.unmanaged_w = np.zeros(domains)
        self.silent = np.zeros(boards, dtype=bool)
        self.walls = Walls(self.fleet)
        self.memory = start(self.fleet, self.now_s)
        self.placed = layout(self.fleet, [load.job for load in self.loads])
        self.observation = Observation(self.placed)

    def jobs_changed(self):
        """The planner hears of a start or a stop."""
        self.placed = layout(self.fleet, [load.job for load in self.loads])
        self.observation = self.observation.carried(self.placed)

    def columns(self) -> np.ndarray:
        """True watts per board in ten steps of 100 ms; the jobs get on by what their limits allow."""
        true_w = np.full((10, len(self.fleet.gpus)), IDLE_W)
        for load in self.loads:
            rows = list(load.job.gpus)
            cap_w = float((self.limit_w[rows]).min())
            held = min(1.0, cap_w / load.peak_w)
            slow = float(curves.speed(np.array([held]), np.array([32]))[0])
            for k in range(10):
                if load.paused:
                    true_w[k, rows] = 155.0
                    continue
                computing = (load.at_s / load.period_s) % 1.0 < load.busy
                wish_w = load.peak_w if computing else load.low_w
                true_w[k, rows] = np.minimum(wish_w, self.limit_w[rows] * self.overshoot[rows])
                step = 0.1 * (slow if computing else 1.0)
                load.at_s += step
                load.worked_s += step
        return true_w

    def second(self) -> Decision:
        """One second of the world, then one plan, whose limits are obeyed at once."""
        self.now_s += 1.0
        true_w = self.columns()
        seen_w = true_w * self.gain + self.rng.normal(0.0, 1.0, true_w.shape) * self.noise_w
        self.wall_w = self.fleet.fixed_w + self.fleet.wall_w(true_w.mean(axis=0)) + self.unmanaged_w
        self.peak_wall_w = self.fleet.fixed_w + self.fleet.wall_w(true_w.max(axis=0)) + self.unmanaged_w
        self.woken = self.observation.add(self.now_s, seen_w, self.limit_w)
        self.walls.add(self.observation.believed_w(seen_w))
        if self.meters:
            self.walls.meters(self.wall_w, 1.0)
        return self.plan()

    def plan(self) -> Decision:
        """A plan now, and its limits."""
        zero = np.zeros(len(self.fleet.domains))
        self.decision = plan(
            self.observation,
            self.walls,
            Situation(
                now_s=self.now_s,
                limit_w=self.limit_w,
                steered=~self.silent,
                counted_w=self.limit_w,
                hard_w=self.fleet.hard_w * self.share,
                target_w=self.fleet.aim_w * self.share,
                unmanaged_hard_w=zero if self.meters else self.unmanaged_w,
                unmanaged_target_w=zero if self.meters else self.unmanaged_w,
                confidence=self.confidence,
                closed=self.closed,
                pilot_floor_w=self.pilot_floor_w,
                ahead_w=self.ahead_w,
            ),
            self.memory,
            self.pacing,
        )
        self.memory = self.decision.memory
        wanted = self.decision.wanted_w
        written = np.isfinite(wanted)
        self.moves += int(np.sum(np.abs(wanted[written] - self.limit_w[written]) > 0.5))
        self.limit_w = np.where(written, wanted, self.limit_w)
        return self.decision

    def run(self, seconds: int) -> Decision:
        """Several seconds; the last decision."""
        for _ in range(seconds):
            self.second()
        return self.decision

    def could_w(self) -> np.ndarray:
        """Wall watts (D,) if every board drew its limit."""
        return self.fleet.worst_fixed_w + self.fleet.worst_wall_w(self.limit_w) + self.unmanaged_w

    def reason(self, name: str) -> str:
        """Why a job's limit is what it is."""
        return self.decision.reasons[[job.id for job in self.placed.jobs].index(name)]

    def limit(self, name: str) -> float:
        """W per board of a job."""
        return float(self.decision.job_limit_w[[job.id for job in self.placed.jobs].index(name)])
