"""Seeded synthetic jobs, labelled as such: iterations, checkpoints, stalls, pauses, preemption."""

from dataclasses import dataclass, field

import numpy as np

from easyrider_twin.programs import Synthetic
from easyrider_twin.tapes import Tape
from easyrider_twin.world import GpuModel

SPREAD = 0.012
"""Standard deviation of natural draw between boards of one job."""


@dataclass
class _Rows:
    """Segments of one tape in the making."""

    length_s: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    work: list[bool] = field(default_factory=list)
    present: list[bool] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    at_s: float = 0.0

    def add(
        self, length_s: float, ratio: float, *, work: bool = False, present: bool = True, busy: int = 0
    ) -> None:
        if length_s > 0:
            self.length_s.append(length_s)
            self.ratio.append(ratio)
            self.work.append(work)
            self.present.append(present)
            self.busy.append(busy)
            self.at_s += length_s


def training(rng: np.random.Generator, length_s: float) -> Synthetic:
    """A language model training with checkpoints, everything that differs between trainings drawn by `rng`.

    Ranges as published: see `Synthetic`.
    """
    return Synthetic(
        seed=int(rng.integers(2**31)),
        period_s=round(float(np.exp(rng.uniform(np.log(1.0), np.log(10.0)))), 3),
        plateau_ratio=round(float(rng.uniform(0.85, 0.98)), 3),
        communication_share=round(float(rng.uniform(0.05, 0.30)), 3),
        communication_ratio=round(float(rng.uniform(0.25, 0.5)), 3),
        start_after_s=round(float(rng.uniform(0, 5)), 2),
        setup_s=round(float(rng.uniform(8, 18)), 2),
        checkpoint_every_s=round(float(rng.uniform(35, 60)), 2),
        checkpoint_s=round(float(rng.uniform(6, 16)), 2),
        length_s=length_s,
    )


def tape(program: Synthetic, gpus: int, model: GpuModel, world_seed: int) -> Tape:
    """The program on `gpus` boards, the same for the same seeds."""
    rng = np.random.default_rng([world_seed, program.seed, 7])
    context, idle = model.context_w / model.rating_w, model.idle_w / model.rating_w
    breaks = sorted(
        [(at_s, for_s, False) for at_s, for_s in program.pauses]
        + [(at_s, for_s, True) for at_s, for_s in program.preemptions]
    )
    rows = _Rows()
    rows.add(program.start_after_s, idle, present=False)
    _set_up(rows, program)
    steady_from_s = rows.at_s
    end_s = program.length_s if program.stop_after_s is None else min(program.length_s, program.stop_after_s)
    checkpoint_at_s = rows.at_s + (program.checkpoint_every_s or np.inf)
    stall_at_s = _next_stall_s(rows.at_s, program, rng)
    while rows.at_s < end_s:
        if breaks and rows.at_s >= breaks[0][0]:
            _, for_s, leaves = breaks.pop(0)
            rows.add(for_s, idle if leaves else context, present=not leaves)
            if leaves:
                _set_up(rows, program)
            continue
        if rows.at_s >= checkpoint_at_s:
            rows.add(program.checkpoint_s * float(rng.uniform(0.8, 1.25)), program.checkpoint_ratio, busy=5)
            checkpoint_at_s = rows.at_s + (program.checkpoint_every_s or np.inf)
            continue
        if rows.at_s >= stall_at_s:
            rows.add(program.data_stall_s * float(rng.uniform(0.5, 1.5)), program.wait_ratio, busy=20)
            stall_at_s = _next_stall_s(rows.at_s, program, rng)
            continue
        _iterate(rows, program, rng)
    ends = program.stop_after_s is not None and program.stop_after_s <= program.length_s
    spread = np.clip(rng.normal(1.0, SPREAD, gpus), 0.95, 1.05)
    draw_w = np.minimum(np.outer(rows.ratio, spread) * model.rating_w, model.rating_w)
    return Tape(
        edges_s=np.concatenate(([0.0], np.cumsum(rows.length_s))),
        draw_w=draw_w.astype(np.float32),
        work=np.array(rows.work),
        present=np.array(rows.present),
        busy_pct=np.array(rows.busy, dtype=np.uint8),
        loop_from_s=None if ends else steady_from_s,
        source="synthetic",
    )


def _set_up(rows: _Rows, program: Synthetic) -> None:
    rows.add(program.setup_s, program.setup_ratio, busy=10)


def _iterate(rows: _Rows, program: Synthetic, rng: np.random.Generator) -> None:
    """One iteration: compute, then the exposed part of communication; all of it is work."""
    period_s = program.period_s * float(np.clip(rng.normal(1.0, program.period_jitter), 0.8, 1.2))
    rows.add(period_s * (1 - program.communication_share), program.plateau_ratio, work=True, busy=99)
    rows.add(period_s * program.communication_share, program.communication_ratio, work=True, busy=95)


def _next_stall_s(at_s: float, program: Synthetic, rng: np.random.Generator) -> float:
    if program.data_stalls_per_min <= 0:
        return float("inf")
    return at_s + float(rng.exponential(60.0 / program.data_stalls_per_min))
