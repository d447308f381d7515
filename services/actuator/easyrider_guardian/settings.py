"""What an operator sets of a guardian."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider import setting_checks
from easyrider.config import setting
from easyrider_guardian.core.permission import ROOT_UID
from easyrider_guardian.core.records import Terms

PREFIX = "EASYRIDER_GUARDIAN_"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of `easyrider-guardian`."""

    node: str = setting(help="name of this node, as in the power tree", fit=setting_checks.subject_token)
    state_dir: Path = setting(
        help="folder for state, baseline and the record of writes (made, mode 0700)",
        fit=setting_checks.own_folder,
    )
    socket_path: Path = setting(
        help="where to listen for the actuator and `easyrider restore`", fit=setting_checks.folder_for_socket
    )
    region: str = setting("local", help="region of this node", fit=setting_checks.subject_token)
    tree: str = setting(
        "site",
        help="id of the power tree; commands of another one are refused",
        fit=setting_checks.subject_token,
    )
    peer_uid: int | None = setting(
        None,
        help="user of the actuator; ours and root may speak to the socket too, and only those two may restore",
        ge=0,
    )
    fallback_w: float | None = setting(
        None,
        help="limit per GPU where none was told or the state was lost; must equal fallback_w_per_gpu of this node in "
        "the rules, by which the coordinator counts; empty: the device minimum",
        ge=1,
        le=100_000,
    )
    dead_man_s: float = setting(
        10.0,
        help="without a grant this long: min(present, fallback); must equal leases.dead_man_s of the rules",
        ge=2,
        le=600,
    )
    second_stage_s: float = setting(
        60.0,
        help="without a grant this long: the fallback; must equal leases.second_stage_s of the rules",
        ge=3,
        le=3600,
    )
    leave_s: float = setting(3.0, help="a stop waits this long for leave to restore", ge=0.1, le=8)
    keep: bool = setting(False, help="a stop leaves limits as they are (restart, upgrade)")
    nvml_library: Path | None = setting(None, help="NVML library to load; empty: libnvidia-ml.so.1")
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least level of log lines")
    log_format: Literal["json", "console"] = setting("json", help="form of log lines")

    def __post_init__(self) -> None:
        if self.second_stage_s <= self.dead_man_s:
            raise ValueError("SECOND_STAGE_S must be longer than DEAD_MAN_S")

    @property
    def terms(self) -> Terms:
        """The settings that decide."""
        return Terms(
            tree=self.tree,
            region=self.region,
            node=self.node,
            fallback_w=self.fallback_w,
            dead_man_s=self.dead_man_s,
            second_stage_s=self.second_stage_s,
        )

    @property
    def peer_uids(self) -> frozenset[int]:
        """Users that may connect: ours, root, and the actuator's."""
        own = {os.geteuid(), ROOT_UID}
        return frozenset(own if self.peer_uid is None else {*own, self.peer_uid})
