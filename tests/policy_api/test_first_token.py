"""The first token of an installation, once revoked, opens nothing any more, whatever the store still knows."""

import dataclasses
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from inner_house import Inner
from site_rules import TREE

from easyrider import store_keys, tokens
from easyrider_policy_api.adapters.first_token import FirstToken
from easyrider_policy_api.gatekeeper import REMEMBERED_S


async def revoked(api: Inner) -> str:
    """Its id, after an administrator revoked it."""
    first = tokens.decode((api.folder / "first-token.json").read_bytes())
    answer = await api.ask("DELETE", f"/tokens/{first.id}")
    assert answer.status_code == 200, answer.text
    return first.id


def emptied(api: Inner) -> None:
    """As after a restart without persistence; the administrator's token is made again."""
    admin = {key: value for key, value in api.store._tokens.items() if api.shown_digest("admin") in key}
    api.store._tokens.clear()
    api.store._listed.clear()
    api.store._tokens.update(admin)
    api.mono_s += REMEMBERED_S + 1


def restarted(api: Inner) -> None:
    """The API knows what its disk and the store do."""
    api.gatekeeper._first = FirstToken(api.folder / "first-token.json", api.folder)
    api.gatekeeper._known.clear()


@pytest.mark.parametrize("anew", [False, True])
async def test_a_store_that_forgot_it_opens_nothing(api: Inner, anew: bool) -> None:
    assert (await api.ask("GET", "/tokens", "first")).status_code == 200
    told = await revoked(api)
    emptied(api)
    if anew:
        restarted(api)

    assert (await api.ask("GET", "/tokens", "first")).status_code == 401
    (listed,) = [row for row in (await api.ask("GET", "/tokens")).json()["tokens"] if row["id"] == told]
    assert listed["revoked"] is not None


async def test_what_another_instance_revoked_is_on_this_disk_too(api: Inner) -> None:
    first = tokens.decode((api.folder / "first-token.json").read_bytes())
    await api.store.save_token(TREE, dataclasses.replace(first, revoked_s=api.unix_s), api.unix_s)
    await api.gatekeeper.once()
    emptied(api)
    restarted(api)

    assert (await api.ask("GET", "/tokens", "first")).status_code == 401


async def test_a_store_that_forgot_it_is_told_again_for_the_other_instances(api: Inner) -> None:
    await revoked(api)
    emptied(api)
    await api.gatekeeper.once()

    held = await api.store.load_token(TREE, api.shown_digest("first"))
    assert held is not None
    assert held.revoked_s is not None


async def test_a_record_that_cannot_be_read_opens_nothing(api: Inner) -> None:
    key = store_keys.token(TREE, api.shown_digest("first"))
    api.store._tokens[key] = (b"{half", api.mono_s + 1e12)

    assert (await api.ask("GET", "/tokens", "first")).status_code == 401


async def test_what_the_disk_does_not_take_is_not_revoked(
    api: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def full(path: Any, *words: Any, **named: Any) -> int:
        if Path(os.fsdecode(path)).name.startswith("revoked-"):
            raise OSError(28, "No space left on device")
        return real(path, *words, **named)

    first = tokens.decode((api.folder / "first-token.json").read_bytes())
    with monkeypatch.context() as broken:
        broken.setattr(os, "open", full)
        refused = await api.ask("DELETE", f"/tokens/{first.id}")
    assert refused.status_code == 503
    assert (await api.ask("GET", "/tokens", "first")).status_code == 200

    await revoked(api)
    assert (await api.ask("GET", "/tokens", "first")).status_code == 401


def test_a_mark_is_synced_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda file: (synced.append(stat.S_ISDIR(os.fstat(file).st_mode)), real(file))[1]
    )
    _, token = tokens.make("first-admin", "admin", "", 0.0, 3600.0)

    FirstToken(None, tmp_path).revoke(token)

    assert synced == [False, True]
