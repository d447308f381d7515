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
    """Mode of a board with these labels; `observe` where no rule matches.

    `labels` holds the names that a key stands for: all domains above for `rack`, none for a board's missing job.
    Keys of a selector must all match, values are alternatives. The most specific selector wins: the one that
    names the more specific key, and by exact name before glob; `*` names nothing. A tie goes to the less active.
    """
    best: tuple[tuple[int, ...], int] | None = None
    for rule in rules:
        rank = _rank(rule, labels)
        if rank is None:
            continue
        found = (rank, -MODES.index(rule.mode))
        if best is None or found > best:
            best = found
    return MODES[0] if best is None else MODES[-best[1]]


def modes(rules: Sequence[ModeRule], fleet: Fleet, jobs: Sequence[Labels] = ()) -> Ints:
    """(G,) index into `MODES` of each board; boards of a job have the least active mode among them."""
    of_node = node_modes(rules, fleet)
    chosen: Ints = of_node[fleet.gpu_node]
    by_node = all(set(rule.selector) <= set(NODE_KEYS) for rule in rules)
    for job in jobs:
        if not job.gpus:
            continue
        rows = np.array(job.gpus, dtype=np.int64)
        if by_node:  # what runs there changes nothing
            chosen[rows] = of_node[fleet.gpu_node[rows]].min()
            continue
        names = {"job": [job.job], "tenant": [job.tenant], "queue": [job.queue]}
        least = min(
            MODES.index(mode_of(rules, {**_node_labels(fleet, int(node)), **names}))
            for node in np.unique(fleet.gpu_node[rows])
        )
        chosen[rows] = least
    return chosen


def node_modes(rules: Sequence[ModeRule], fleet: Fleet) -> Ints:
    """(N,) index into `MODES` of boards without a job. Nodes that no rule tells apart are judged once."""
    by_name = [rule.selector["node"] for rule in rules if "node" in rule.selector]
    by_rack = any("rack" in rule.selector for rule in rules)
    judged: dict[tuple[object, ...], int] = {}
    chosen = []
    for node, name in enumerate(fleet.nodes):
        place = int(fleet.node_domain[node]) if by_rack else -1
        alike = (fleet.node_class[node], place, *(_match(globs, name) for globs in by_name))
        if alike not in judged:
            judged[alike] = MODES.index(mode_of(rules, _node_labels(fleet, node)))
        chosen.append(judged[alike])
    return np.array(chosen, dtype=np.int64)


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
