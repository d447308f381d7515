"""Settings of the infrastructure bridge."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider.config import setting

PREFIX = "EASYRIDER_INFRA_BRIDGE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that the bridge reads once at start."""

    meters_file: Path = setting(help="YAML list of meters and their register maps")
    region: str = setting("local", help="region the meters belong to")
    tree: str = setting("site", help="id of the rules document")
    nats_url: str = setting("nats://127.0.0.1:4222", help="address of the bus")
    seed_file: Path | None = setting(None, help="file with this user's nkey seed")
    gate_polls: int = setting(
        5, ge=2, le=1000, help="plausible polls in a row before a meter may justify a raise"
    )
    deadline_s: float = setting(1.0, ge=0.05, le=10, help="longest wait for one answer of a meter")
    health_address: str = setting("127.0.0.1:0", help="health and metrics listen here; empty: nowhere")
    health_file: Path | None = setting(None, help="the bound health address is written there")
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least level of log lines")
    log_format: Literal["json", "console"] = setting("json", help="form of log lines")
