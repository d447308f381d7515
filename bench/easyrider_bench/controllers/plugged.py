"""A plug-in policy as a controller of the bench: the product's coordinator with this policy where its plan stands."""

from easyrider_bench.controllers.contract import Site
from easyrider_bench.controllers.product import EasyRider
from easyrider_policy.adapters.policy_entry_points import load
from easyrider_policy.chosen import Trial
from easyrider_policy.coordinator import Coordinator

PREFIX = "policy:"
"""Before the name of a policy where controllers are named: an entry point, or module:Class."""


class Plugged(EasyRider):
    """One run. Its looks raise `UnusableDecision`."""

    def __init__(self, site: Site, seed: int, trial: Trial) -> None:
        super().__init__(site, seed)
        self.coordinator = self.desk.coordinator = Coordinator(self.picture, trial)


class Policy:
    """Makes the controllers of one policy, which is new for every run. Raises `NoSuchPolicy` at once."""

    def __init__(self, name: str) -> None:
        self.name, self.module = name, type(load(name)).__module__

    def __call__(self, site: Site, seed: int) -> Plugged:
        """The controller of one run."""
        return Plugged(site, seed, Trial(self.name, load(self.name)))
