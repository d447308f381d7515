"""Tree and rules: one versioned document that says what may be drawn where, and how it is shared.

JSON in the store, YAML at the edges. `easyrider.tree_reader` reads it and names every fault at once.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from easyrider.gates import Gates
from easyrider.records import LATER
from easyrider.tariffs import DemandWindow, Tariff

Mode = Literal["observe", "shadow", "pilot", "enforce"]
MODES: tuple[Mode, ...] = ("observe", "shadow", "pilot", "enforce")
"""From least to most active."""
SELECTOR_KEYS = ("job", "node", "rack", "class", "queue", "tenant")
"""What a selector may name, most specific first."""
REGION_LEASE_S = 30.0
SHORT_REGION_LEASE_S = 10.0
"""Where a contingency is planned: an unreachable region holds on to what it had for so long."""


Loss = Literal["on_battery", "feed_lost", "cooling_lost"]
"""What meters can tell of a planned loss."""
COOLING_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contingency:
    """A planned loss (one feed, one supply module, mains, cooling) and what the domain may then carry.

    With `when` it is in force while meters tell so, and until they have told otherwise; without, it is planned for.
    """

    name: str
    hard_limit_w: float
    target_w: float | None = None  # default: the domain's own share of the hard limit
    when: Loss | None = None
    feed: str | None = None  # of feed_lost: the domain whose mains are gone
    above_c: float | None = None  # of cooling_lost: from this temperature on
    runtime_s: float | None = None  # of on_battery: how long the battery is to last


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One point of an inverse-time curve: at `multiple` of capacity the device holds for `time_s`."""

    multiple: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TripCurve:
    """A curve that says where it comes from. One of a preset counts for `enforce` once somebody has confirmed it."""

    preset: str = ""
    points: tuple[CurvePoint, ...] = ()  # default: the preset's, written out when the document is read
    confirmed_by: str = ""
    cooling_s: float = COOLING_S  # time constant with which the device cools within its rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """Parents of a domain fed from two sides."""

    A: str
    B: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One place of the power tree: a feed, UPS, PDU, row, rack, branch. Wall watts."""

    id: str
    kind: str
    parent: str | None = None
    feeds: Feeds | None = None
    rating_w: float
    derate: float = field(
        default=1.0, metadata=LATER
    )  # of the rating: heat, height, or many loaded circuits beside each other
    phases: int | None = None
    limit_a: float | None = None  # of each phase
    voltage_v: float | None = None  # of one phase to neutral, of two or three between phases
    pf: float | None = None
    hard_limit_w: float | None = None  # default: what it carries
    target_w: float | None = None  # default: target_share x what it carries
    target_share: float = 0.8
    target_window_s: float = 10.0
    curve: tuple[CurvePoint, ...] | TripCurve = ()
    fixed_w: float = 0.0
    unmanaged_max_w: float | None = None
    meters: tuple[str, ...] = ()
    supply_modules: int | None = None  # of a UPS or shelf: limits shrink with the modules that work
    contingencies: tuple[Contingency, ...] = ()
    ramp_w_per_s: float | None = field(default=None, metadata=LATER)  # the fastest that limits open below it

    @property
    def amps_w(self) -> float:
        """Watts that `limit_a` carries with even phases; infinite where amps or volts are not said."""
        if self.limit_a is None or self.voltage_v is None:
            return math.inf
        per_amp = math.sqrt(3.0) if self.phases == 3 else 1.0
        return per_amp * self.voltage_v * self.limit_a * (1.0 if self.pf is None else self.pf)

    @property
    def carries_w(self) -> float:
        """What it carries for ever: the smaller of its derated rating and of what its amps allow."""
        return min(self.rating_w * self.derate, self.amps_w)

    @property
    def trip_points(self) -> tuple[CurvePoint, ...]:
        """Its inverse-time curve, wherever it comes from; none: it has no curve."""
        return self.curve.points if isinstance(self.curve, TripCurve) else self.curve

    @property
    def unconfirmed(self) -> str:
        """The preset whose curve nobody has confirmed for this device; empty: there is none."""
        if isinstance(self.curve, TripCurve) and not self.curve.confirmed_by.strip():
            return self.curve.preset
        return ""

    @property
    def hard_w(self) -> float:
        """What could be drawn at most."""
        return self.carries_w if self.hard_limit_w is None else self.hard_limit_w

    @property
    def aim_w(self) -> float:
        """What is drawn at most, as a mean over `target_window_s`."""
        return self.target_share * self.carries_w if self.target_w is None else self.target_w

    @property
    def smallest_hard_w(self) -> float:
        """The smallest planned hard limit: every contingency counted."""
        return min([self.hard_w, *(c.hard_limit_w for c in self.contingencies)])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClass:
    """What kind of machine: wall = overhead_w + overhead_slope x GPU watts (declared upper values)."""

    overhead_w: float
    overhead_slope: float
    gpu_max_w: float | None = None
    gpu_min_w: float | None = None
    gpu_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine and where it is fed."""

    id: str
    domain: str
    node_class: str  # `class` in the document
    fallback_w_per_gpu: float
    boot_guard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A scope with a coordinator of its own: its domain and all below it that no region further down has.

    One region has no parent: what is left of the tree is its own. The others are granted watts by their parents,
    and keep `guaranteed_w` (wall watts of the whole domain) whatever happens.
    """

    id: str
    parent: str | None = None
    domain: str | None = None
    guaranteed_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRule:
    """A mode for what the selector matches: keys AND, values OR, globs."""

    selector: dict[str, tuple[str, ...]]
    mode: Mode
    reason: str = ""
    since: str = ""
    override: str = field(default="", metadata=LATER)  # why this promotion passes its gate over


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRule:
    """No limit rises in these domains, or anywhere where none is named, until an operator takes this away."""

    id: str
    domains: tuple[str, ...] = ()
    reason: str = ""
    since: str = ""
    by: str = ""


Strategy = Literal["ramp", "step", "soft"]
RAMP_S = 60.0
"""Down to a load target, evenly: a site that drops at once disturbs its feed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTarget:
    """What a domain may draw between two moments (RFC 3339), below its own target: a grid's or an operator's wish.

    `ramp`: evenly over `ramp_s`, there when it begins. `step`: at once, as late as will do. `soft`: as `ramp`, and
    no further than jobs can go within their `max_slowdown`; the rest is reported as missing.
    """

    id: str
    domain: str
    begins: str
    ends: str
    target_w: float
    reason: str = ""
    by: str = ""
    strategy: Strategy = field(default="ramp", metadata=LATER)
    ramp_s: float = field(default=RAMP_S, metadata=LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """What a lost second of such a job weighs, and how slow it may get before others yield."""

    weight: float = 1.0
    max_slowdown: float = 0.20
    flex_tier: int = (
        10  # 0, 10, 25, 50: per cent that may be taken without asking; 0: last to be slowed at all
    )
    least_speed: float = 0.0  # latency-critical work: below this share of its speed it goes last of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How fast limits may move (the numbers card)."""

    step_share: float = 0.10  # of the GPU's rating per change; ceiling 0.20
    cooldown_s: float = 10.0
    change_interval_s: float = 1.0
    dead_band_share: float = 0.01
    start_exempt_s: float = 25.0
    wake_exempt_s: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    """Times of the safety protocol."""

    ttl_s: float = 5.0
    grant_every_s: float = 1.0
    dead_man_s: float = 10.0
    second_stage_s: float = 60.0
    leader_lease_s: float = 5.0
    region_lease_s: float | None = None  # default: 10 s where a contingency is planned, else 30 s
    control_period_s: float = 1.0
    meter_delay_s: float = 2.0
    sensor_window_s: float = 1.0
    actuation_s: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The whole document."""

    id: str
    version: int
    domains: tuple[Domain, ...]
    classes: dict[str, NodeClass]
    nodes: tuple[Node, ...]
    regions: tuple[Region, ...] = ()
    modes: tuple[ModeRule, ...] = ()
    holds: tuple[HoldRule, ...] = ()
    targets: tuple[LoadTarget, ...] = ()
    tariffs: tuple[Tariff, ...] = field(default=(), metadata=LATER)
    demands: tuple[DemandWindow, ...] = field(default=(), metadata=LATER)
    gates: Gates = field(default=Gates(), metadata=LATER)
    priorities: dict[str, PriorityClass] = field(default_factory=dict)
    pacing: Pacing = Pacing()
    leases: Leases = Leases()
    margin_w: float = 0.0
    pilot_floor_w: float | None = None  # per GPU: pilots go no lower for load that nobody limits
    policies: tuple[str, ...] = field(
        default=(), metadata=LATER
    )  # plug-ins that may decide in pilot and enforce

    @property
    def region_lease_s(self) -> float:
        """How long a region keeps what its parent granted."""
        if self.leases.region_lease_s is not None:
            return self.leases.region_lease_s
        return SHORT_REGION_LEASE_S if any(d.contingencies for d in self.domains) else REGION_LEASE_S
