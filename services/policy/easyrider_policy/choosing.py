"""Which planner a coordinator has: the product's own, or a policy by name under leave of the rules."""

from collections.abc import Callable

from easyrider import log
from easyrider.tree import Rules
from easyrider_policy.adapters.policy_entry_points import load
from easyrider_policy.chosen import Live, Trial
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Planner

_LOG = log.get("policy")
Note = Callable[[dict[str, object]], None]


def planner(name: str | None, rules: Callable[[], Rules], note: Note) -> Planner:
    """What plans; `note` journals a line where a policy may not decide. Raises `NoSuchPolicy`."""
    if name is None:
        return plan

    def told(why: str) -> None:
        note({"what": "policy_refused", "policy": name, "why": why})
        _LOG.warning(why, policy=name)

    chosen = Live(Trial(name, load(name)), rules, told)
    _LOG.warning("a plug-in policy plans where nothing is written, and where the rules name it", policy=name)
    return chosen
