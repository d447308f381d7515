"""What the coordinator decided, and why.

It tells and asks for nothing, and its readers are of every kind: a field that one does not know is passed over
(shared/decisions/0044).
"""

from typing import Literal

from easyrider.messages.base import Count, Label, Message, Name, Ratio, Record, Watts

Mode = Literal["observe", "shadow", "pilot", "enforce"]


class DomainPlan(Record, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """One power domain in one plan. Wall watts."""

    domain: Name
    hard_limit_w: Watts
    target_w: Watts
    observed_w: Watts | None  # meter or sum; nil: unknown
    counted_w: Watts  # sum of what could still be enforced, with fixed and unmanaged load
    budget_w: Watts  # GPU watts given to jobs
    unmanaged_w: Watts
    closed: bool  # the sum rule is provable here
    uncontrolled_gpus: Count
    price: float  # priority-weighted work one more watt would buy
    missing_w: Watts  # above 0: infeasible by so much
    heat: Ratio | None = None  # share of its trip curve that the device has spent; nil: it has no curve
    time_to_trip_s: float | None = None  # at the present load; nil: never, or no curve
    excursion_s: float | None = (
        None  # how long it may stay as it is, half of its curve being the most; nil: for ever
    )
    excursion_j: float | None = None  # and what that comes to above its target
    losses: tuple[Name, ...] = ()  # contingencies in force


class JobPlan(Record, frozen=True, forbid_unknown_fields=False):
    """One job in one plan."""

    job: Name
    mode: Mode
    gpu_count: Count
    limit_w: Watts  # per GPU, before learned differences; of a job in `observe` what its boards enforce
    demand_w: Watts  # per GPU, as if uncapped
    slowdown: Ratio  # expected
    reason: Name  # binding: "natural", "target:rack", "hard:pdu-1", "pacing", "silent:node-3", ...
    stalled: bool
    waiting_w: Watts  # raise that waits for verified lowers, pacing or an ack


class TargetPlan(Record, frozen=True, forbid_unknown_fields=False):
    """A load target that is in force or near, and how it is kept. Wall watts."""

    id: Name
    domain: Name
    phase: Literal["waits", "ramps", "holds", "ended"]
    target_w: Watts
    observed_w: Watts | None  # mean over the domain's window; nil: unknown
    short_w: Watts  # drawn above it now
    missing_w: Watts  # above 0: even with every job at its minimum it exceeds its limits by so much
    kept_ratio: Ratio | None  # share of the time since it began in which it was kept; nil: not begun


class DemandPlan(Record, frozen=True, forbid_unknown_fields=False):
    """A billed interval that runs now. Wall watts; values in `currency`, of this interval so far."""

    id: Name
    domain: Name
    left_s: float
    mean_w: Watts | None  # it would close at, if nothing limited the rest; nil: not known yet
    billed_w: Watts | None  # what the month's bill counts anyhow; nil: not known
    aim_w: Watts | None  # the mean that is aimed at; nil: nothing is held back
    ceiling_w: Watts | None  # what may be drawn now for its sake
    saved_value: float  # expected of holding the aim, against never holding any in this month
    cost_value: float  # of the work that this takes
    lost_value: float  # of it, in this interval so far
    currency: str
    why: str


class RegionPlan(Record, frozen=True, forbid_unknown_fields=False):
    """One region right below in one plan. Wall watts of its domain."""

    region: Name
    domain: Name
    granted_w: Watts  # newest grant for what could be drawn there
    target_w: Watts  # and for what is
    guaranteed_w: Watts
    counted_w: Watts  # all that could be drawn there now
    observed_w: Watts | None
    silent: bool  # its lease may have run out without a word
    waits_for: str = ""  # what holds back its raise: "room", "take_over", "hold", "store", "released"
    released: bool = False  # an operator answers for it until it is heard


class Plan(Message, tag="plan", frozen=True, forbid_unknown_fields=False):
    """Every limit with its binding reason; said each period and at once on an event."""

    region: Name
    tree: Name
    tree_version: Count
    epoch: Count
    seq: Count
    t_ns: int
    mono_ns: Count
    cause: Name  # "tick", "job", "meter", "limit_drop", "wake", "emergency", "take_over", ...
    leading: bool
    domains: tuple[DomainPlan, ...]
    jobs: tuple[JobPlan, ...]
    idle_gpus: Count
    lowers: Count
    raises: Count
    raises_waiting: Count
    silent_nodes: tuple[Name, ...]
    reactive: bool  # low confidence: measured values and a larger margin only
    gap: float | None  # certified share of the lost work between this plan and the optimum
    plan_ms: float
    reactive_why: str = ""  # what keeps forecasts from being trusted; empty while they are
    holds: tuple[Name, ...] = ()  # nothing rises below what these name: ids of rules, nodes held on the node
    targets: tuple[TargetPlan, ...] = ()
    regions: tuple[RegionPlan, ...] = ()
    demands: tuple[DemandPlan, ...] = ()
    rules_sha256: Label = (
        ""  # of the rules in force as a document; empty: not reckoned yet, or the version before
    )
