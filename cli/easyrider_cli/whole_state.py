"""What a scope and all regions below it know, by whichever door: what a release comes to is foretold from that."""

from typing import Any

from easyrider.errors import EasyRiderError
from easyrider.scopes import line_of
from easyrider.tree import Rules
from easyrider_cli.doors import Door, NoAnswer, Refused
from easyrider_policy.core.gathered import Uncounted, gathered


class NotWhole(EasyRiderError):
    """Somebody does not say how things stand where they govern."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def whole_state(door: Door, rules: Rules) -> dict[str, Any]:
    """The state of the door's scope with those below. Raises `NotWhole`; `NoAnswer` where nobody answers at all."""
    top = door.state()
    line = line_of(rules, str(top["region"]))
    if len(line) == 1:
        return top
    states = {line[0]: top} | {region: _of(door, region) for region in line[1:]}
    try:
        return gathered(rules, states, line[0])
    except Uncounted as fault:
        raise NotWhole(str(fault)) from fault


def _of(door: Door, region: str) -> dict[str, Any]:
    try:
        return door.state(region)
    except (NoAnswer, Refused) as fault:
        raise NotWhole(f"region {region} does not say how it stands ({fault.why})") from fault
