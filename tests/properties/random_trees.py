"""Random power trees that pass the check of fallbacks, and the plain sums they are judged by."""

import random

from easyrider.tree import Contingency, Domain, Feeds, Node, NodeClass, Rules

MIN_W, MAX_W = 200.0, 700.0
SLOPE, OVERHEAD_W = 1.2, 300.0


def parents_of(domain: Domain) -> list[str]:
    if domain.feeds is not None:
        return [domain.feeds.A, domain.feeds.B]
    return [] if domain.parent is None else [domain.parent]


def carried_w(rules: Rules, node_w: dict[str, float], lost: str | None) -> dict[str, float]:
    """Wall watts per domain, walked watt by watt from each source up; `lost`: one domain that is dark."""
    by_id = {domain.id: domain for domain in rules.domains}

    def dark(domain: str) -> bool:
        above = parents_of(by_id[domain])
        return domain == lost or (bool(above) and all(dark(p) for p in above))

    total = dict.fromkeys(by_id, 0.0)

    def pour(domain: str, watts: float) -> None:
        total[domain] += watts
        above = parents_of(by_id[domain])
        alive = [p for p in above if not dark(p)] or above
        for parent in alive:
            pour(parent, watts / len(alive))

    for node in rules.nodes:
        pour(node.domain, node_w[node.id])
    for domain in rules.domains:
        pour(domain.id, domain.fixed_w)
    return total


def worst_w(rules: Rules, node_w: dict[str, float]) -> dict[str, float]:
    """The highest that each domain carries, all feeds working or any one domain lost."""
    cases = [carried_w(rules, node_w, lost) for lost in [None, *(d.id for d in rules.domains)]]
    return {domain.id: max(case[domain.id] for case in cases) for domain in rules.domains}


def wall_w(rules: Rules, gpu_w: dict[str, list[float]]) -> dict[str, float]:
    """Wall watts per node of board watts per node."""
    return {
        node.id: OVERHEAD_W + SLOPE * sum(gpu_w[node.id]) if gpu_w[node.id] else OVERHEAD_W
        for node in rules.nodes
    }


def random_tree(dice: random.Random, nodes: int, boards: int, slack: float, boot_guard: bool) -> Rules:
    """Depth up to 5, sometimes two feeds; hard limits `slack` of the way from fallbacks to device maxima.

    The target equals the hard limit, so that the order of lowers and raises binds.
    """
    shape: list[tuple[str, str | None, Feeds | None]] = [("site", None, None)]
    if dice.random() < 0.4:
        shape += [("feed-a", "site", None), ("feed-b", "site", None)]
        shape.append(("ups", None, Feeds(A="feed-a", B="feed-b")))
    for place in range(dice.randint(1, 5)):
        above = dice.choice(shape)[0]
        shape.append((f"d{place}", above, None))
    homes = [name for name, _, _ in shape if name.startswith("d")]
    machines = tuple(
        Node(
            id=f"n{i}",
            domain=dice.choice(homes),
            node_class="box",
            fallback_w_per_gpu=dice.choice([200.0, 250.0, 300.0]),
            boot_guard=boot_guard,
        )
        for i in range(nodes)
    )
    fixed = {name: dice.choice([0.0, 120.0]) for name, _, _ in shape}
    bare = Rules(
        id="site",
        version=1,
        domains=tuple(
            Domain(id=name, kind="pdu", parent=parent, feeds=feeds, rating_w=1.0, fixed_w=fixed[name])
            for name, parent, feeds in shape
        ),
        classes={
            "box": NodeClass(overhead_w=OVERHEAD_W, overhead_slope=SLOPE, gpu_max_w=MAX_W, gpu_count=boards)
        },
        nodes=machines,
        margin_w=5.0,
    )
    low = worst_w(bare, wall_w(bare, {n.id: [n.fallback_w_per_gpu] * boards for n in machines}))
    high = worst_w(bare, wall_w(bare, {n.id: [MAX_W] * boards for n in machines}))
    domains = []
    for domain in bare.domains:
        smallest_w = low[domain.id] + 6.0
        hard_w = smallest_w + slack * dice.uniform(0.2, 1.0) * (high[domain.id] - low[domain.id])
        domains.append(
            Domain(
                id=domain.id,
                kind=domain.kind,
                parent=domain.parent,
                feeds=domain.feeds,
                rating_w=hard_w,
                hard_limit_w=hard_w,
                target_w=hard_w,
                fixed_w=domain.fixed_w,
                contingencies=(Contingency(name="module", hard_limit_w=smallest_w),),
            )
        )
    return Rules(
        id="site",
        version=1,
        domains=tuple(domains),
        classes=bare.classes,
        nodes=machines,
        margin_w=bare.margin_w,
    )
