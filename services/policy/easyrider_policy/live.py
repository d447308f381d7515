"""What the leader knows, as records for people and dry runs: the bodies of its answers are these, in JSON.

Watts of domains are wall watts, of boards and jobs board watts. Unknown is null, never 0.
"""

import msgspec

W = float | None


class LiveDomain(msgspec.Struct, frozen=True):
    """One domain. `counted_w`: what could be drawn by the sum rule; `room_w`: what is left of it for raises."""

    domain: str
    kind: str
    hard_limit_w: W
    target_w: W
    own_target_w: W  # without load targets
    observed_w: W
    counted_w: W
    room_w: W
    unmanaged_w: W
    fixed_w: W
    budget_w: W
    missing_w: W  # above 0: infeasible by so much, even at minimum limits
    closed: bool  # every GPU below is ours to limit: the sum rule is proved
    uncontrolled_gpus: int
    sum_rule: str
    no_raise: str  # why nothing may rise here; empty: it may
    held: tuple[str, ...]  # ids of holds that name this domain or all
    curve: str  # "own", the name of a preset, "<preset> unverified"; empty: none
    heat: W  # share of its trip curve spent, 0..1
    time_to_trip_s: W  # at the present load; null: never, or no curve
    excursion_s: W  # how long it may stay so loaded, until half of the curve is spent; null: for ever
    excursion_j: W  # and what that comes to above its target
    fullest_a: W  # amps of the fullest phase
    losses: tuple[str, ...]  # contingencies in force
    battery_left_s: W
    governed_by: str = ""  # the region that has it: ask that one; empty: this scope
    regions: tuple[str, ...] = ()  # at or below it: what could be drawn there counts here


class LiveNode(msgspec.Struct, frozen=True):
    """One node of the rules, heard or not."""

    node: str
    domain: str
    boards: int
    age_s: W  # of the newest word of it
    silent: bool
    epoch: int | None  # highest it acked on this boot
    commanded: bool  # it acked the present leader
    place: str  # here, asks, left, dark
    held: bool  # on the node itself
    counted_w: W  # board watts


class LiveBoard(msgspec.Struct, frozen=True):
    """One GPU."""

    uuid: str
    node: str
    mode: str
    job: str | None
    power_w: W
    limit_w: W  # asked of it
    requested_w: W  # as it was read back
    enforced_w: W
    fallback_w: W
    baseline_w: W  # found before the first write
    counted_w: W
    overshoot: float  # the most it draws per watt of limit, as learned
    min_w: W
    max_w: W
    settable: bool
    controlled: bool


class LiveMeter(msgspec.Struct, frozen=True):
    """The meter of one domain."""

    domain: str
    meters: tuple[str, ...]
    age_s: W
    period_s: W
    gated: bool
    silent: bool
    unmanaged_w: W  # meter less managed, mean of 10 s
    negative_w: W


class LiveLead(msgspec.Struct, frozen=True):
    """Who leads."""

    phase: str
    epoch: int
    highest_epoch: int
    why: str


class LiveJob(msgspec.Struct, frozen=True):
    """One job: capped by how much, why, at what cost. Watts per GPU."""

    job: str
    tenant: str
    queue: str
    priority_class: str
    type_key: str
    mode: str
    gpu_count: int
    gpus: tuple[str, ...]
    nodes: tuple[str, ...]
    draw_w: W
    limit_w: W
    demand_w: W
    capped_by_w: W
    slowdown: W  # expected, 0..1
    reason: str
    stalled: bool
    busy_ratio: W
    duty_ratio: W  # highest ten-second mean of a minute over the smaller of peak and limit
    waiting_w: float  # raise that may not leave yet
    waiting_for: str


class LiveState(msgspec.Struct, frozen=True):
    """Everything live. `left_out`: rows that one message has no room for, by section; ask for a node or a job."""

    region: str
    t_ns: int
    rules: dict[str, object]
    lead: LiveLead
    verified: bool
    reactive: bool
    domains: list[LiveDomain]
    nodes: list[LiveNode]
    boards: list[LiveBoard]
    jobs: list[LiveJob]
    meters: list[LiveMeter]
    holds: list[object]
    targets: list[object]
    demands: list[object]  # billed intervals that run now
    releases: list[object]
    demotions: list[object]
    infeasible: dict[str, float]
    silent_nodes: list[str]
    left_out: dict[str, int]
    regions: list[
        object
    ] = []  # scopes right below, with what each was lent: their nodes and jobs are theirs to tell
