"""The physical world, one step of 25 ms at a time. It reads enforced limits and knows no controller."""

import numpy as np

from easyrider_twin.domains import Domains
from easyrider_twin.gpus import STEP_S, Boards
from easyrider_twin.jobs import Jobs
from easyrider_twin.layout import layout
from easyrider_twin.outcome import FloatArray, Trip
from easyrider_twin.world import World


class Plant:
    """Boards, jobs and power tree of a world. Power arrays have shape (n_gpus,), in W."""

    def __init__(self, world: World, *, trips: bool = True, failures: bool = True) -> None:
        self.world = world
        self.layout = layout(world)
        self.boards = Boards(self.layout, np.random.default_rng([world.seed, 1]))
        self.jobs = Jobs(world, self.layout)
        self.domains = Domains(world, self.layout, trips=trips)
        self._failures = world.failures if failures else ()
        self._broken: dict[str, int] = {}
        self.steps = 0
        self.trips: list[Trip] = []
        self.power_w = self.layout.idle_w.copy()
        self.bound = np.zeros(self.layout.gpus, dtype=np.bool_)
        self.clock_share = np.ones(self.layout.gpus)
        """Draw at full effort over natural draw: what the clocks follow."""
        self.domains.load(self.power_w, 0.0, 0.0)

    @property
    def t_s(self) -> float:
        """Job clock: 0 until the jobs were started."""
        return self.jobs.t_s

    @property
    def now_s(self) -> float:
        """Time since the plant was built."""
        return self.steps * STEP_S

    def step(self, enforced_w: FloatArray) -> None:
        """Advance by `STEP_S` with these limits enforced."""
        if self.jobs.started:
            self._fail_and_mend()
        self.boards.follow(enforced_w)
        self.jobs.show()
        natural_w = self.jobs.natural_w
        draw_w, self.bound = self.boards.capped(natural_w)
        self.clock_share = np.minimum(draw_w / natural_w, 1.0)
        _, share = self.jobs.pace(draw_w)
        wait_w = np.minimum(self.layout.wait_w, draw_w)
        self.power_w = np.where(self.boards.lit, wait_w + share * (draw_w - wait_w), 0.0)
        self.jobs.advance(STEP_S)
        self.steps += 1
        opened = self.domains.load(self.power_w, STEP_S, self.t_s)
        if opened:
            self.trips += opened
            self.boards.lit = self.domains.lit_boards()
            self.jobs.kill(self.domains.dark_nodes())

    def break_modules(self, domain: str, broken: int) -> None:
        """By hand: so many supply modules of this domain are broken, whatever the schedule says."""
        self._broken[domain] = broken
        self.domains.set_modules(domain, self.domains.devices[domain].spec.modules - broken)

    def _fail_and_mend(self) -> None:
        due: dict[str, int] = {}
        for failure in self._failures:
            # half a step of slack, or the sum of many steps decides which side of a boundary one is on
            inside = failure.at_s <= self.t_s + STEP_S / 2 < failure.at_s + failure.for_s
            due[failure.domain] = due.get(failure.domain, 0) + (failure.modules if inside else 0)
        for domain, broken in due.items():
            if domain not in self._broken:
                self.domains.set_modules(domain, self.domains.devices[domain].spec.modules - broken)
