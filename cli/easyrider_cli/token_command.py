"""`easyrider token`: the first token of an API is made by whoever may write in its store."""

import asyncio
import dataclasses
import json
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from rich.console import Console
from rich.table import Table

from easyrider import store_acl, store_keys, tokens
from easyrider.admin_store import AdminStore
from easyrider.errors import EasyRiderError
from easyrider.moments import rfc_3339
from easyrider.store_port import Login, StoreRefused
from easyrider.tls import TlsFiles
from easyrider.tokens import Role, Token
from easyrider_cli import address
from easyrider_cli.apart import NotTogether
from easyrider_cli.rundir import RunFolder, default_root

T = TypeVar("T")
_DEADLINE_S = 5.0
_ROLE_OF_STORE = "api"
_ADDRESSES = ("redis://", "rediss://", "unix://")


class NoToken(EasyRiderError):
    """There is no such token, or more than one goes by that name."""


class BadPlace(EasyRiderError):
    """What was said of a store cannot be used; nothing was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A store, who we are there, and the tree."""

    redis_url: str
    tree: str
    login: Login | None = None
    tls: TlsFiles | None = None


def place(run: Path | None, installation: Path | None, redis_url: str | None, tree: str | None) -> Place:
    """Where to look: an installation's folder, an address alone, else the stack that is up.

    Raises `BadPlace`, `NotTogether`, `NoStack`, `NoToken`.
    """
    if redis_url is not None and run is not None:
        raise NotTogether("--redis-url", "--run")
    if installation is not None and run is not None:
        raise NotTogether("--installation", "--run")
    if redis_url is not None and not redis_url.startswith(_ADDRESSES):
        raise BadPlace("--redis-url is no address such as redis://host:6379 or rediss://host:6379")
    if tree is not None:
        try:
            store_keys.rules(tree)
        except store_keys.BadKeyPart as fault:
            raise BadPlace(f"--tree {fault}") from fault
    if installation is not None:
        return _of_installation(installation, redis_url, tree)
    if redis_url is not None:
        return Place(redis_url=redis_url, tree=tree or "site")
    root = run or default_root()
    up = address.read(root)
    guarded = up.watcher_seed is not None
    login = store_acl.login(RunFolder(root).state("keys"), _ROLE_OF_STORE) if guarded else None
    return Place(redis_url=up.redis_url, tree=tree or up.tree, login=login)


def create(
    where: Place, name: str, role: str, tenant: str, lifetime_s: float, out: Path | None, console: Console
) -> int:
    """Exit code 0; the token is on stdout alone, or in `out`. Raises `BadToken`, `StoreSilent`."""
    now_s = time.time()
    shown, token = tokens.make(name, cast(Role, role), tenant, now_s, lifetime_s)
    handle = None if out is None else os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    _in_store(where, lambda store: store.save_token(where.tree, token, now_s))
    console.print(
        f"token {token.id} of {name}: {role}{f' of tenant {tenant}' if tenant else ''}, opens until "
        f"{rfc_3339(token.expires_s)}; it is shown this once",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    if handle is None:
        print(shown)
    else:
        with os.fdopen(handle, "w") as file:
            file.write(shown + "\n")
    return 0


def show(where: Place, as_json: bool, console: Console) -> int:
    """Exit code 0."""
    found = _in_store(where, lambda store: store.load_tokens(where.tree, time.time()))
    if as_json:
        print(json.dumps([_told(token) for token in found]))
        return 0
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "name", "role", "tenant", "expires", ""):
        table.add_column(heading, no_wrap=True)
    for token in found:
        end = "revoked" if token.revoked_s is not None else "" if token.opens(time.time()) else "expired"
        table.add_row(token.id, token.name, token.role, token.tenant, rfc_3339(token.expires_s), end)
    Console().print(table)
    if not found:
        console.print("no tokens: make one with `easyrider token create NAME`", markup=False, highlight=False)
    return 0


def revoke(where: Place, wanted: str, console: Console) -> int:
    """Exit code 0. Raises `NoToken`."""
    now_s = time.time()
    known = _in_store(where, lambda store: store.load_tokens(where.tree, now_s))
    found = [token for token in known if token.id == wanted] or [
        token for token in known if token.name == wanted and token.opens(now_s)
    ]
    if len(found) != 1:
        why = "no token has it" if not found else f"{len(found)} tokens go by it, name one by its id"
        raise NoToken(f"{wanted}: {why}")
    token = dataclasses.replace(found[0], revoked_s=found[0].revoked_s or now_s)
    _in_store(where, lambda store: store.save_token(where.tree, token, now_s))
    console.print(
        f"token {token.id} of {token.name} is revoked: it opens nothing any more in 5 s at most",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    return 0


def _in_store(where: Place, work: Callable[[AdminStore], Awaitable[T]]) -> T:
    async def ask() -> T:
        async with AdminStore.connect(
            where.redis_url, login=where.login, tls=where.tls, deadline_s=_DEADLINE_S
        ) as store:
            return await work(store)

    try:
        return asyncio.run(ask())
    except ValueError as fault:  # an address that is none
        raise StoreRefused("connect", str(fault)) from fault


def _of_installation(folder: Path, redis_url: str | None, tree: str | None) -> Place:
    """By the API's own user: what `easyrider init` wrote for it is all that is needed."""
    here = folder / _ROLE_OF_STORE
    file = here / f"{_ROLE_OF_STORE}.env"
    try:
        lines = file.read_text().splitlines()
    except OSError as fault:
        raise NoToken(f"{file}: {fault.strerror}; name the folder that `easyrider init` wrote") from fault
    told = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    values = {key.rpartition("POLICY_API_")[2].lower(): value for key, value in told.items()}
    certificate, key = here / "certificate.pem", here / "key.pem"
    shown = certificate.exists() and key.exists()
    return Place(
        redis_url=redis_url or values["redis_url"],
        tree=tree or values["tree"],
        login=Login(_ROLE_OF_STORE, here / "store.password"),
        tls=TlsFiles(
            ca=here / "ca.pem", certificate=certificate if shown else None, key=key if shown else None
        ),
    )


def _told(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "tenant": token.tenant,
        "created": rfc_3339(token.created_s),
        "expires": rfc_3339(token.expires_s),
        "revoked": None if token.revoked_s is None else rfc_3339(token.revoked_s),
    }
