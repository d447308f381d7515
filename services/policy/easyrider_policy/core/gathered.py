"""What leaders of a scope and of the regions below it know, as one state: what a release comes to rests on it."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from easyrider.errors import EasyRiderError
from easyrider.scopes import children, line_of
from easyrider.tree import Rules

State = Mapping[str, Any]
_CUT = ("boards", "jobs")  # told of although none stayed out
_ROWS = ("nodes", "boards", "jobs", "meters", "releases", "demotions", "targets", "demands")


class Uncounted(EasyRiderError):
    """A leader has not counted its domains yet, so nothing can be foretold of them."""

    def __init__(self, region: str) -> None:
        self.region = region
        super().__init__(f"the coordinator of region {region} has not counted its domains yet")


def gathered(rules: Rules, states: Mapping[str, State], scope: str) -> dict[str, Any]:
    """The state of `scope` with those of all regions below; each row tells its `region`. Raises `Uncounted`.

    `states`: what the leader of each says (`easyrider_policy.live`). Above a region its parent counts all that was
    lent to it; here it counts what it could draw itself, for what it does not use can be lent to others.
    """
    line = line_of(rules, scope)
    domains = {name: {row["domain"]: dict(row) for row in states[name]["domains"]} for name in line}
    for name in reversed(line):
        for region in children(rules, name):
            root = str(region.domain)
            own, seen = domains[region.id].get(root), domains[name].get(root)
            if own is None or seen is None:
                raise Uncounted(region.id if own is None else name)
            counted_w, lent_w = _counted_w(own, region.id), _counted_w(seen, name)
            own["hard_limit_w"] = seen["hard_limit_w"]  # it may be lent more than it was
            own["room_w"] = seen["hard_limit_w"] - counted_w
            for row in domains[name].values():
                if region.id in row.get("regions", ()) and row["room_w"] is not None:
                    row["room_w"] += lent_w - counted_w
    whole = dict(states[scope])
    for section in _ROWS:
        whole[section] = [row | {"region": name} for name in line for row in states[name].get(section, ())]
    whole["domains"] = [
        row | {"region": name}
        for name in line
        for row in domains[name].values()
        if not row.get("governed_by")
    ]
    whole["infeasible"] = {
        place: w for name in line for place, w in states[name].get("infeasible", {}).items()
    }
    whole["silent_nodes"] = [node for name in line for node in states[name].get("silent_nodes", ())]
    left = [states[name]["left_out"] for name in line]
    whole["left_out"] = {key: sum(one.get(key, 0) for one in left) for key in sorted({*chain(*left), *_CUT})}
    return whole


def _counted_w(row: State, region: str) -> float:
    hard_w, room_w = row.get("hard_limit_w"), row.get("room_w")
    if hard_w is None or room_w is None:
        raise Uncounted(region)
    return float(hard_w) - float(room_w)
