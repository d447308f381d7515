"""Settings of the telemetry service."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import BusSettings

PREFIX = "EASYRIDER_TELEMETRY_"


def _engine(address: str) -> None:
    if not address.startswith(("unix:///", "tcp://", "http://", "https://")):
        raise ValueError(f"is {address!r}, no address of an engine: unix:///PATH or tcp://HOST:PORT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(BusSettings):
    """Everything that telemetry reads once at start."""

    node: str = setting(
        help="this node's id, the same as in the power tree", fit=setting_checks.subject_token
    )
    region: str = setting("local", help="region the node belongs to", fit=setting_checks.subject_token)
    sampling_hz: float = setting(10.0, ge=1, le=10, help="looks at every board per second")
    frame_s: float = setting(0.1, ge=0.1, le=1, help="time between frames")
    library: Path | None = setting(None, help="the NVML library, where the linker does not find it")
    jobs_file: Path | None = setting(None, help="JSON list of this node's jobs, replaced by rename")
    jobs_docker: str | None = setting(
        None, help="Docker engine whose containers are jobs, unix:///var/run/docker.sock", fit=_engine
    )
    docker_labels: str = setting(
        "easyrider.", help="what the labels job, tenant, priority, queue and type begin with"
    )
    docker_every_s: float = setting(10.0, ge=2, le=300, help="time between looks at processes and containers")
    phase_socket: Path | None = setting(
        None, help="unix datagram socket that takes phase marks", fit=setting_checks.folder_for_socket
    )

    def __post_init__(self) -> None:
        """Raises `ValueError` where settings do not fit each other."""
        BusSettings.__post_init__(self)
        if self.frame_s * self.sampling_hz < 0.999:
            raise ValueError(
                f"frame_s {self.frame_s:g} is shorter than the time between looks, {1 / self.sampling_hz:g} s"
            )
