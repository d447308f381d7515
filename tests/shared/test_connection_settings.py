"""How a service reaches bus and store: what does not fit together is told before anything is opened."""

from pathlib import Path

import pytest
from installed_site import settings, write_site

from easyrider.config import from_env
from easyrider.connection_settings import StoreSettings
from easyrider.errors import BadConfig
from easyrider.store_port import Login


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(Path(tmp_path_factory.mktemp("x")) / "site")


def read(folder: Path, **other: str | None) -> StoreSettings:
    """The policy's settings, some of them replaced or left out."""
    told = settings(folder / "policy" / "policy.env")
    known = {name.removeprefix("EASYRIDER_POLICY_"): value for name, value in told.items()}
    wanted = {n: v for n, v in known.items() if n.startswith(("NATS", "REDIS", "CA", "CERT", "KEY", "SEED"))}
    wanted |= {name: value for name, value in other.items() if value is not None}
    environ = {f"X_{n}": v for n, v in wanted.items() if other.get(n, "") is not None}
    return from_env(StoreSettings, environ, "X_")


def test_what_init_writes_says_who_we_are_and_whom_we_believe(folder: Path) -> None:
    config = read(folder)

    here = folder / "policy"
    assert config.tls is not None
    assert (config.tls.ca, config.tls.certificate) == (here / "ca.pem", here / "certificate.pem")
    assert config.login == Login("policy", here / "store.password")


def test_nothing_set_is_this_machine_in_plain_text(folder: Path) -> None:
    config = from_env(StoreSettings, {}, "X_")

    assert (config.tls, config.login) == (None, None)
    assert config.nats_url.startswith("nats://127.0.0.1")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"NATS_URL": "nats://127.0.0.1:4222"}, "NATS_URL is plain text though CA_FILE"),
        ({"REDIS_URL": "redis://127.0.0.1:6379"}, "REDIS_URL is plain text though CA_FILE"),
        ({"NATS_URL": "tls://a,nats://b"}, "NATS_URL is plain text though CA_FILE"),
        ({"KEY_FILE": None}, "CERTIFICATE_FILE and KEY_FILE belong together"),
        ({"REDIS_USER": None}, "REDIS_USER and REDIS_PASSWORD_FILE belong together"),
        ({"REDIS_PASSWORD_FILE": None}, "REDIS_USER and REDIS_PASSWORD_FILE belong together"),
        ({"CA_FILE": "/dev/null"}, "make no sense together"),
    ],
)
def test_what_does_not_fit_together_is_told(folder: Path, other: dict[str, str | None], said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        read(folder, **other)


def test_a_certificate_with_the_key_of_another_is_told(folder: Path) -> None:
    with pytest.raises(BadConfig, match="make no sense together"):
        read(folder, KEY_FILE=str(folder / "forecaster" / "key.pem"))


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("NATS_URL", "nats://10.0.0.5:4222"),
        ("NATS_URL", "nats://127.0.0.1:4222,nats://bus.example"),
        ("NATS_URL", "ws://bus.example"),
        ("REDIS_URL", "redis://store.example:6379/0"),
    ],
)
def test_plain_text_goes_no_further_than_this_machine(name: str, url: str) -> None:
    with pytest.raises(BadConfig, match="plain text beyond this machine"):
        from_env(StoreSettings, {f"X_{name}": url}, "X_")


@pytest.mark.parametrize(
    "url", ["nats://localhost:4222", "nats://127.0.1.1", "nats://[::1]:4222", "tls://bus.example"]
)
def test_tls_and_this_machine_are_taken(url: str) -> None:
    assert (
        from_env(StoreSettings, {"X_NATS_URL": url, "X_REDIS_URL": "unix:///run/redis.sock"}, "X_").nats_url
        == url
    )
