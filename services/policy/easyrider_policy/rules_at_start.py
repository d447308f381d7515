"""The rules a coordinator starts with: of its disk, the given file or, where both have none, the store."""

import asyncio
from pathlib import Path

from easyrider import log
from easyrider.errors import BadConfig, BadTree
from easyrider.scopes import find
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider.tree import Rules
from easyrider.tree_reader import dump
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.judging import checked

_LOG = log.get("policy")
ASK_EVERY_S = 2.0


def first_rules(
    folder: RulesFolder, tree_file: Path | None, tree: str, scope: str = "local", parent: str | None = None
) -> Rules | None:
    """The rules to start with, checked and kept on this disk; None without any, then nothing is controlled.

    Raises `BadConfig` with every fault, the numbers of the sum and timing rules included.
    """
    try:
        folder.open()
    except OSError as fault:
        raise BadConfig("settings", [f"state_dir cannot be written in: {fault}"]) from fault
    try:
        newest = folder.newest()
        accepted = (
            None if newest is None else checked(newest[1], tree, f"version {newest[0]} of the state folder")
        )
        given = None if tree_file is None else checked(tree_file.read_bytes(), tree, str(tree_file))
        rules = given if accepted is None else accepted
        if accepted is not None and given is not None:
            rules = _newer(accepted, given)
        if rules is not None:
            check_scope(rules, scope, parent)
        if rules is not None and rules is not accepted:
            folder.keep(rules.version, dump(rules))
    except BadTree as fault:
        raise BadConfig(fault.source, fault.faults) from fault
    except OSError as fault:
        raise BadConfig("rules", [f"{fault.filename}: {fault.strerror}"]) from fault
    return rules


async def stored_rules(store: StorePort, folder: RulesFolder, tree: str) -> Rules:
    """Wait until the store holds rules that can be kept: a first start without a file of its own."""
    while True:
        rules = await _offered(store, tree, above=-1)
        if rules is not None and await kept(folder, rules):
            return rules
        await asyncio.sleep(ASK_EVERY_S)


def check_scope(rules: Rules, scope: str, parent: str | None) -> None:
    """Raise `BadTree` where rules with regions know no such scope, or another parent of it than the settings name."""
    region = find(rules, scope)
    named = None if region is None else region.parent
    if parent is not None and parent != named:
        known = "no parent" if named is None else f"the parent {named!r}"
        raise BadTree(rules.id, [f"region {scope!r} has {known} here, the setting `parent` is {parent!r}"])


def _newer(accepted: Rules, given: Rules) -> Rules:
    if given.version > accepted.version:
        return given
    if given != accepted:
        why = "another document" if given.version == accepted.version else f"older than {accepted.version}"
        _LOG.warning(
            "the given file is not in force: raise its version",
            version=given.version,
            why=why,
            in_force=accepted.version,
        )
    return accepted


async def _offered(store: StorePort, tree: str, above: int) -> Rules | None:
    try:
        held = await store.load_rules(tree)
        if held is None or held[0] <= above:
            return None
        return await asyncio.to_thread(checked, held[1], tree, f"version {held[0]}")
    except (StoreSilent, StoreRefused, BadTree) as fault:
        log.bounded(_LOG, "rules", 30.0).warning("no rules yet", fault=str(fault))
        return None


async def kept(folder: RulesFolder, rules: Rules) -> bool:
    """Whether this disk took them; where it did not, that is told."""
    try:
        await asyncio.to_thread(lambda: folder.keep(rules.version, dump(rules)))
    except OSError as fault:
        log.bounded(_LOG, "keep", 30.0).error("newer rules cannot be kept and wait", fault=str(fault))
        return False
    return True
