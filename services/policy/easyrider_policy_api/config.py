"""Settings of the admin API, read once from the environment."""

from dataclasses import dataclass
from pathlib import Path

from easyrider import setting_checks
from easyrider.config import setting
from easyrider.connection_settings import StoreSettings
from easyrider_policy_api.core import peers

PREFIX = "EASYRIDER_POLICY_API_"


def _networks(values: tuple[str, ...]) -> None:
    peers.networks(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(StoreSettings):
    """One admin API of one scope; as many as you like may run."""

    region: str = setting("local", help="scope whose coordinator is asked", fit=setting_checks.subject_token)
    address: str = setting("127.0.0.1:8480", help="host:port of the API; port 0: a free one")
    address_file: Path | None = setting(
        None, help="where the bound address is written", fit=setting_checks.folder_for_file
    )
    server_certificate_file: Path | None = setting(
        None, help="certificate of the API itself", fit=setting_checks.readable_file
    )
    server_key_file: Path | None = setting(
        None, help="key of that certificate", fit=setting_checks.readable_file
    )
    plain_http: bool = setting(False, help="true: no TLS beyond this machine either; a proxy does it")
    proxies: tuple[str, ...] = setting(
        (), help="networks of proxies whose X-Forwarded-For is believed", fit=_networks
    )
    bootstrap_file: Path | None = setting(
        None,
        help="record of the first admin token, as `easyrider init` writes it; holds its hash alone",
        fit=setting_checks.readable_file,
    )
    state_dir: Path = setting(
        Path("/var/lib/easyrider/policy-api"),
        help="the audit journal, and that the first token was revoked; fsynced",
        fit=setting_checks.own_folder,
    )
    token_requests_per_s: float = setting(50.0, help="requests of one token", ge=0.1, le=10_000)
    peer_requests_per_s: float = setting(100.0, help="requests of one address", ge=0.1, le=10_000)
    peer_connections: int = setting(
        64, help="connections of one address at once, proxies apart", ge=1, le=4096
    )
    login_failures_per_min: float = setting(10.0, help="wrong tokens of one address", ge=1, le=1_000)
    body_limit_bytes: int = setting(2 * 1024 * 1024, help="largest body taken", ge=1024, le=64 * 1024 * 1024)
    body_timeout_s: float = setting(10.0, help="for a whole body to come", ge=0.5, le=300)
    head_timeout_s: float = setting(10.0, help="for the head of a request to come", ge=0.5, le=300)
    estimator_file: Path | None = setting(
        None,
        help="model of `easyrider train` that estimates are made by; missing or damaged: they are nameplates",
    )
    niceness: int = setting(
        5,
        help="how far it gives way to what else runs on its machine: people wait, limits do not",
        ge=0,
        le=19,
    )
    ask_deadline_s: float = setting(1.0, help="for a coordinator to answer", ge=0.1, le=10)

    def __post_init__(self) -> None:
        """Raises `ValueError` where settings do not fit each other."""
        StoreSettings.__post_init__(self)  # a slotted record has no zero-argument super()
        if (self.server_certificate_file is None) != (self.server_key_file is None):
            raise ValueError("SERVER_CERTIFICATE_FILE and SERVER_KEY_FILE belong together: one is missing")
        host = self.address.rpartition(":")[0].strip("[]")
        here = host in ("localhost", "::1") or host.startswith("127.")
        if self.server_certificate_file is None and not here and not self.plain_http:
            raise ValueError(
                f"ADDRESS {self.address} is not this machine alone, and tokens would travel in plain text: set "
                "SERVER_CERTIFICATE_FILE and SERVER_KEY_FILE, or PLAIN_HTTP=true where a proxy does TLS"
            )
