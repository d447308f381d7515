"""The demonstration rack: four nodes of eight boards behind a UPS of five supply modules.

Its size follows by one formula from the uncontrolled run of the same seed and recordings: the busiest minute is
30 % over the UPS's target, which is the continuous share of its rating. Losing one module of five leaves that
minute 30 % over what the UPS can carry at all. Nothing else depends on the recordings.
"""

import math
from pathlib import Path

import msgspec
import numpy as np

from easyrider_twin import recordings
from easyrider_twin.domains import time_to_trip_s
from easyrider_twin.outcome import SAMPLE_S, Outcome
from easyrider_twin.programs import Recorded, Synthetic
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.simulate import busiest_minute, simulate
from easyrider_twin.synthetic import training
from easyrider_twin.world import (
    PDU_CURVE,
    UPS_CURVE,
    Domain,
    GpuModel,
    Job,
    Meter,
    ModuleFailure,
    Node,
    World,
)

MODULES = 5
OVERLOAD = 1.3
TARGET_SHARE = 0.8
"""Continuous share of a rating: the target of the UPS."""
LOOSER = 1.05
"""The PDU below is a little larger than what the UPS above it may carry for long, as distribution usually is. Its hard
limit is its target, so that whatever could be drawn below it binds, not only what is."""
LEFT = (MODULES - 1) / MODULES
WINDOW_S = 60.0
EARLIEST, LATEST = 0.30, 0.50
"""The busiest minute is looked for where it begins between these shares of the run."""
LONGEST = 0.45
"""The module stays failed for at most this share of the run."""
HOLD = 1.3
"""And for at least so many times what the UPS carries uncontrolled."""
SHORTEST = 0.20
"""And for at least this share of the run: a load with high peaks trips within seconds, and a failure of a
few seconds shows nothing of what comes after the first cut."""
FORMULA = "rating_w = highest 60 s mean of wall power / (1.3 x 0.8)"


class DoesNotTrip(Exception):
    """The uncontrolled rack stays up, so this seed and these recordings demonstrate nothing."""

    def __init__(self, seed: int, for_s: float) -> None:
        self.seed, self.for_s = seed, for_s
        super().__init__(f"with seed {seed} the uncontrolled rack survives a failure of {for_s:.1f} s")


def demo_world(
    seed: int,
    seconds: float,
    traces: Path | None = None,
    *,
    fixed_w: float = 250.0,
) -> World:
    """Two nodes on recorded whole 8-GPU nodes, two on one synthetic 16-GPU job; UPS `ups`, PDU `pdu` below.

    `traces` is a folder of recordings (default: the shipped ones). The UPS's hard limit is its
    rating; both limits of the PDU are 1.05 of the UPS's target. Raises `ValueError` for a run under 120 s (no
    minute fits), `BadRecording` for a folder without recordings, `DoesNotTrip`.
    """
    if seconds < WINDOW_S / LATEST:
        raise ValueError(f"a run of {seconds} s is too short: the failure needs {WINDOW_S / LATEST:.0f} s")
    loaded = _unsized(seed, seconds, traces, fixed_w)
    free = simulate(loaded, seconds, trips=False)
    found_s, peak_w = busiest_minute(free, "ups", earliest_s=EARLIEST * seconds, latest_s=LATEST * seconds)
    begin_s = round(found_s, 1)
    rating_w = peak_w / (OVERLOAD * TARGET_SHARE)
    lasting = _sized(loaded, rating_w, ModuleFailure(domain="ups", at_s=begin_s, for_s=seconds))
    carried_s = _carried_s(simulate(lasting, seconds), free, begin_s, rating_w)
    longest_s = math.floor(LONGEST * seconds * 10) / 10
    if carried_s is None or carried_s > longest_s:
        raise DoesNotTrip(seed, longest_s)
    shortest_s = max(HOLD * carried_s, SHORTEST * seconds)
    for_s = min(math.ceil(shortest_s * 10) / 10, longest_s)
    sized = _sized(loaded, rating_w, ModuleFailure(domain="ups", at_s=begin_s, for_s=for_s))
    return msgspec.structs.replace(
        sized,
        notes=(
            *loaded.notes,
            f"{FORMULA} = {peak_w:.0f} W / {OVERLOAD * TARGET_SHARE:.2f} = {rating_w:.0f} W",
            f"the busiest minute begins at {begin_s:.1f} s",
            f"one module of {MODULES} fails at {begin_s:.1f} s for {for_s:.1f} s; "
            f"uncontrolled, the UPS carries it for {carried_s:.1f} s",
            *_special(sized, seconds, carried_s, longest_s),
        ),
    )


def static_cap_w(world: World, domain: str = "ups", missing: int = 1) -> float:
    """The equal cap at which wall power of `domain` meets its target with `missing` modules out.

    Every board is counted at this cap, whatever it runs. Never under the largest device minimum.
    """
    top = next(d for d in world.domains if d.id == domain)
    parents = {d.id: d.parent for d in world.domains}

    def below(at: str | None) -> bool:
        while at is not None and at != domain:
            at = parents[at]
        return at == domain

    nodes = [n for n in world.nodes if below(n.domain)]
    share = (top.modules - missing) / top.modules if top.modules else 1.0
    fixed_w = sum(d.fixed_w for d in world.domains if below(d.id)) + sum(n.overhead_w for n in nodes)
    slope = sum(n.overhead_slope * n.gpus for n in nodes)
    floor_w = max(world.models[n.model].min_limit_w for n in nodes)
    return max((top.target_w * share - fixed_w) / slope, floor_w)


