"""What an operator sets of an actuator."""

from dataclasses import dataclass
from pathlib import Path

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
    linger_s: float = setting(
        1.0, help="a stop waits this long for the guardian to announce that it leaves", ge=0, le=3
    )
