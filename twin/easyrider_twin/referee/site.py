"""The tree as the twin declares it, and the sums that the sum rule speaks of."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Site:
    """For each domain: which nodes hang below, fixed watts below it, and its first hard limit."""

    overhead_w: dict[str, float]
    slope: dict[str, float]
    nodes_below: dict[str, tuple[str, ...]]
    fixed_w: dict[str, float]
    hard_w: dict[str, float]

    def sum_w(self, domain: str, limits_w: dict[str, list[float]]) -> float:
        """Wall watts that the limits of all boards below `domain` allow together, fixed loads included."""
        total_w = self.fixed_w[domain]
        for node in self.nodes_below[domain]:
            total_w += self.overhead_w[node] + self.slope[node] * sum(limits_w[node])
        return total_w


def read(path: Path) -> Site:
    """The site of a `world.yaml`, which the twin writes in the JSON subset of YAML."""
    return parse(path.read_text())


def parse(text: str) -> Site:
    """The site of such a document."""
    world: dict[str, Any] = json.loads(text)
    parent = {d["id"]: d["parent"] for d in world["domains"]}

    def above(domain: str) -> list[str]:
        found = [domain]
        while parent[found[-1]] is not None:
            found.append(parent[found[-1]])
        return found

    below = {name: tuple(n["id"] for n in world["nodes"] if name in above(n["domain"])) for name in parent}
    fixed_w = {name: sum(d["fixed_w"] for d in world["domains"] if name in above(d["id"])) for name in parent}
    return Site(
        overhead_w={n["id"]: n["overhead_w"] for n in world["nodes"]},
        slope={n["id"]: n["overhead_slope"] for n in world["nodes"]},
        nodes_below=below,
        fixed_w=fixed_w,
        hard_w={d["id"]: d["hard_limit_w"] for d in world["domains"]},
    )
