"""Boosted trees as lightgbm writes them, read without it: damaged text is refused by name and never walked.

Source: lightgbm's text format, version 4: nodes are numbered from 0, a child below 0 is leaf `~child`, what is not
above the threshold goes left, and what is not known (NaN) goes where the node's decision type says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from easyrider.errors import EasyRiderError

END = "end of trees"
TREES, LEAVES = 120, 12
"""Grown by `easyrider train`, for each of what is estimated."""
MOST_TREES, MOST_LEAVES, MOST_COLUMNS = 2_000, 256, 4_096
MOST_BYTES = 4 * 1024 * 1024
_FORMAT = "v4"
_HIGHEST = 1e18
"""Of any number in it: thousands of them still add up to one that is finite."""
_DEFAULT_LEFT, _MISSING_NAN, _MISSING_NONE = 2, 8, 0
_NUMERIC = {_MISSING_NONE, _MISSING_NONE | _DEFAULT_LEFT, _MISSING_NAN, _MISSING_NAN | _DEFAULT_LEFT}


class TreesUnreadable(EasyRiderError):
    """The text of trees is damaged or of another kind; nothing is estimated by it."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"trees cannot be read: {why}")


@dataclass(frozen=True, slots=True)
class Tree:
    """One tree; a value a leaf. Arrays are by node, but for `leaves`."""

    features: tuple[int, ...]
    gains: tuple[float, ...]
    thresholds: tuple[float, ...]
    kinds: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaves: tuple[float, ...]

    def value(self, row: Sequence[float]) -> float:
        """Of the leaf that the row falls into."""
        node = 0 if self.features else -1
        while node >= 0:
            node = self.left[node] if self._goes_left(node, row[self.features[node]]) else self.right[node]
        return self.leaves[~node]

    def _goes_left(self, node: int, value: float) -> bool:
        kind = self.kinds[node]
        if math.isnan(value):
            if kind & _MISSING_NAN:
                return bool(kind & _DEFAULT_LEFT)
            value = 0.0  # where training saw none that was missing
        return value <= self.thresholds[node]


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees whose values are added up, over rows of `columns` numbers."""

    columns: int
    trees: tuple[Tree, ...]

    def value(self, row: Sequence[float]) -> float:
        """What they say of a row."""
        return math.fsum(tree.value(row) for tree in self.trees)

    def gains(self) -> list[float]:
        """By column: by how much its splits lowered the squared error, in all."""
        found = [0.0] * self.columns
        for tree in self.trees:
            for feature, gain in zip(tree.features, tree.gains, strict=True):
                found[feature] += gain
        return found

    def thresholds(self, column: int) -> set[float]:
        """Where they tell values of a column apart."""
        return {
            threshold
            for tree in self.trees
            for feature, threshold in zip(tree.features, tree.thresholds, strict=True)
            if feature == column
        }


def read(text: str) -> Trees:
    """The trees of lightgbm's text. Raises `TreesUnreadable`."""
    if len(text) > MOST_BYTES:
        raise TreesUnreadable(f"{len(text)} characters where {MOST_BYTES} are allowed")
    body, end, _ = text.partition(f"\n{END}")
    if not end:
        raise TreesUnreadable(f"it does not come to its {END!r}")
    head, *parts = body.split("\nTree=")
    told = _fields(head)
    if told.get("version") != _FORMAT:
        raise TreesUnreadable(f"its format is {told.get('version', '')[:20]!r}, {_FORMAT!r} is known here")
    if told.get("num_tree_per_iteration") != "1" or not told.get("objective", "").startswith("regression"):
        raise TreesUnreadable("it holds no regression of one number")
    columns = _whole(told, "max_feature_idx", 0, MOST_COLUMNS - 1) + 1
    if not 1 <= len(parts) <= MOST_TREES:
        raise TreesUnreadable(f"{len(parts)} trees, allowed: 1 to {MOST_TREES}")
    return Trees(columns, tuple(_tree(number, part, columns) for number, part in enumerate(parts)))


def _tree(number: int, part: str, columns: int) -> Tree:
    first, _, rest = part.partition("\n")
    if first.strip() != str(number):
        raise TreesUnreadable(f"tree {number} is missing")
    told = _fields(rest)
    if _whole(told, "num_cat", 0, 0) or told.get("is_linear", "0") != "0":
        raise TreesUnreadable(f"tree {number} is of a kind that is not read here")
    leaves = _whole(told, "num_leaves", 1, MOST_LEAVES)
    nodes = leaves - 1
    tree = Tree(
        features=_wholes(told, "split_feature", nodes, 0, columns - 1),
        gains=_numbers(told, "split_gain", nodes),
        thresholds=_numbers(told, "threshold", nodes),
        kinds=_wholes(told, "decision_type", nodes, 0, 255),
        left=_wholes(told, "left_child", nodes, -leaves, nodes - 1),
        right=_wholes(told, "right_child", nodes, -leaves, nodes - 1),
        leaves=_numbers(told, "leaf_value", leaves),
    )
    if set(tree.kinds) - _NUMERIC:
        raise TreesUnreadable(f"tree {number} has a decision that is not read here")
    children = [child for pair in zip(tree.left, tree.right, strict=True) for child in pair]
    if sorted(children) != [*range(-leaves, 0), *range(1, nodes)] if nodes else children:
        raise TreesUnreadable(f"tree {number} has nodes or leaves that hang nowhere or twice")
    below = [
        child
        for node, pair in enumerate(zip(tree.left, tree.right, strict=True))
        for child in pair
        if 0 <= child <= node
    ]
    if below:
        raise TreesUnreadable(f"tree {number} leads back to node {below[0]}")
    return tree


def _fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name in found:
            raise TreesUnreadable(f"{name[:40]!r} stands twice")
        if name:
            found[name] = value
    return found


def _whole(told: dict[str, str], name: str, least: int, most: int) -> int:
    return _wholes(told, name, 1, least, most)[0]


def _wholes(told: dict[str, str], name: str, count: int, least: int, most: int) -> tuple[int, ...]:
    words = _words(told, name, count)
    try:
        found = tuple(int(word) for word in words)
    except ValueError as fault:
        raise TreesUnreadable(f"{name} holds what is no whole number") from fault
    if any(not least <= value <= most for value in found):
        raise TreesUnreadable(f"{name} holds a number beyond {least} to {most}")
    return found


def _numbers(told: dict[str, str], name: str, count: int) -> tuple[float, ...]:
    words = _words(told, name, count)
    try:
        found = tuple(float(word) for word in words)
    except ValueError as fault:
        raise TreesUnreadable(f"{name} holds what is no number") from fault
    if not all(abs(value) <= _HIGHEST for value in found):  # NaN is not either
        raise TreesUnreadable(f"{name} holds a number that cannot be")
    return found


def _words(told: dict[str, str], name: str, count: int) -> list[str]:
    words = told.get(name, "").split()
    if len(words) != count:
        raise TreesUnreadable(f"{name} has {len(words)} numbers where {count} belong")
    return words
