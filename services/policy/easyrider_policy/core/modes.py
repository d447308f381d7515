"""Which mode each board is in: selectors match, the most specific wins, a job takes its least active board's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from easyrider.tree import MODES, SELECTOR_KEYS, Mode, ModeRule
from easyrider_policy.core.fleet import Fleet

Ints = NDArray[np.int64]

ACTIVE = MODES.index("pilot")
"""Modes from here on write limits."""

NOBODY = -1
"""The rule of a board that no rule matches."""
NODE_KEYS = ("node", "class", "rack")
"""What a selector may say of the node; the other keys are of the job that runs there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What selectors may match of a job: its id, tenant and queue, and the rows of its boards."""

    job: str
    tenant: str = ""
    queue: str = ""
    gpus: Sequence[int] = field(default=())


def mode_of(rules: Sequence[ModeRule], labels: Mapping[str, Sequence[str]]) -> Mode:
    """Mode of a board with these labels; `observe` where no rule matches."""
    row = rule_of(rules, labels)
    return MODES[0] if row < 0 else rules[row].mode


def rule_of(rules: Sequence[ModeRule], labels: Mapping[str, Sequence[str]]) -> int:
    """Which rule governs a board with these labels; -1 where none matches.

    `labels` holds the names that a key stands for: all domains above for `rack`, none for a board's missing job.
    Keys of a selector must all match, values are alternatives. The most specific selector wins: the one that
    names the more specific key, and by exact name before glob; `*` names nothing. A tie goes to the less active.
    """
    best: tuple[tuple[int, ...], int] | None = None
    governs = NOBODY
    for row, rule in enumerate(rules):
        rank = _rank(rule, labels)
        if rank is None:
            continue
        found = (rank, -MODES.index(rule.mode))
        if best is None or found > best:
            best, governs = found, row
    return governs


def modes(rules: Sequence[ModeRule], fleet: Fleet, jobs: Sequence[Labels] = ()) -> Ints:
    """(G,) index into `MODES` of each board; boards of a job have the least active mode among them."""
    return modes_of(rules, board_rules(rules, fleet, jobs))


def modes_of(rules: Sequence[ModeRule], governs: Ints) -> Ints:
    """Index into `MODES` of what these rules say, -1: none does."""
    of_rule: Ints = np.array([*(MODES.index(rule.mode) for rule in rules), 0], dtype=np.int64)
    return of_rule[governs]  # the last stands for -1


def board_rules(rules: Sequence[ModeRule], fleet: Fleet, jobs: Sequence[Labels] = ()) -> Ints:
    """(G,) which rule governs each board, -1: none; of a job's boards that of the least active mode."""
    of_node = node_rules(rules, fleet)
    chosen: Ints = of_node[fleet.gpu_node]
    by_node = all(set(rule.selector) <= set(NODE_KEYS) for rule in rules)
    for job in jobs:
        if not job.gpus:
            continue
        rows = np.array(job.gpus, dtype=np.int64)
        if by_node:  # what runs there changes nothing
            here = of_node[fleet.gpu_node[rows]]
            chosen[rows] = here[int(modes_of(rules, here).argmin())]
            continue
        names = {"job": [job.job], "tenant": [job.tenant], "queue": [job.queue]}
        here = np.array(
            [
                rule_of(rules, {**_node_labels(fleet, int(node)), **names})
                for node in np.unique(fleet.gpu_node[rows])
            ],
            dtype=np.int64,
        )
        chosen[rows] = here[int(modes_of(rules, here).argmin())]
    return chosen


def node_modes(rules: Sequence[ModeRule], fleet: Fleet) -> Ints:
    """(N,) index into `MODES` of boards without a job."""
    return modes_of(rules, node_rules(rules, fleet))


def node_rules(rules: Sequence[ModeRule], fleet: Fleet) -> Ints:
    """(N,) which rule governs boards without a job, -1: none. Nodes that no rule tells apart are judged once."""
    kind_of, first = _kinds(rules, fleet)
    judged = np.array([rule_of(rules, _node_labels(fleet, node)) for node in first], dtype=np.int64)
    return judged[kind_of]


