"""A rules document weighed whole: parsed, and every rule of safety held against it. Slow, so beside the loop."""

from collections.abc import Sequence

from easyrider.errors import BadTree
from easyrider.scopes import part_of
from easyrider.tree import Rules
from easyrider.tree_reader import read
from easyrider_policy.core.checks import refuse
from easyrider_policy.core.fleet import Board, build


def judged(document: bytes, version: int, tree: str, region: str, boards: Sequence[Board]) -> Rules:
    """The rules, if they can be kept with these boards. Raises `BadTree`."""
    rules = checked(document, tree, f"version {version} of the store")
    if rules.version != version:
        raise BadTree("the store", [f"version {version} says of itself that it is {rules.version}"])
    part = part_of(rules, region)
    refuse(part, build(part, boards), region)
    return rules


def checked(document: bytes, tree: str, source: str) -> Rules:
    """The rules of this tree, whatever boards there are. Raises `BadTree`."""
    try:
        text = document.decode()
    except UnicodeDecodeError as fault:
        raise BadTree(source, [f"byte {fault.start} is not UTF-8"]) from fault
    rules = read(text, source)
    if rules.id != tree:
        raise BadTree(source, [f"tree id is {rules.id!r}, the setting `tree` is {tree!r}"])
    refuse(rules)
    return rules
