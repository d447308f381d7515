"""Settings of the infrastructure bridge."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import BusSettings

PREFIX = "EASYRIDER_INFRA_BRIDGE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(BusSettings):
    """Everything that the bridge reads once at start."""

    meters_file: Path = setting(
        help="YAML map `meters: [...]`, each with its register map", fit=setting_checks.readable_file
    )
    region: str = setting("local", help="region the meters belong to", fit=setting_checks.subject_token)
    gate_polls: int = setting(
        5, ge=2, le=1000, help="plausible polls in a row before a meter may justify a raise"
    )
    deadline_s: float = setting(1.0, ge=0.05, le=10, help="longest wait for one answer of a meter")