def _special(sized: World, seconds: float, carried_s: float, longest_s: float) -> list[str]:
    """What is not as it should be with this seed and these recordings, in words."""
    told = []
    if HOLD * carried_s > longest_s:
        told.append(
            f"the failure lasts {longest_s / carried_s:.2f} times what the UPS carries it, not {HOLD}: "
            f"it may last {LONGEST:.0%} of the run at most"
        )
    before = simulate(sized, seconds, failures=False).trips
    if before:
        told.append(
            f"uncontrolled, {before[0].domain} opens at {before[0].t_s:.1f} s even with all its modules: "
            "the peaks of this load last longer than it carries them"
        )
    return told


def _carried_s(lasting: Outcome, free: Outcome, begin_s: float, rating_w: float) -> float | None:
    """How long the uncontrolled UPS carries the failure; None if for ever.

    Where the uncontrolled rack is down before the module fails, the heat is summed up over the run
    without trips instead.
    """
    first = next(iter(lasting.trips), None)
    if first is None or first.t_s >= begin_s:
        return None if first is None else first.t_s - begin_s
    begin = round(begin_s / SAMPLE_S)
    held_s = [time_to_trip_s(UPS_CURVE, w / (rating_w * LEFT)) for w in free.wall_w["ups"][begin:].tolist()]
    heat = np.cumsum([SAMPLE_S / each_s for each_s in held_s])
    over = np.flatnonzero(heat >= 1.0)
    return float(over[0] * SAMPLE_S) if len(over) else None


def _sized(world: World, rating_w: float, failure: ModuleFailure) -> World:
    ups, pdu = world.domains
    target_w = TARGET_SHARE * rating_w
    pdu_w = LOOSER * target_w
    return msgspec.structs.replace(
        world,
        domains=(
            msgspec.structs.replace(ups, rating_w=rating_w, hard_limit_w=rating_w, target_w=target_w),
            msgspec.structs.replace(pdu, rating_w=pdu_w, hard_limit_w=pdu_w, target_w=pdu_w),
        ),
        failures=(failure,),
    )


def _unsized(seed: int, seconds: float, traces: Path | None, fixed_w: float) -> World:
    """The loaded rack with limits out of the way."""
    rng = np.random.default_rng([seed, 32])
    far_w = 1e9
    jobs = [*_recorded_jobs(rng, traces), _training(rng, seconds)]
    return World(
        name="demo-rack",
        seed=seed,
        nodes=tuple(Node(id=f"node-{k}", domain="pdu") for k in range(1, 5)),
        domains=(
            Domain(
                id="ups",
                kind="ups",
                rating_w=far_w,
                hard_limit_w=far_w,
                target_w=far_w,
                curve=UPS_CURVE,
                modules=MODULES,
            ),
            Domain(
                id="pdu",
                kind="pdu",
                parent="ups",
                rating_w=far_w,
                hard_limit_w=far_w,
                target_w=far_w,
                curve=PDU_CURVE,
                fixed_w=fixed_w,
            ),
        ),
        meters=(Meter(id="rack-meter", domain="pdu"), Meter(id="ups-1", domain="ups", kind="ups")),
        jobs=tuple(jobs),
        notes=tuple(_told(job) for job in jobs),
    )


def _recorded_jobs(rng: np.random.Generator, traces: Path | None) -> list[Job]:
    """One job a node; whole 8-GPU recordings where the folder has any, else smaller ones repeated."""
    folder = traces.resolve() if traces else None
    known = [recordings.load(name, folder) for name in recordings.names(folder)]
    if not known:
        raise BadRecording(f"{folder} holds no *.csv.gz recording of GPU power")
    whole = [recording for recording in known if recording.gpus == 8] or known
    picks = [*rng.permutation(len(whole)), *rng.integers(len(whole), size=2)][:2]
    return [
        Job(
            id=f"recorded-{number}",
            type_key=f"recorded-{whole[pick].name}",
            gpus={f"node-{number}": tuple(range(8))},
            program=Recorded(
                trace=whole[pick].name,
                folder=str(folder) if folder else None,
                start_s=round(float(rng.uniform(0, whole[pick].length_s)), 3),
            ),
        )
        for number, pick in enumerate(picks, start=1)
    ]


def _training(rng: np.random.Generator, seconds: float) -> Job:
    """A synthetic synchronous 16-GPU language model training with checkpoints, the ranges as published."""
    return Job(
        id="llm-16",
        type_key="synthetic-llm-16",
        gpus={"node-3": tuple(range(8)), "node-4": tuple(range(8))},
        priority_class="normal",
        tenant="tenant-b",
        program=training(rng, max(1800.0, 2 * seconds)),
    )


def _told(job: Job) -> str:
    program = job.program
    if isinstance(program, Synthetic):
        every_s = program.checkpoint_every_s
        return f"{job.id}: synthetic, period {program.period_s} s, checkpoint each {every_s} s"
    recording = recordings.load(program.trace, Path(program.folder) if program.folder else None)
    how = "".join(f", {done}" for done in recordings.alterations(recording, 8, GpuModel()))
    return f"{job.id}: recorded {program.trace} from {program.start_s:.1f} s{how}"
