"""What the synthetic jobs of the scenarios do: ranges as published for language model training."""

import numpy as np

from easyrider_bench.cases import STEP_S, HallJob
from easyrider_bench.controllers.contract import Ints
from easyrider_twin import synthetic
from easyrider_twin.programs import Synthetic
from easyrider_twin.world import GpuModel

MODEL = GpuModel()
PLATEAU = (0.85, 0.98)
PERIOD_S = (1.0, 10.0)
COMMUNICATION_SHARE, COMMUNICATION_RATIO = (0.05, 0.30), (0.25, 0.50)
SETUP_S = (8.0, 18.0)
CHECKPOINT_EVERY_S, CHECKPOINT_S = (90.0, 240.0), (6.0, 16.0)


def on_step_s(t_s: float) -> float:
    """The step of the hall nearest to a moment, so that a job's window is a whole number of them."""
    return round(round(t_s / STEP_S) * STEP_S, 6)


def training(
    rng: np.random.Generator,
    name: str,
    boards: Ints,
    window_s: tuple[float, float],
    priority_class: str,
    *,
    stalls_per_min: float = 0.0,
) -> HallJob:
    """One synchronous training with checkpoints in its window (begin, end), on whole steps."""
    window_s = (on_step_s(window_s[0]), on_step_s(window_s[1]))
    period_s = float(np.exp(rng.uniform(*np.log(PERIOD_S))))
    program = Synthetic(
        seed=int(rng.integers(2**31)),
        period_s=period_s,
        plateau_ratio=float(rng.uniform(*PLATEAU)),
        communication_share=float(rng.uniform(*COMMUNICATION_SHARE)),
        communication_ratio=float(rng.uniform(*COMMUNICATION_RATIO)),
        setup_s=float(rng.uniform(*SETUP_S)),
        checkpoint_every_s=float(rng.uniform(*CHECKPOINT_EVERY_S)),
        checkpoint_s=float(rng.uniform(*CHECKPOINT_S)),
        data_stalls_per_min=stalls_per_min,
        length_s=window_s[1] - window_s[0] + 60.0,
    )
    return HallJob(
        id=name,
        type_key=f"synthetic-{name}",
        priority_class=priority_class,
        boards=boards,
        begin_s=window_s[0],
        end_s=window_s[1],
        tape=synthetic.tape(program, len(boards), MODEL, 0),
    )
