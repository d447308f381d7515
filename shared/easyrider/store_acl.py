"""Who may touch which keys of the store, with which commands: deny by default, a user a service.

Needs Redis 7.0 or newer, or Valkey: older ones know no keys that may be read and not written. A script runs with the
rights of the user that calls it, so that being allowed to load one gives nothing more.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from easyrider import store_keys as keys
from easyrider.secret_files import read_secret, write_secret
from easyrider.store_port import Login

CONNECTS = ("auth", "hello", "ping", "select")
"""What everyone may say to come in."""
_SCRIPTS = ("evalsha", "script|load")
_SCOPED = ("leader", "epoch", "state")


@dataclass(frozen=True, slots=True)
class StoreGrants:
    """Keys that a user may write and read, keys that it may only read, and commands; all else is denied."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUser:
    """One user of the store, what it is, and the hash of its password. `scope`: its own; None: any of the tree.

    `former_hash`: of a password that opens too, while it is being renewed.
    """

    name: str
    role: str
    password_hash: str
    scope: str | None = None
    former_hash: str | None = None


def _policy(tree: str, scope: str | None) -> StoreGrants:
    own = (keys.leader, keys.epoch, keys.state)
    of_scope = (
        [keys.every(tree, kind) for kind in _SCOPED] if scope is None else [k(tree, scope) for k in own]
    )
    return StoreGrants(
        (keys.rules(tree), *of_scope),
        (),
        ("get", "set", "del", "pexpire", "hget", "hset", "hmget", "hgetall", *_SCRIPTS),
    )


def _api(tree: str, _scope: str | None) -> StoreGrants:
    return StoreGrants(
        (keys.rules(tree), keys.every(tree, "token"), keys.every(tree, "receipt")),
        (*(keys.every(tree, kind) for kind in _SCOPED), keys.fingerprints(tree), keys.accuracy(tree)),
        ("get", "set", "del", "hget", "hset", "hdel", "hmget", "hgetall", *_SCRIPTS),
    )


def _forecaster(tree: str, _scope: str | None) -> StoreGrants:
    return StoreGrants(
        (keys.fingerprints(tree), keys.accuracy(tree)),
        (keys.rules(tree),),
        ("hget", "hset", "hdel", "hmget", "hgetall", *_SCRIPTS),
    )


def _recorder(tree: str, _scope: str | None) -> StoreGrants:
    return StoreGrants((), (keys.rules(tree),), ("hmget",))


STORE_ROLES: dict[str, Callable[[str, str | None], StoreGrants]] = {
    "policy": _policy,
    "api": _api,
    "forecaster": _forecaster,
    "recorder": _recorder,
}
"""Services that use the store; no other has a user there."""
ADMIN = "admin"
"""The operator's user, who may do everything: renew certificates and passwords, look into the store."""


def grants(role: str, tree: str, scope: str | None = None) -> StoreGrants:
    """What this service may do in the store of a tree. Raises `KeyError` for one that has no business there."""
    said = STORE_ROLES[role](tree, scope)
    return StoreGrants(said.writes, said.reads, (*CONNECTS, *said.commands))


def acl(tree: str, users: Iterable[StoreUser]) -> str:
    """The text of an ACL file: the default user off, each user with what is its own."""
    lines = ["user default off resetpass resetkeys resetchannels -@all"]
    for user in users:
        former = f" #{user.former_hash}" if user.former_hash is not None else ""
        known = f"user {user.name} on #{user.password_hash}{former}"
        if user.role == ADMIN:
            lines.append(f"{known} ~* &* +@all")
            continue
        allowed = grants(user.role, tree, user.scope)
        patterns = [f"~{key}" for key in allowed.writes] + [f"%R~{key}" for key in allowed.reads]
        commands = [f"+{command}" for command in allowed.commands]
        lines.append(" ".join([known, "resetchannels", *patterns, "-@all", *commands]))
    return "\n".join(lines) + "\n"


def password_hash(file: Path, group: int | None = None) -> str:
    """The hash of the password in this file, made there if it is missing: 256 random bits."""
    if not file.exists():
        renew_password(file, group)
    return hashlib.sha256(read_secret(file).encode()).hexdigest()


def renew_password(file: Path, group: int | None = None) -> None:
    """A fresh password in this file, whatever was there: mode 0600, or 0640 for a group."""
    write_secret(file, secrets.token_hex(32) + "\n", group)


def one_site(folder: Path) -> list[StoreUser]:
    """A user for each service of a tree with one scope, and the operator's; passwords are kept in `folder`."""
    return [
        StoreUser(name=role, role=role, password_hash=password_hash(login(folder, role).password_file))
        for role in (*STORE_ROLES, ADMIN)
    ]


def login(folder: Path, user: str) -> Login:
    """How a user shows itself whose password `one_site` keeps in this folder."""
    return Login(user, folder / f"{user}.password")
