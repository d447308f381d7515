"""What the bench asks of a forecaster, and what one answers."""

from dataclasses import dataclass, field
from typing import Protocol

from easyrider_forecast_bench.series import Array, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bound of the peak at every second: what 0.99 of the peaks are said to stay under. Scored from `first_s` on."""

    first_s: int
    q99_w: Array  # (seconds, horizons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Forecasts of one series at its origins, (origins, horizons), W; and what they cost.

    `q90_w` and `q99_w` are of the peak; a rival that has none leaves them out. `failed` counts origins at which
    its fit failed or diverged and the last value stands, `fault` is the first that it raised; `restless` counts
    those whose fit did not converge.
    """

    mean_w: Array
    peak_w: Array
    us_per_tick: float
    q90_w: Array | None = None
    q99_w: Array | None = None
    bounds: Bounds | None = None
    peaks_w: Array | None = None  # the peak's forecast at every second, (seconds, horizons)
    failed: int = 0
    fault: str = ""
    restless: int = 0
    fits: int = 0
    notes: dict[str, float] = field(default_factory=dict)


class Rival(Protocol):
    """Answers for one series. At an origin it may look at what came before, and at nothing else."""

    def forecast(self, series: Series, origins_s: Array) -> Answer:
        """Forecasts at these seconds, in order of time."""
        ...


class Many(Protocol):
    """Answers for many series of one length at once."""

    def forecast_all(self, series: list[Series], origins_s: list[Array]) -> list[Answer]:
        """One answer a series."""
        ...
