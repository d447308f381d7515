"""Every scenario by name, at which levels it stands in the table, and the case of one run of it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from easyrider_bench.cases import WARM_UP_S, Case, DeadTelemetry, Key, Loss, Stranger, Swing
from easyrider_bench.controllers.contract import DemandTerms, PriorityClass, Site
from easyrider_bench.meters import DELAY_S, PERIOD_S
from easyrider_bench.scenarios import loads, troubles
from easyrider_bench.scenarios.sizing import (
    MODEL,
    NODE,
    NODES,
    PER_NODE,
    Tree,
    natural_peak_w,
    rating_w,
    tree,
)
from easyrider_twin.gpus import DEAD_TIME_S, OVERSHOOT_MAX, SETTLE_S

LEVELS = (10, 20, 30, 40)
RUN_S, QUICK_S, DEMAND_S = 600.0, 300.0, 1800.0
QUICK = ("mixed", "module_lost", "churn")
PRIORITIES = {
    "low": PriorityClass(weight=1.0),
    "normal": PriorityClass(weight=2.0),
    "high": PriorityClass(weight=4.0),
    "critical": PriorityClass(weight=8.0),
}
COMMAND_DELAY_S = (0.04, 0.12)
EVENT_DELAY_S = 0.2
DEAD_MAN_S = 10.0
INTERVAL_S = 900.0
BEGUN_S = 450.0
"""The demand interval under way when the jobs start began so long before: it and the next close within the run."""
MONTH_PEAK_SHARE = 0.92
"""Of the rack's target: the month's highest interval so far, which the interval under way is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A named hall; `trouble` names what is added to the load."""

    load: loads.Load
    levels: tuple[int, ...] = LEVELS
    target_share: float = 0.80
    hard_is_target: tuple[str, ...] = ()  # kinds of domains, as the demonstration's rack has it
    trouble: str = ""
    seconds: float = RUN_S


SCENARIOS = {
    "trace": Scenario(load=loads.trace),
    "starts": Scenario(load=loads.starts),
    "bigjob": Scenario(load=loads.bigjob),
    "churn": Scenario(load=loads.churn, hard_is_target=("pdu",)),
    "neighbour": Scenario(load=loads.mixed, trouble="neighbour"),
    "prio": Scenario(load=loads.prio, hard_is_target=("ups", "pdu")),
    "mixed": Scenario(load=loads.mixed),
    "small32": Scenario(load=loads.small32),
    "module_lost": Scenario(load=loads.mixed, trouble="module_lost"),
    "ups_battery": Scenario(load=loads.mixed, trouble="ups_battery"),
    "aliasing": Scenario(load=loads.mixed, trouble="aliasing"),
    "dead_telemetry": Scenario(load=loads.mixed, trouble="dead_telemetry"),
    "demand": Scenario(load=loads.mixed, trouble="demand", seconds=DEMAND_S),
    "over60": Scenario(load=loads.mixed, levels=(60,)),
    "feed_lost": Scenario(load=loads.mixed, levels=(20,), trouble="feed_lost"),
    "mixed_90": Scenario(load=loads.mixed, levels=(30,), target_share=0.90),
}
PLANNED = {
    "module_lost": ("module lost", troubles.MODULE_SHARE),
    "ups_battery": ("battery", troubles.BATTERY_SHARE),
}


def case(key: Key) -> Case:
    """The case of one run; the same for the same key. Raises `KeyError` for a name that is not there."""
    scenario = SCENARIOS[key.scenario]
    rng = np.random.default_rng([key.seed, 16])
    folder = Path(key.traces) if key.traces else None
    jobs = scenario.load(rng, key.seconds, folder)
    strangers: list[Stranger] = []
    if scenario.trouble == "neighbour":
        most_w = troubles.NEIGHBOUR_SHARE * natural_peak_w(jobs, ())
        strangers = troubles.neighbours(rng, key.seconds, most_w)
    peak_w = natural_peak_w(jobs, strangers)
    rated_w = rating_w(peak_w, key.oversub_pct)
    grown = tree(
        rated_w,
        target_share=scenario.target_share,
        hard_is_target=scenario.hard_is_target,
        strangers=strangers,
        planned=[PLANNED[scenario.trouble]] if scenario.trouble in PLANNED else [],
        two_feeds=scenario.trouble == "feed_lost",
    )
    target_w = grown.domains[0].target_w
    losses: list[Loss] = []
    dead: list[DeadTelemetry] = []
    swing: Swing | None = None
    match scenario.trouble:
        case "module_lost":
            losses.append(troubles.module_lost(key.seconds))
        case "ups_battery":
            losses.append(troubles.on_battery(key.seconds, target_w))
        case "feed_lost":
            losses.append(troubles.feed_lost(key.seconds, 3))
        case "dead_telemetry":
            dead.append(troubles.dead_telemetry(key.seconds))
        case "aliasing":
            swing = troubles.swing()
    return Case(
        key=key,
        target_share=scenario.target_share,
        site=_site(key, grown, demand=_terms(target_w) if scenario.trouble == "demand" else None),
        jobs=tuple(jobs),
        losses=tuple(losses),
        strangers=tuple(strangers),
        dead=tuple(dead),
        swing=swing,
    )


def keys(names: list[str], levels: list[int] | None, seeds: int, *, quick: bool, traces: str) -> list[Key]:
    """All runs of these scenarios; `levels` None takes those of each."""
    return [
        Key(
            scenario=name,
            oversub_pct=level,
            seed=seed,
            seconds=QUICK_S if quick else SCENARIOS[name].seconds,
            traces=traces if SCENARIOS[name].load is loads.trace else "",
        )
        for name in names
        for level in (SCENARIOS[name].levels if levels is None else levels)
        for seed in range(1, seeds + 1)
    ]


def _terms(target_w: float) -> DemandTerms:
    peak_w = MONTH_PEAK_SHARE * target_w
    return DemandTerms(
        interval_s=INTERVAL_S,
        first_begin_s=WARM_UP_S - BEGUN_S,
        begun_j=BEGUN_S * peak_w,
        month_peak_w=peak_w,
        price_per_kw=15.0,
        gpu_hour_price=2.0,
    )


def _site(key: Key, grown: Tree, demand: DemandTerms | None) -> Site:
    boards = NODES * PER_NODE
    node_of = np.arange(boards) // PER_NODE
    return Site(
        name=f"{key.scenario}-{key.oversub_pct}",
        domains=grown.domains,
        node_ids=tuple(f"node-{k}" for k in range(1, NODES + 1)),
        node_of=node_of,
        domain_of=1 + np.arange(NODES) * 2 // NODES,
        carries=grown.carries,
        contains=grown.contains,
        feeds=grown.feeds,
        min_w=np.full(boards, MODEL.min_limit_w),
        max_w=np.full(boards, MODEL.max_limit_w),
        idle_w=MODEL.idle_w,
        overhead_w=np.full(NODES, NODE.overhead_w),
        overhead_slope=np.full(NODES, NODE.overhead_slope),
        overshoot_max=1.0 + OVERSHOOT_MAX,
        priorities=PRIORITIES,
        command_delay_s=COMMAND_DELAY_S,
        dead_time_s=DEAD_TIME_S,
        settle_s=SETTLE_S,
        meter_period_s=PERIOD_S,
        meter_delay_s=DELAY_S,
        event_delay_s=EVENT_DELAY_S,
        dead_man_s=DEAD_MAN_S,
        demand=demand,
    )
