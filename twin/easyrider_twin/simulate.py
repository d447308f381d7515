"""A run in virtual time, without files or processes."""

from collections.abc import Callable
from dataclasses import dataclass

from easyrider_twin.outcome import FloatArray, Outcome
from easyrider_twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a controller in virtual time may look at."""

    t_s: float
    power_w: FloatArray  # true draw of every board, node by node
    limit_w: FloatArray
    wall_w: dict[str, float]
    hard_w: dict[str, float]
    target_w: dict[str, float]


Controller = Callable[[Snapshot], FloatArray]
"""New limits of all boards, shape (n_gpus,), W."""


def simulate(
    world: World,
    seconds: float,
    *,
    caps_w: None | float | Controller = None,
    control_s: float = 1.0,
    trips: bool = True,
    failures: bool = True,
) -> Outcome:
    """Outcome of `seconds` with default limits, one equal cap, or a controller asked each `control_s`."""
    raise NotImplementedError


def busiest_minute(
    outcome: Outcome, domain: str, *, earliest_s: float, latest_s: float, window_s: float = 60.0
) -> tuple[float, float]:
    """(begin in s, mean W) of the window with the highest mean wall power that begins in the given span."""
    raise NotImplementedError
