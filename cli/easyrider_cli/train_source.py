"""Fingerprints to learn from: of a file or folder, or of the store of a stack or installation."""

import asyncio
from pathlib import Path

from easyrider.store import Store
from easyrider.store_port import StoreRefused
from easyrider_cli.token_command import Place, place
from easyrider_estimator.adapters import fingerprint_files
from easyrider_estimator.adapters.fingerprint_files import Found, NoFingerprints

_DEADLINE_S = 30.0


def found(
    source: Path | None, run: Path | None, installation: Path | None, redis_url: str | None, tree: str | None
) -> Found:
    """Of `source`, else of the store. Raises `NoFingerprints`, `NoStack`, `StoreSilent`, `StoreRefused`, `OSError`."""
    if source is not None:
        return fingerprint_files.read(source)
    where = place(run, installation, redis_url, tree)
    try:
        return asyncio.run(_kept(where))
    except ValueError as fault:  # an address that is none
        raise StoreRefused("connect", str(fault)) from fault


async def _kept(where: Place) -> Found:
    async with Store.connect(
        where.redis_url, login=where.login, tls=where.tls, deadline_s=_DEADLINE_S
    ) as store:
        kept = await store.load_fingerprints(where.tree)
    found = Found()
    for kept_id, (_revision, data) in sorted(kept.items()):
        found.take(kept_id, data)
    if not found.by_id:
        why = found.unreadable[0] if found.unreadable else "nothing was learned of any type of job yet"
        raise NoFingerprints(f"store of tree {where.tree}", why)
    return found
