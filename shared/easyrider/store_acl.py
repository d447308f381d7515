"""Who may touch which keys of the store, with which commands: deny by default, a user a service.

Needs Redis 7.2 or newer, or Valkey: older ones know no keys that may be read and not written. A script runs with the
rights of the user that calls it, so that being allowed to load one gives nothing more.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from easyrider import store_keys as keys
from easyrider.secret_files import read_secret, write_secret
from easyrider.store_port import Login

_CONNECTS = ("auth", "hello", "ping", "select", "client|setinfo", "client|setname")
_SCRIPTS = ("evalsha", "script|load")


@dataclass(frozen=True, slots=True)
class StoreGrants:
    """Keys that a user may write and read, keys that it may only read, and commands; all else is denied."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]
    commands: tuple[str, ...]


def _policy(tree: str) -> StoreGrants:
    kinds = ("leader", "epoch", "state")
    return StoreGrants(
        (keys.rules(tree), *(keys.every(tree, kind) for kind in kinds)),
        (),
        ("get", "set", "del", "pexpire", "hget", "hset", "hmget", "hgetall", *_SCRIPTS),
    )


def _api(tree: str) -> StoreGrants:
    return StoreGrants(
        (keys.rules(tree), keys.every(tree, "token"), keys.every(tree, "receipt")),
        tuple(keys.every(tree, kind) for kind in ("leader", "epoch", "state")),
        ("get", "set", "del", "pexpire", "hget", "hset", "hmget", "hgetall", "hdel", *_SCRIPTS),
    )


def _forecaster(tree: str) -> StoreGrants:
    return StoreGrants((keys.every(tree, "fp"),), (keys.rules(tree),), ("get", "set", "hmget"))


STORE_USERS: dict[str, Callable[[str], StoreGrants]] = {
    "policy": _policy,
    "api": _api,
    "forecaster": _forecaster,
}
"""Services that use the store; no other has a user there."""
ADMIN = "admin"
"""The operator's user, who may do everything: renew certificates and passwords, look into the store."""


def grants(user: str, tree: str) -> StoreGrants:
    """What this user may do in the store of a tree. Raises `KeyError` for a service that has no business there."""
    said = STORE_USERS[user](tree)
    return StoreGrants(said.writes, said.reads, (*_CONNECTS, *said.commands))


def acl(tree: str, password_hashes: Mapping[str, str]) -> str:
    """The text of an ACL file: the default user off, each named user with what is its own."""
    lines = ["user default off resetkeys resetchannels -@all"]
    for user, digest in password_hashes.items():
        if user == ADMIN:
            lines.append(f"user {ADMIN} on #{digest} ~* &* +@all")
            continue
        allowed = grants(user, tree)
        patterns = [f"~{key}" for key in allowed.writes] + [f"%R~{key}" for key in allowed.reads]
        commands = [f"+{command}" for command in allowed.commands]
        lines.append(" ".join([f"user {user} on #{digest} resetchannels", *patterns, "-@all", *commands]))
    return "\n".join(lines) + "\n"


def make_passwords(files: Mapping[str, Path], group: int | None = None) -> dict[str, str]:
    """256 random bits a user, in its file; gives the hash of each. A password that is there already is kept."""
    hashes = {}
    for user, file in files.items():
        if not file.exists():
            write_secret(file, secrets.token_hex(32) + "\n", group)
        hashes[user] = hashlib.sha256(read_secret(file).encode()).hexdigest()
    return hashes


def password_files(folder: Path, users: Iterable[str] = (*STORE_USERS, ADMIN)) -> dict[str, Path]:
    """Where one folder keeps the password of each user."""
    return {user: folder / f"{user}.password" for user in users}


def login(folder: Path, user: str) -> Login:
    """How a user of that folder shows itself."""
    return Login(user, password_files(folder, [user])[user])
