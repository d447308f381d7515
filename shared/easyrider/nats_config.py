"""The configuration of a nats-server: users by key, deny by default, JetStream for events."""

import base64
import json
import secrets
from collections.abc import Iterable
from pathlib import Path

import nkeys

from easyrider.permissions import NODE_ROLES, ROLES, Place, User, grants
from easyrider.secret_files import write_secret

MAX_PAYLOAD = 1024 * 1024
"""Bytes of the largest message; above every limit of ours, so that our own check speaks first."""


def nats_config(
    users: Iterable[User],
    port: int,
    store_dir: Path,
    *,
    host: str = "127.0.0.1",
    websocket_port: int | None = None,
    extra: str = "",
) -> str:
    """The configuration's text. JetStream writes through to the disk at every record (an audit kept in memory for
    two minutes is none); `extra` is appended as it is (TLS, cluster, monitoring)."""
    lines = [
        f"listen: {_text(f'{host}:{port}')}",
        f"max_payload: {MAX_PAYLOAD}",
        'ping_interval: "10s"',
        'write_deadline: "5s"',
        f"jetstream {{ store_dir: {_text(str(store_dir))}, sync_interval: always }}",
    ]
    if websocket_port is not None:
        lines.append(f"websocket {{ listen: {_text(f'{host}:{websocket_port}')}, no_tls: true }}")
    lines += [
        "authorization {",
        '  default_permissions { publish: { deny: ">" }, subscribe: { deny: ">" } }',
        "  users: [",
        *(_user(user) for user in users),
        "  ]",
        "}",
        extra,
    ]
    return "\n".join(lines) + "\n"


def site_users(region: str, nodes: Iterable[str], keys: dict[str, str]) -> list[User]:
    """Every user of a region for which `keys` holds a public key, by the names of `user_names`."""
    users = [User(role, role, keys[role], Place(region)) for role in ROLES if role in keys]
    for node in nodes:
        for role in NODE_ROLES:
            if (name := node_user(role, node)) in keys:
                users.append(User(name, role, keys[name], Place(region, node)))
    return users


def user_names(nodes: Iterable[str]) -> list[str]:
    """A user for each service, and one a node for those that run on every node."""
    fleet = [role for role in ROLES if role not in NODE_ROLES]
    return fleet + [node_user(role, node) for node in nodes for role in NODE_ROLES]


def node_user(role: str, node: str) -> str:
    """The user of a node's service."""
    return f"{role}-{node}"


def make_nkeys(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """A fresh key a user: its seed in `folder`/<name>.nk, mode 0600; gives the public key of each name.

    A seed that is there already is kept, so that a stack that starts again needs no new configuration.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    public = {}
    for name in names:
        public[name] = make_nkey(seed_file(folder, name))
    return public


def make_nkey(file: Path, group: int | None = None) -> str:
    """The public key of the seed in this file, made there if it is missing: mode 0600, or 0640 for a group."""
    if not file.exists():
        renew_nkey(file, group)
    return public_nkey(file)


def renew_nkey(file: Path, group: int | None = None) -> None:
    """A fresh seed in this file, whatever was there: mode 0600, or 0640 for a group."""
    write_secret(file, nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER), group)


def public_nkey(file: Path) -> str:
    """The public key of the seed in this file."""
    pair = nkeys.from_seed(bytearray(file.read_bytes().strip()))
    public: str = pair.public_key.decode()
    pair.wipe()
    return public


def is_seed(text: bytes) -> bool:
    """Whether this is the seed of a key, as `make_nkeys` writes it."""
    try:
        nkeys.from_seed(bytearray(text.strip())).wipe()
    except (nkeys.NkeysError, ValueError):
        return False
    return True


def prove(file: Path, nonce: bytes) -> tuple[str, str]:
    """(public key, signature over a server's nonce) of the user whose seed is in this file.

    Raises `OSError` where it cannot be read, `ValueError` where it holds no seed.
    """
    try:
        pair = nkeys.from_seed(bytearray(file.read_bytes().strip()))
    except nkeys.NkeysError as fault:
        raise ValueError(f"{file} holds no seed of a key") from fault
    public, signature = pair.public_key.decode(), base64.b64encode(pair.sign(nonce)).decode()
    pair.wipe()
    return public, signature


def seed_file(folder: Path, name: str) -> Path:
    """Where `make_nkeys` keeps the seed of a user; the bus takes the user's name from it."""
    return folder / f"{name}.nk"


def _user(user: User) -> str:
    allowed = grants(user)
    publish, subscribe = json.dumps(list(allowed.publish)), json.dumps(list(allowed.subscribe))
    return (
        f"    {{ nkey: {user.nkey}  # {user.name}\n"
        f"      permissions {{ publish: {{ allow: {publish} }}, subscribe: {{ allow: {subscribe} }} }} }}"
    )


def _text(value: str) -> str:
    return json.dumps(value)
