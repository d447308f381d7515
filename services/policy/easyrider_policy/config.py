"""Settings of the coordinator, read once from the environment."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import StoreSettings

PREFIX = "EASYRIDER_POLICY_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(StoreSettings):
    """One coordinator of one scope. How often it plans stands in the rules (`leases.control_period_s`)."""

    region: str = setting("local", help="scope this instance governs", fit=setting_checks.subject_token)
    parent: str | None = setting(
        None,
        help="scope that grants watts to this one; rules that say otherwise are refused",
        fit=setting_checks.subject_token,
    )
    tree_file: Path | None = setting(
        None,
        help="rules document (YAML) for the first start; later the highest version wins",
        fit=setting_checks.readable_file,
    )
    state_dir: Path = setting(
        Path("/var/lib/easyrider/policy"),
        help="accepted rules and the journal, fsynced",
        fit=setting_checks.own_folder,
    )
    instance: str | None = setting(
        None, help="name of this instance in the leader lease, for people; default the host"
    )
    policy: str | None = setting(
        None,
        help="plug-in policy, by entry point or module:Class; over GPUs in pilot or enforce only if rules name it",
    )
    tick_s: float = setting(0.05, help="between looks at emergencies, grants and acks", ge=0.01, le=0.5)
