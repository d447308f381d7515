"""What the forecaster expects."""

from typing import Literal

from easyrider.messages.base import Count, Message, Name, Ratio, Record, Watts


class HorizonForecast(Record, frozen=True):
    """Managed GPU watts over the next `horizon_s`: mean over it, and quantiles of the highest 100 ms mean in it."""

    horizon_s: float
    mean_w: Watts
    peak_w: Watts  # point forecast of the peak
    peak_q90_w: Watts
    peak_q99_w: Watts


class SeriesForecast(Record, frozen=True):
    """One job or domain. `draw` is under present limits, `demand` as if uncapped."""

    scope: Literal["job", "domain"]
    id: Name
    gpu_count: Count
    draw: tuple[HorizonForecast, ...]
    demand: tuple[HorizonForecast, ...]
    period_s: float | None  # iteration period; nil: none found or not observable
    confidence: Ratio
    reasons: tuple[str, ...]  # why the confidence is not 1
    model: str
    censored: Ratio  # share of samples hidden by a limit
    basis: Literal["fingerprint", "observed", "nameplate"]
    next_rise_s: float | None = None  # until power next rises to the plateau; nil: unknown
    next_fall_s: float | None = None  # until it next falls: communication, or a checkpoint that is due


class PowerForecast(Message, tag="power_forecast", frozen=True):
    """Everything the forecaster expects of a region, once a control period."""

    region: Name
    boot_id: Name
    seq: Count
    t_ns: int
    mono_ns: Count
    series: tuple[SeriesForecast, ...]
