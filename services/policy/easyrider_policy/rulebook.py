"""Which rules are in force: the newest of this disk, the given file and the store; kept where they are missing."""

from pathlib import Path

from easyrider import log
from easyrider.store_port import StorePort, StoreRefused, StoreSilent
from easyrider.tree import Rules
from easyrider.tree_reader import dump, read
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.core.checks import refuse

_LOG = log.get("policy")


def first_rules(folder: RulesFolder, tree_file: Path | None) -> Rules | None:
    """The rules to start with, checked and kept on this disk; None without any, then nothing is controlled.

    Raises `BadTree` with every fault, the numbers of the sum and timing rules included.
    """
    kept = folder.newest()
    found = [] if kept is None else [read(kept[1].decode(), f"rules version {kept[0]} of the state folder")]
    if tree_file is not None:
        found.append(read(tree_file.read_text(), str(tree_file)))
    if not found:
        return None
    rules = max(found, key=lambda each: each.version)
    refuse(rules)
    if kept is None or kept[0] < rules.version:
        folder.keep(rules.version, dump(rules))
    return rules


async def reseed(store: StorePort, tree: str, rules: Rules) -> None:
    """Give the store our version if it holds an older one or none; a silent store gets it another time."""
    try:
        held = await store.load_rules(tree)
        if held is None or held[0] < rules.version:
            await store.save_rules(tree, rules.version, dump(rules))
    except (StoreSilent, StoreRefused) as fault:
        log.bounded(_LOG, "reseed", 30.0).warning("the store has no rules of ours yet", fault=str(fault))
