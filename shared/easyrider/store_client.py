"""The store's client library as we use it: no retries of its own, secrets and certificates read when it connects."""

from collections.abc import Mapping
from typing import Any

import redis.asyncio
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider

from easyrider.store_port import Login
from easyrider.tls import TlsFiles


def open_client(url: str, deadline_s: float, login: Login | None, tls: TlsFiles | None) -> Any:
    """A client that connects when it is first used; `tls` is for a URL that begins with rediss://."""
    pool = redis.asyncio.ConnectionPool.from_url(
        url,
        socket_timeout=deadline_s,
        socket_connect_timeout=deadline_s,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        **({} if login is None else {"credential_provider": _FromFile(login)}),
    )
    if pool.connection_class is redis.asyncio.SSLConnection:
        pool.connection_class = _Encrypted
        pool.connection_kwargs["files"] = tls or TlsFiles()
    elif pool.connection_class is redis.asyncio.Connection:
        if tls is not None:
            raise ValueError(
                "the store's address begins with redis://, which is plain text, where TLS is set up"
            )
        pool.connection_class = _Plain
    return redis.asyncio.Redis.from_pool(pool)


class _FromFile(CredentialProvider):
    """Reads the password for each connection: it may be renewed while we run."""

    def __init__(self, login: Login) -> None:
        self._login = login

    def get_credentials(self) -> tuple[str, str]:
        try:
            return self._login.user, self._login.password_file.read_text().strip()
        except OSError as fault:
            raise exceptions.ConnectionError(
                f"the password of {self._login.user} cannot be read: {self._login.password_file}: {fault.strerror}"
            ) from fault

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


def _unnamed(connection: Any) -> None:
    """Have it not tell the server which library it is: a command more to grant, and unknown to Redis 7.0."""
    connection.driver_info = connection.lib_name = connection.lib_version = None


class _Plain(redis.asyncio.Connection):
    """For this machine."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        _unnamed(self)


class _Encrypted(redis.asyncio.SSLConnection):
    """Makes the context anew for each connection: certificates are renewed while we run."""

    def __init__(self, *, files: TlsFiles, **arguments: Any) -> None:
        super().__init__(**arguments)
        _unnamed(self)
        self._files = files

    def _connection_arguments(self) -> Mapping[str, Any]:
        arguments = dict(redis.asyncio.Connection._connection_arguments(self))
        arguments["ssl"] = self._files.context()
        return arguments
