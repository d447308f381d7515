"""Policies by name: an entry point of the group `easyrider.policies`, or `module:Class`."""

import importlib
from importlib.metadata import entry_points
from typing import cast

from easyrider.errors import EasyRiderError
from easyrider_policy.core.policies import Policy

GROUP = "easyrider.policies"


class NoSuchPolicy(EasyRiderError):
    """A policy could not be found or made; nothing was run."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"policy {name}: {why}")


def load(name: str) -> Policy:
    """A new one of the class that goes by this name. Raises `NoSuchPolicy`."""
    found = entry_points(group=GROUP)
    try:
        if name in found.names:
            kind = found[name].load()
        elif ":" in name:
            module, _, attribute = name.partition(":")
            kind = getattr(importlib.import_module(module), attribute)
        else:
            known = ", ".join(sorted(found.names)) or "none is installed"
            raise NoSuchPolicy(
                name, f"no entry point of {GROUP} has this name (there is: {known}); or give module:Class"
            )
    except (ImportError, AttributeError, ValueError) as fault:
        raise NoSuchPolicy(name, f"it cannot be imported: {fault}") from fault
    try:
        policy = kind()
    except TypeError as fault:
        raise NoSuchPolicy(name, f"it cannot be made without arguments: {fault}") from fault
    if not callable(getattr(policy, "plan", None)):
        raise NoSuchPolicy(name, "it has no method plan(observation, walls, situation, memory, pacing)")
    return cast(Policy, policy)
