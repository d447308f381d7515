"""Fingerprints to learn from: of a file or folder, or of the store of a stack or installation."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from easyrider.store import Store
from easyrider.store_port import StoreRefused
from easyrider_cli.apart import apart
from easyrider_cli.token_command import Place, place
from easyrider_estimator.adapters import fingerprint_files
from easyrider_estimator.adapters.fingerprint_files import Found, NoFingerprints

_ANSWER_S, _ALL_S = 3.0, 30.0
"""For the store to say anything; and for all that it keeps to come, hundreds of megabytes at most."""
_NONE = f"{32 * '0'}-0"
"""An id that no type has."""


def found(
    source: Path | None, run: Path | None, installation: Path | None, redis_url: str | None, tree: str | None
) -> Found:
    """Of `source`, else of the store.

    Raises `NoFingerprints`, `NoStack`, `NotTogether`, `StoreSilent`, `StoreRefused`, `OSError`.
    """
    apart(
        (f"the file or folder {source}", source),
        run=run,
        installation=installation,
        redis_url=redis_url,
        tree=tree,
    )
    if source is not None:
        return fingerprint_files.read(source)
    where = place(run, installation, redis_url, tree)
    try:
        return asyncio.run(_kept(where))
    except ValueError as fault:  # an address that is none
        raise StoreRefused("connect", str(fault)) from fault


async def _kept(where: Place) -> Found:
    async with _store(where, _ANSWER_S) as store:
        # a store that is frozen is told before all is asked for
        await store.load_fingerprint(where.tree, _NONE)
    async with _store(where, _ALL_S) as store:
        kept = await store.load_fingerprints(where.tree)
    found = Found()
    for kept_id, (_revision, data) in sorted(kept.items()):
        found.take(kept_id, data)
    if not found.by_id:
        why = found.unreadable[0] if found.unreadable else "nothing was learned of any type of job yet"
        raise NoFingerprints(f"store of tree {where.tree}", why)
    return found


def _store(where: Place, deadline_s: float) -> AbstractAsyncContextManager[Store]:
    return Store.connect(where.redis_url, login=where.login, tls=where.tls, deadline_s=deadline_s)
