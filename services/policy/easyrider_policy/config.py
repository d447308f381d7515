"""Settings of the coordinator, read once from the environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider import address_checks, setting_checks
from easyrider.config import setting

PREFIX = "EASYRIDER_POLICY_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One coordinator of one scope. How often it plans stands in the rules (`leases.control_period_s`)."""

    region: str = setting("local", help="scope this instance governs", fit=setting_checks.subject_token)
    tree: str = setting("site", help="id of the rules document", fit=setting_checks.subject_token)
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
    nats_url: str = setting("nats://127.0.0.1:4222", help="bus", fit=address_checks.nats_address)
    seed_file: Path | None = setting(
        None, help="file with this service's nkey seed", fit=setting_checks.seed_file
    )
    redis_url: str = setting("redis://127.0.0.1:6379/0", help="state store", fit=address_checks.redis_address)
    instance: str | None = setting(
        None, help="name of this instance in the leader lease, for people; default the host"
    )
    tick_s: float = setting(0.05, help="between looks at emergencies, grants and acks", ge=0.01, le=0.5)
    health_address: str = setting("127.0.0.1:0", help="host:port of /live, /ready and /metrics; empty: none")
    health_file: Path | None = setting(
        None, help="where the bound address is written", fit=setting_checks.folder_for_file
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least urgent line logged")
    log_format: Literal["json", "console"] = setting("json", help="for machines or for people")
