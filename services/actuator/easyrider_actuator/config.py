"""What an operator sets of an actuator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import BusSettings

PREFIX = "EASYRIDER_ACTUATOR_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(BusSettings):
    """Settings of `easyrider-actuator`."""

    node: str = setting(help="name of this node, as in the power tree", fit=setting_checks.subject_token)
    socket_path: Path = setting(help="the socket of this node's guardian", fit=setting_checks.socket_path)
    region: str = setting("local", help="region of this node", fit=setting_checks.subject_token)
    tree: str = setting("site", help="id of the power tree", fit=setting_checks.subject_token)
    linger_s: float = setting(
        1.0, help="a stop waits this long for the guardian to announce that it leaves", ge=0, le=3
    )
    health_address: str = setting("127.0.0.1:0", help="where /live, /ready and /metrics are; empty: nowhere")
    health_file: Path | None = setting(
        None, help="file to write the health address to", fit=setting_checks.folder_for_file
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least level of log lines")
    log_format: Literal["json", "console"] = setting("json", help="form of log lines")