def kinds_of_nodes(rules: Sequence[ModeRule], fleet: Fleet) -> list[dict[str, Sequence[str]]]:
    """What selectors may match of a node, once for all nodes that none of these rules tells apart."""
    of_node = [_of_node(rule) for rule in rules if not set(rule.selector).isdisjoint(NODE_KEYS)]
    found: dict[tuple[object, ...], dict[str, Sequence[str]]] = {}
    for node in _kinds(rules, fleet)[1]:
        labels = _node_labels(fleet, node)
        found.setdefault(tuple(_rank(rule, labels) for rule in of_node), labels)
    return [*found.values()]


def _of_node(rule: ModeRule) -> ModeRule:
    """What it says of nodes alone."""
    return ModeRule(
        selector={key: rule.selector[key] for key in NODE_KEYS if key in rule.selector}, mode=rule.mode
    )


def _kinds(rules: Sequence[ModeRule], fleet: Fleet) -> tuple[Ints, list[int]]:
    """(N,) the kind of each node, and the first node of each kind."""
    by_name = [rule.selector["node"] for rule in rules if "node" in rule.selector]
    by_rack = any("rack" in rule.selector for rule in rules)
    kinds: dict[tuple[object, ...], int] = {}
    kind_of = np.empty(len(fleet.nodes), dtype=np.int64)
    first: list[int] = []
    for node, name in enumerate(fleet.nodes):
        place = int(fleet.node_domain[node]) if by_rack else -1
        alike = (fleet.node_class[node], place, *(_match(globs, name) for globs in by_name))
        kind_of[node] = kind = kinds.setdefault(alike, len(kinds))
        if kind == len(first):
            first.append(node)
    return kind_of, first


def _match(globs: Sequence[str], name: str) -> tuple[bool, int]:
    return any(fnmatchcase(name, glob) for glob in globs), _weight(globs, (name,))


def managed(chosen: Ints) -> NDArray[np.bool_]:
    """(G,) boards in `pilot` or `enforce`."""
    return chosen >= ACTIVE


def may_be_limited(rules: Sequence[ModeRule], fleet: Fleet, least: int = ACTIVE) -> NDArray[np.bool_]:
    """(N,) nodes of which a board may come to be in `pilot` or `enforce` under these rules, whatever job runs there.

    `least`: place in `MODES` from which on a mode counts.
    """
    by_job = [r for r in rules if MODES.index(r.mode) >= least and not set(r.selector) <= set(NODE_KEYS)]
    found: NDArray[np.bool_] = node_modes(rules, fleet) >= least
    for node in np.flatnonzero(~found).tolist() if by_job else ():
        found[node] = any(_fits(rule, _node_labels(fleet, node)) for rule in by_job)
    return found


def _fits(rule: ModeRule, labels: Mapping[str, Sequence[str]]) -> bool:
    """Whether all that the rule says of the node is true of it."""
    return all(
        any(fnmatchcase(name, glob) for name in labels[key] for glob in globs)
        for key, globs in rule.selector.items()
        if key in NODE_KEYS
    )


def _node_labels(fleet: Fleet, node: int) -> dict[str, Sequence[str]]:
    return {
        "node": [fleet.nodes[node]],
        "class": [fleet.node_class[node]],
        "rack": [fleet.domains[domain] for domain in fleet.ancestors(node).tolist()],
    }


def _rank(rule: ModeRule, labels: Mapping[str, Sequence[str]]) -> tuple[int, ...] | None:
    """How specific a matching selector is, key by key, most specific key first; None: it does not match."""
    for key, globs in rule.selector.items():
        if not any(fnmatchcase(name, glob) for name in labels.get(key, ()) for glob in globs):
            return None
    return tuple(_weight(rule.selector.get(key, ()), labels.get(key, ())) for key in SELECTOR_KEYS)


def _weight(globs: Sequence[str], names: Sequence[str]) -> int:
    if any(name in globs for name in names):
        return 2
    return int(any(glob != "*" and fnmatchcase(name, glob) for name in names for glob in globs))
