"""What a job does when nobody slows it: records of programs, recorded and synthetic.

A program is data. `tapes.py` unrolls it into a tape that a job plays at its own speed.
"""

from typing import Literal

import msgspec

Span = tuple[float, float]
"""(begin, duration), both in s of program time."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="recorded"):
    """Replay of a measured power trace, indexed by work done, from `start_s` on; it loops.

    `trace` is the file's stem in `folder` (default: the recordings shipped with the twin).
    """

    trace: str
    folder: str | None = None
    start_s: float = 0.0
    bound: Literal["compute", "memory"] = "compute"


class Synthetic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="synthetic"):
    """A generated job: iterations with a communication dip, checkpoint and data stalls, pauses, preemption.

    Ratios are shares of the board's rating. Synthetic data, never to be quoted as measured. Ranges and
    defaults follow published measurements: plateau 0.78-0.98, communication 5-30 % of an iteration at
    0.25-0.5, checkpoint stalls of 5-40 s at 0.22.
    """

    seed: int = 0
    period_s: float = 4.0
    period_jitter: float = 0.02
    plateau_ratio: float = 0.9
    communication_share: float = 0.15
    communication_ratio: float = 0.35
    start_after_s: float = 0.0
    setup_s: float = 15.0
    setup_ratio: float = 0.18
    checkpoint_every_s: float | None = 600.0
    checkpoint_s: float = 16.0
    checkpoint_ratio: float = 0.22
    data_stalls_per_min: float = 0.0
    data_stall_s: float = 2.0
    wait_ratio: float = 0.3
    pauses: tuple[Span, ...] = ()
    """The process stays, its GPUs idle with a live context."""
    preemptions: tuple[Span, ...] = ()
    """The job leaves its GPUs, and starts again with its set-up."""
    stop_after_s: float | None = None
    length_s: float = 1800.0
    """What is generated; past it the work repeats, unless `stop_after_s` ends the job first."""
    bound: Literal["compute", "memory"] = "compute"


Program = Recorded | Synthetic
