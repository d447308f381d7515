"""One run of the hall as data: the site, its jobs, what goes wrong and what the instruments cannot see."""

from dataclasses import dataclass

import numpy as np

from easyrider_bench.controllers.contract import Floats, Ints, Site
from easyrider_twin.tapes import Tape

STEP_S = 0.05
"""Of the physics."""
LOOK_STEPS = 2
"""A sample of every board, and the earliest next look, come so many steps apart."""
WARM_UP_S = 15.0
"""Before the jobs start and before anything counts: a controller from a cold start finds its first plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Names one run. `traces` is a folder of recordings; empty for the shipped ones."""

    scenario: str
    oversub_pct: int
    seed: int
    seconds: float
    traces: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HallJob:
    """A job and its scheduled window; it leaves at `end_s` however far it got. Times of the run's clock."""

    id: str
    type_key: str
    priority_class: str
    boards: Ints
    begin_s: float
    end_s: float
    tape: Tape
    memory_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Capacity and both limits of a domain fall to `share` of normal for a while.

    With `battery_j` it runs on a battery that holds so much; with `feed` the domain is a feed that is lost whole.
    """

    domain: int
    begin_s: float
    end_s: float
    share: float
    modules: int = 0
    battery_j: float | None = None
    feed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """Load on a domain that nobody limits: `power_w[k]` from `begins_s[k]` on."""

    domain: int
    begins_s: Floats
    power_w: Floats

    def at(self, t_s: float) -> float:
        """W at this moment; 0 before the first."""
        place = int(np.searchsorted(self.begins_s, t_s + 1e-9, side="right")) - 1
        return float(self.power_w[place]) if place >= 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadTelemetry:
    """A node that is not heard for a while; it obeys and answers commands all the same."""

    node: int
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """Power that swings faster than the sensor looks, by `ratio` of the draw up and down, on some nodes.

    Their cards have no energy counter, so the short look of the power sensor is all there is.
    """

    hz: float
    ratio: float
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run. Sizes, limits and curves stand in `site`."""

    key: Key
    target_share: float
    site: Site
    jobs: tuple[HallJob, ...]
    losses: tuple[Loss, ...] = ()
    strangers: tuple[Stranger, ...] = ()
    dead: tuple[DeadTelemetry, ...] = ()
    swing: Swing | None = None

    @property
    def until_s(self) -> float:
        """End of the run on its own clock."""
        return WARM_UP_S + self.key.seconds
