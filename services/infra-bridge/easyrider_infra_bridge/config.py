"""Settings of the infrastructure bridge."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
    tree: str = setting("site", help="id of the rules document", fit=setting_checks.subject_token)
    gate_polls: int = setting(
        5, ge=2, le=1000, help="plausible polls in a row before a meter may justify a raise"
    )
    deadline_s: float = setting(1.0, ge=0.05, le=10, help="longest wait for one answer of a meter")
    health_address: str = setting("127.0.0.1:0", help="health and metrics listen here; empty: nowhere")
    health_file: Path | None = setting(
        None, help="the bound health address is written there", fit=setting_checks.folder_for_file
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least level of log lines")
    log_format: Literal["json", "console"] = setting("json", help="form of log lines")
