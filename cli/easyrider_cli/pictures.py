"""A demonstration as the two pictures that `plots` draws."""

from pathlib import Path

import numpy as np

from easyrider_cli.demo import Demonstration, Live
from easyrider_cli.plots import (
    DomainRun,
    JobTrack,
    Outage,
    PowerPicture,
    RunWork,
    WorkPicture,
    draw_power,
    draw_work,
)
from easyrider_twin.outcome import JobOutcome, Outcome, lost_pct
from easyrider_twin.programs import Recorded
from easyrider_twin.world import World

POWER, WORK = "demo_power.png", "demo_work.png"
WITHOUT, WITH = "without control", "with EasyRider"


def draw(shown: Demonstration, folder: Path) -> tuple[Path, Path]:
    """Both pictures, written into `folder`; where they are."""
    places = folder / POWER, folder / WORK
    draw_power(power_picture(shown), places[0])
    draw_work(work_picture(shown), places[1])
    return places


def power_picture(shown: Demonstration) -> PowerPicture:
    """Wall power of the domain whose supply fails, in all three runs."""
    domain = shown.world.failures[0].domain
    live = shown.live
    return PowerPicture(
        domain=_name(shown.world, domain),
        runs=(
            _virtual(WITHOUT, shown.without.outcome, domain),
            _virtual(static_label(shown), shown.static.outcome, domain),
            DomainRun(
                label=WITH,
                t_s=live.power.t_s,
                wall_w=live.power.wall_w[domain],
                hard_w=live.power.hard_w[domain],
                target_w=live.power.target_w[domain],
                trips_s=tuple(trip["t_s"] for trip in live.outcome["trips"]),
            ),
        ),
        outages=_outages(shown.world),
        sources=sources(shown.world),
    )


def work_picture(shown: Demonstration) -> WorkPicture:
    """Limits and work of every job under EasyRider, beside what all runs had done by their end."""
    jobs = shown.without.outcome.jobs
    return WorkPicture(
        jobs=tuple(_track(job, shown.live) for job in jobs),
        runs=(
            _virtual_work(WITHOUT, shown.without.outcome),
            _virtual_work(static_label(shown), shown.static.outcome),
            RunWork(
                label=WITH,
                done_pct={job["id"]: 100.0 - job["work_lost_pct"] for job in shown.live.outcome["jobs"]},
                total_pct=100.0 - shown.live.outcome["work_lost_pct"],
            ),
        ),
        outages=_outages(shown.world),
        rating_w=max(shown.world.models[node.model].rating_w for node in shown.world.nodes),
        sources=sources(shown.world),
    )


def static_label(shown: Demonstration) -> str:
    """The static run by its cap."""
    return f"static cap of {shown.static.cap_w:.0f} W a GPU"


def sources(world: World) -> str:
    """What of the load is recorded and what synthetic."""
    recorded = sum(isinstance(job.program, Recorded) for job in world.jobs)
    synthetic = len(world.jobs) - recorded
    jobs = f"jobs on recorded power: {recorded}, synthetic jobs: {synthetic}"
    return f"Simulated GPUs, seed {world.seed}; {jobs}"


def _name(world: World, domain_id: str) -> str:
    kind = next(domain.kind for domain in world.domains if domain.id == domain_id).upper()
    return kind if kind == domain_id.upper() else f"{kind} {domain_id}"


def _virtual(label: str, outcome: Outcome, domain: str) -> DomainRun:
    return DomainRun(
        label=label,
        t_s=outcome.t_s,
        wall_w=outcome.wall_w[domain],
        hard_w=outcome.hard_w[domain],
        target_w=outcome.target_w[domain],
        trips_s=tuple(trip.t_s for trip in outcome.trips),
    )


def _virtual_work(label: str, outcome: Outcome) -> RunWork:
    return RunWork(
        label=label,
        done_pct={job.id: 100.0 - job.lost_pct for job in outcome.jobs},
        total_pct=100.0 - lost_pct(outcome.jobs),
    )


def _outages(world: World) -> tuple[Outage, ...]:
    modules = {domain.id: domain.modules for domain in world.domains}
    return tuple(
        Outage(
            label=f"{failure.modules} of {modules[failure.domain]} modules fails",
            begin_s=failure.at_s,
            end_s=failure.at_s + failure.for_s,
        )
        for failure in world.failures
    )


def _track(job: JobOutcome, live: Live) -> JobTrack:
    work, (limit_t_s, limit_w) = live.work[job.id], live.limits[job.id]
    due = work.uncapped_work_s > 0
    done_pct = np.full(len(work.t_s), np.nan)
    done_pct[due] = 100.0 * work.work_s[due] / work.uncapped_work_s[due]
    recorded = job.source.startswith("recorded")
    changed = job.source[job.source.index("(") :].strip("()") if recorded and "(" in job.source else ""
    return JobTrack(
        job=job.id,
        source=", ".join(filter(None, ("recorded" if recorded else "synthetic", changed))),
        gpus=job.gpus,
        limit_t_s=limit_t_s,
        limit_w=limit_w,
        work_t_s=work.t_s,
        done_pct=done_pct,
    )
