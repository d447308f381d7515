"""Settings of the recorder."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks, subjects
from easyrider.config import setting
from easyrider.connection_settings import StoreSettings

PREFIX = "EASYRIDER_RECORDER_"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(StoreSettings):
    """Everything that the recorder reads once at start."""

    folder: Path = setting(
        help="recordings are written there, a folder a region", fit=setting_checks.own_folder
    )
    region: str = setting("local", help="region the recorder stands in", fit=setting_checks.subject_token)
    kinds: tuple[str, ...] = setting(subjects.KINDS, help="kinds of subjects that are recorded")
    keep_mib: float = setting(50_000.0, ge=16, le=1e9, help="size of all recordings; the oldest are removed")
    min_free_mib: float = setting(1024.0, ge=0, le=1e9, help="the disk keeps so much free for others, MiB")
    queue_mib: float = setting(64.0, ge=1, le=4096, help="messages that wait for a slow disk, MiB")

    def __post_init__(self) -> None:
        """Raises `ValueError` where settings do not fit each other."""
        StoreSettings.__post_init__(self)
        unknown = [kind for kind in self.kinds if kind not in subjects.KINDS]
        if unknown:
            raise ValueError(f"KINDS names {', '.join(unknown)}; there are {', '.join(subjects.KINDS)}")
