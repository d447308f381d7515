"""A hall of two branches with two nodes of two boards each, and what a controller may be told of it."""

from dataclasses import replace

import numpy as np

from easyrider_bench.controllers.contract import (
    Contingency,
    Floats,
    JobRow,
    Observation,
    PriorityClass,
    Site,
    SiteDomain,
)

CARRIES = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
JOBS = (
    JobRow(id="low", type_key="a", priority_class="low", boards=np.array([0, 1]), started_s=0.0),
    JobRow(id="mid", type_key="b", priority_class="mid", boards=np.array([2, 3, 4, 5]), started_s=0.0),
    JobRow(id="high", type_key="c", priority_class="high", boards=np.array([6, 7]), started_s=0.0),
)


def small_site(**changes: object) -> Site:
    """Eight boards of 200-700 W; nodes draw 100 W + 1.25 x GPU watts; 6 kW for the root, 4 kW a branch."""
    site = Site(
        name="small",
        domains=(
            SiteDomain(
                id="root", kind="ups", parent=None, rating_w=7500.0, hard_limit_w=7500.0, target_w=6000.0
            ),
            SiteDomain(
                id="left", kind="pdu", parent=0, rating_w=5000.0, hard_limit_w=5000.0, target_w=4000.0
            ),
            SiteDomain(
                id="right", kind="pdu", parent=0, rating_w=5000.0, hard_limit_w=5000.0, target_w=4000.0
            ),
        ),
        node_ids=("n0", "n1", "n2", "n3"),
        node_of=np.repeat(np.arange(4), 2),
        domain_of=np.array([1, 1, 2, 2]),
        carries=CARRIES,
        contains=np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        feeds=None,
        min_w=np.full(8, 200.0),
        max_w=np.full(8, 700.0),
        idle_w=75.0,
        overhead_w=np.full(4, 100.0),
        overhead_slope=np.full(4, 1.25),
        overshoot_max=1.03,
        priorities={
            "low": PriorityClass(weight=1.0),
            "mid": PriorityClass(weight=2.0),
            "high": PriorityClass(weight=4.0),
        },
        command_delay_s=(0.05, 0.25),
        dead_time_s=0.05,
        settle_s=0.2,
        meter_period_s=1.0,
        meter_delay_s=0.5,
        event_delay_s=0.1,
        dead_man_s=10.0,
    )
    return replace(site, **changes)  # type: ignore[arg-type]


def with_loss(site: Site, place: int, target_w: float) -> Site:
    """The site with a planned loss at one domain, after which it is meant to carry `target_w`."""
    lost = Contingency(name="loss", hard_limit_w=1.25 * target_w, target_w=target_w)
    domains = list(site.domains)
    domains[place] = replace(domains[place], contingencies=(lost,))
    return replace(site, domains=tuple(domains))


def seen(
    site: Site,
    *,
    now_s: float = 0.0,
    draw_w: float | Floats = 600.0,
    limit_w: float | Floats = 700.0,
    meter_w: tuple[float, ...] | None = None,
    jobs: tuple[JobRow, ...] = JOBS,
) -> Observation:
    """What a look shows when every board draws `draw_w` under `limit_w`; meters as given, else as it adds up."""
    draw_w, limit_w = np.full(site.gpus, draw_w), np.full(site.gpus, limit_w)
    node_w = site.overhead_w + site.overhead_slope * np.bincount(site.node_of, weights=draw_w)
    shown_w = site.carries @ node_w if meter_w is None else np.array(meter_w)
    count = len(site.domains)
    return Observation(
        now_s=now_s,
        sample_s=np.array([now_s]),
        energy_w=draw_w[None, :],
        instant_w=draw_w[None, :],
        average_w=draw_w[None, :],
        enforced_w=limit_w,
        silent_s=np.zeros(len(site.node_ids)),
        jobs=jobs,
        flagged=np.zeros(site.gpus, dtype=np.bool_),
        events=(),
        meter_w=shown_w,
        meter_age_s=np.full(count, 0.5),
        meter_fresh=np.ones(count, dtype=np.bool_),
        hard_w=np.array([d.hard_limit_w for d in site.domains]),
        target_w=np.array([d.target_w for d in site.domains]),
        carries=site.carries,
        modules_ok=np.array([d.modules for d in site.domains]),
        on_battery=np.zeros(count, dtype=np.bool_),
        battery_s=np.full(count, np.nan),
    )
