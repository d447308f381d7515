"""Settings that every service on the bus has, and those that also use the store: stated once, inherited by each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from easyrider import address_checks, setting_checks
from easyrider.config import setting
from easyrider.store_port import Login
from easyrider.tls import TlsFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSettings:
    """Whose rules hold here, where the bus is, who we are there, whom we believe, and how we tell of ourselves."""

    tree: str = setting("site", help="id of the rules document", fit=setting_checks.subject_token)

    nats_url: str = setting(
        "nats://127.0.0.1:4222",
        help="address of the bus; tls:// for anything but this machine",
        fit=address_checks.nats_address,
    )
    seed_file: Path | None = setting(
        None, help="nkey seed of this user, its name being the user's", fit=setting_checks.seed_file
    )
    ca_file: Path | None = setting(
        None, help="authority that signed the servers' certificates", fit=setting_checks.readable_file
    )
    certificate_file: Path | None = setting(
        None, help="certificate shown to servers that ask for one", fit=setting_checks.readable_file
    )
    key_file: Path | None = setting(
        None, help="key of the certificate that is shown", fit=setting_checks.readable_file
    )
    health_address: str = setting("127.0.0.1:0", help="host:port of /live, /ready and /metrics; empty: none")
    health_file: Path | None = setting(
        None, help="the bound health address is written there", fit=setting_checks.folder_for_file
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", help="least urgent line logged")
    log_format: Literal["json", "console"] = setting("json", help="for machines or for people")

    def __post_init__(self) -> None:
        """Raises `ValueError` where settings do not fit each other."""
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("CERTIFICATE_FILE and KEY_FILE belong together: one is missing")
        _encrypted_alike("NATS_URL", self.nats_url, ("tls", "wss"), self.ca_file)
        if self.tls is not None:
            try:
                self.tls.context()
            except OSError as fault:  # an SSLError is one: files that are no certificates
                raise ValueError(
                    f"CA_FILE, CERTIFICATE_FILE and KEY_FILE make no sense together: {fault}"
                ) from fault

    @property
    def tls(self) -> TlsFiles | None:
        """What TLS needs; None: nothing is set, and only the scheme of an address may ask for it."""
        if self.ca_file is None and self.certificate_file is None:
            return None
        return TlsFiles(ca=self.ca_file, certificate=self.certificate_file, key=self.key_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings(BusSettings):
    """The same, and where the store is; both servers are signed by one authority."""

    redis_url: str = setting(
        "redis://127.0.0.1:6379/0",
        help="state store; rediss:// for anything but this machine",
        fit=address_checks.redis_address,
    )
    redis_user: str | None = setting(None, help="this service's user of the store")
    redis_password_file: Path | None = setting(
        None, help="file with the password of that user", fit=setting_checks.readable_file
    )

    def __post_init__(self) -> None:
        """Raises `ValueError` where settings do not fit each other."""
        BusSettings.__post_init__(self)  # a slotted record has no zero-argument super()
        if (self.redis_user is None) != (self.redis_password_file is None):
            raise ValueError("REDIS_USER and REDIS_PASSWORD_FILE belong together: one is missing")
        _encrypted_alike("REDIS_URL", self.redis_url, ("rediss",), self.ca_file)

    @property
    def login(self) -> Login | None:
        """Who we are at the store; None: nobody in particular, which a store that is set up refuses."""
        if self.redis_user is None or self.redis_password_file is None:
            return None
        return Login(self.redis_user, self.redis_password_file)


def _encrypted_alike(name: str, url: str, schemes: tuple[str, ...], ca_file: Path | None) -> None:
    if all(part.strip().startswith(tuple(f"{scheme}://" for scheme in schemes)) for part in url.split(",")):
        return
    if url.startswith("unix://"):
        return
    if ca_file is not None:
        raise ValueError(
            f"{name} is plain text though CA_FILE names an authority: let it begin with {schemes[0]}://"
        )
    if address_checks.beyond_this_machine(url):
        raise ValueError(
            f"{name} {url} is plain text beyond this machine: let it begin with {schemes[0]}://, and name the "
            "authority of its server by CA_FILE (`easyrider init` writes both)"
        )
