"""Which planner a coordinator has: the product's own, or a policy by name under leave of the rules."""

from collections.abc import Callable

from easyrider import log
from easyrider.tree import Rules
from easyrider_policy.adapters.policy_entry_points import load
from easyrider_policy.chosen import Live, Trial
from easyrider_policy.core.plan import plan
from easyrider_policy.core.policies import Planner
from easyrider_policy.core.tidings import Tiding

_LOG = log.get("policy")


def planner(name: str | None, rules: Callable[[], Rules], tell: Callable[[Tiding], None]) -> Planner:
    """What plans; `tell` is handed an event where a policy may not decide. Raises `NoSuchPolicy`."""
    if name is None:
        return plan

    def told(why: str) -> None:
        tell(Tiding("policy_refused", {"policy": name, "why": why}))
        _LOG.warning(why, policy=name)

    chosen = Live(Trial(name, load(name)), rules, told)
    _LOG.warning("a plug-in policy plans where nothing is written, and where the rules name it", policy=name)
    return chosen
