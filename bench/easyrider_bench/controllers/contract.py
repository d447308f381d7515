"""What a controller of the hall is told and what it answers: frozen records and two protocols.

Shapes: G boards, N nodes, D domains, J jobs (rows of `Observation.jobs`), K samples since the last look. Boards,
nodes and domains keep their places for the whole run; domain 0 is the root. Watts of boards are GPU watts, watts of
domains are wall watts. Times are seconds of the run's own clock, which starts at 0 before any job. Unknown is NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contingency:
    """A planned loss and what the domain may then carry; `target_w` is what it is then meant to carry."""

    name: str
    hard_limit_w: float
    target_w: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteDomain:
    """One place of the power tree, as declared before the run. `parent` is a place in `Site.domains`."""

    id: str
    kind: Literal["ups", "pdu", "feed"]
    parent: int | None
    rating_w: float
    hard_limit_w: float
    target_w: float
    fixed_w: float = 0.0  # hangs here itself, below no other domain
    unmanaged_max_w: float = 0.0  # declared most that may be drawn here by what nobody limits
    modules: int = 0  # supply modules; limits in force shrink with those that work
    curve: tuple[tuple[float, float], ...] = ()  # (multiple of capacity, seconds)
    contingencies: tuple[Contingency, ...] = ()

    @property
    def least_target_w(self) -> float:
        """The smallest target over what is planned for."""
        return min([self.target_w, *(c.target_w for c in self.contingencies)])

    @property
    def least_hard_w(self) -> float:
        """The smallest hard limit over what is planned for."""
        return min([self.hard_limit_w, *(c.hard_limit_w for c in self.contingencies)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandTerms:
    """A demand charge: intervals of `interval_s` begin at `first_begin_s` + k x `interval_s` of the run's clock.

    `first_begin_s` may lie before 0; `begun_j` was then metered in the running interval before the run began.
    """

    interval_s: float
    first_begin_s: float
    begun_j: float
    month_peak_w: float  # highest mean so far in the month
    price_per_kw: float
    gpu_hour_price: float  # of one lost GPU-hour of work at weight 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """What a lost second of such a job weighs, and the slowdown it may be made to bear before others yield."""

    weight: float
    max_slowdown: float = 0.20


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The hall as its operator declared it; nothing here changes during a run."""

    name: str
    domains: tuple[SiteDomain, ...]
    node_ids: tuple[str, ...]
    node_of: Ints  # (G,) place of each board's node
    domain_of: Ints  # (N,) place of the PDU a node hangs below
    carries: Floats  # (D, N) share of a node's wall watts that passes each domain in normal operation
    contains: Floats  # (D, D) share of what is drawn at the column's domain itself that passes the row's
    feeds: tuple[int, int] | None  # A and B side above the root; that one alone carries all is planned for
    min_w: Floats  # (G,) lowest limit the device takes
    max_w: Floats  # (G,) highest, which is its rating and the limit in force at the beginning
    idle_w: float  # of a board without a job
    overhead_w: Floats  # (N,) declared: wall = overhead_w + overhead_slope x GPU watts
    overhead_slope: Floats  # (N,)
    overshoot_max: float  # a board may draw so many times its limit while bound
    priorities: dict[str, PriorityClass]
    command_delay_s: tuple[float, float]  # from a decision to enforced limits: each node within this span
    dead_time_s: float  # from there to the first effect on power
    settle_s: float  # and to 95 % of it
    meter_period_s: float
    meter_delay_s: float
    event_delay_s: float  # from a change of the facility to those who are told
    dead_man_s: float
    demand: DemandTerms | None = None

    @property
    def gpus(self) -> int:
        """How many boards there are."""
        return len(self.node_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job that runs now, as a scheduler shows it. A job that left and came back has a new id."""

    id: str
    type_key: str
    priority_class: str
    boards: Ints
    started_s: float


EventKind = Literal["job_started", "job_ended", "supply_changed", "node_silent", "node_back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something announced since the last look; `subject` is the id of a job, domain or node."""

    kind: EventKind
    at_s: float
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What may be known at one look. Samples are oldest first; a silent node's are NaN.

    `energy_w` are means between two refreshes of the energy counter over the counter's own time; `instant_w` looks at
    a part of the time and may alias; `average_w` is the mean of one second. All three carry the board's gain error.
    `flagged` is what boards said of themselves in the last second: a power cap slows them (NVML's event reasons).
    """

    now_s: float
    sample_s: Floats  # (K,) when each row was taken
    energy_w: Floats  # (K, G) mean of the 0.1 s before; NaN for a card without a counter
    instant_w: Floats  # (K, G)
    average_w: Floats  # (K, G)
    flagged: Bools  # (G,)
    enforced_w: Floats  # (G,) read back just now, which answers a command also where telemetry is dead
    silent_s: Floats  # (N,) since the telemetry of the node was last heard; 0 while it is
    jobs: tuple[JobRow, ...]
    events: tuple[Event, ...]
    meter_w: Floats  # (D,) newest reading: mean of its period, with gain and rounding
    meter_age_s: Floats  # (D,) since the end of the period it tells of
    meter_fresh: Bools  # (D,) whether it came since the last look
    hard_w: Floats  # (D,) limits in force, as far as announced
    target_w: Floats  # (D,)
    carries: Floats  # (D, N) as `Site.carries`, in the state of the feeds announced last
    modules_ok: Ints  # (D,)
    on_battery: Bools  # (D,)
    battery_s: Floats  # (D,) what is left at the present load; NaN without a battery


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What nobody can know, for controllers that are asked to show what it would be worth.

    Natural draw of what runs now, read ahead along the job's own program: column s is what the boards draw uncapped
    once `ahead_s[s]` more seconds of work are done, so a capped job gets there later. Starts and ends are in it.
    """

    ahead_s: Floats  # (S,) from 0 to 1.5
    natural_w: Floats  # (S, G)
    occupied: Bools  # (S, G) whether the board belongs to a job then
    peak_w: Floats  # (G,) highest natural draw of the job that runs there; idle draw without a job
    memory_bound: Bools  # (G,) which of the two curves `speed` holds for
    speed: Callable[[Floats, Bools], Floats]  # (share of natural draw, memory bound) -> speed, 1 = uncapped
    overshoot: Floats  # (G,) true draw over limit while bound
    unmanaged_w: Floats  # (S, D) of each domain itself, by time; `ahead_s` are then seconds of the clock
    wall_w: Floats  # (D,) now
    enforced_w: Floats  # (G,) now, of silent nodes too
    hard_w: Floats  # (S, D) in force by time
    target_w: Floats  # (S, D)


class Controller(Protocol):
    """One controller in one run. It keeps its own state; the hall calls it and delays what it answers."""

    def decide(self, now_s: float, seen: Observation) -> Floats | None:
        """Limits of all boards in W, (G,), clamped by the hall to each device's range; None changes nothing.

        Each node enforces its part somewhere within `Site.command_delay_s`, lowers before raises, so nodes differ for a
        moment: lowering some nodes before raising others is the controller's own business.
        """
        ...


class Clairvoyant(Protocol):
    """A controller that is handed the truth as well."""

    def decide(self, now_s: float, seen: Observation, truth: Truth) -> Floats | None:
        """As `Controller.decide`."""
        ...


Make = Callable[[Site, int], Controller | Clairvoyant]
"""(site, seed) -> a controller with the state of its first look; called in the worker process, once a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A controller of the table: how it is made, how often it looks, and what it is allowed to know."""

    name: str
    make: Make | None  # None: limits stay at the device maximum and nobody is asked
    period_s: float = 1.0  # between looks; a multiple of 0.1
    woken: bool = False  # an event also makes a look, at the next 0.1 s
    truth: bool = False  # `make` gives a `Clairvoyant`
    exact: bool = False  # runs in a hall whose cards do not overshoot and whose meters are instant
    seeds: int | None = None  # runs it for the first so many seeds alone
    levels: tuple[int, ...] = ()  # and at these oversubscriptions alone; empty: at all
    sources: tuple[str, ...] = ()  # module names whose text decides whether a finished cell is still good

    def runs(self, level: int, seed: int) -> bool:
        """Whether it is run at this oversubscription with this seed."""
        return (self.seeds is None or seed <= self.seeds) and (not self.levels or level in self.levels)
