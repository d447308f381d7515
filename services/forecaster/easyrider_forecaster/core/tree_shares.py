"""Which share of a node's power every domain above it carries."""

from easyrider.tree import Rules


def shares(rules: Rules) -> dict[str, dict[str, float]]:
    """Node id -> domain id -> share. 1 along parents; two feeds carry a half each."""
    above = {domain.id: domain for domain in rules.domains}
    found: dict[str, dict[str, float]] = {}
    for node in rules.nodes:
        carried: dict[str, float] = {}
        waiting = [(node.domain, 1.0)]
        while waiting:
            name, share = waiting.pop()
            carried[name] = carried.get(name, 0.0) + share
            domain = above[name]
            if domain.parent is not None:
                waiting.append((domain.parent, share))
            elif domain.feeds is not None:
                waiting += [(domain.feeds.A, share / 2), (domain.feeds.B, share / 2)]
        found[node.id] = carried
    return found


def device_maxima(rules: Rules) -> dict[str, float]:
    """Node id -> device maximum of its GPUs in W, where its class declares one."""
    return {
        node.id: top_w
        for node in rules.nodes
        if (top_w := rules.classes[node.node_class].gpu_max_w) is not None
    }
