"""A node put together from its settings and what is on its disk."""

from collections.abc import Callable
from typing import TypeVar

from easyrider import log
from easyrider_guardian.adapters.boards import NvmlDriver
from easyrider_guardian.adapters.clocks import boot_id, boot_ns
from easyrider_guardian.adapters.crew import Crew
from easyrider_guardian.adapters.files import StateFolder, Unreadable
from easyrider_guardian.adapters.keeper import Keeper
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Baseline, HoldOrder
from easyrider_guardian.core.resume import resume
from easyrider_guardian.node import Node
from easyrider_guardian.settings import Config

F = TypeVar("F")


def assemble(config: Config, folder: StateFolder, wake: Callable[[], None]) -> Node:
    """The node where it stands now; an armed one has that on disk, as far as it could be stored."""
    terms, boot = config.terms, boot_id()
    crew = Crew(NvmlDriver(config.nvml_library), WriteLog(folder.path), wake)
    lost: dict[str, Baseline] | None = {}  # armed, and nobody knows what was found
    baselines = _found(folder.baselines, damaged=lost)
    standing = resume(_found(folder.standing, damaged=None), baselines, terms, boot, boot_ns())
    minter = Minter(boot, terms.tree, terms.node)
    node = Node(terms, minter, crew, Keeper(folder), standing, baselines)
    unreadable: HoldOrder | None = HoldOrder(reason="unreadable")
    node.hold = _found(folder.hold, damaged=unreadable)
    if node.armed:
        node.keep(standing)
    return node


def _found(read: Callable[[], F], damaged: F) -> F:
    """What is on file; a damaged file is told of and counts as the rules of `resume` say."""
    try:
        return read()
    except Unreadable as fault:
        log.get("assembly").error("damaged", fault=str(fault))
        return damaged
