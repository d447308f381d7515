"""Settings of the forecaster."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import StoreSettings

PREFIX = "EASYRIDER_FORECASTER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(StoreSettings):
    """One forecaster of one region."""

    region: str = setting("local", help="region that is forecast", fit=setting_checks.subject_token)
    tree_file: Path | None = setting(
        None, help="rules document; without it the one in the store is used", fit=setting_checks.readable_file
    )
    control_period_s: float = setting(1.0, ge=1, le=5, help="time between forecasts")
    gpu_max_w: float = setting(
        700.0,
        ge=50,
        le=5000,
        help="device maximum of a GPU whose class declares none; a higher limit raises it",
    )
    compiled_from: int = setting(
        500,
        ge=1,
        le=1_000_000,
        help="series from which on the steps of a second are compiled (90 MB, a minute once)",
    )
    fits: bool = setting(True, help="fit level parameters in a process of low priority")
