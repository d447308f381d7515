"""The small world under a load that never changes, seen through sensors that round and sway."""

from dataclasses import dataclass

import numpy as np
from small_world import UPS, World, load, site

from easyrider_twin.sensors import FLICKER_SD, GAIN_SD

METER_STEP_W = 10.0
METER_GAIN_SD = 0.003
"""As the simulated rack's meters are: each wrong by a share of its own, and rounded."""
SETTLES_S = 300


@dataclass
class SteadyWorld(World):
    """What is drawn is constant; boards flicker and read whole watts, meters tens. `sway`: of a meter, as a share."""

    sway: float = 0.0
    meter_gain: np.ndarray = None

    def __post_init__(self):
        super().__post_init__()
        self.gain = self.rng.normal(1.0, GAIN_SD, len(self.fleet.gpus))
        self.meter_gain = self.rng.normal(1.0, METER_GAIN_SD, len(self.fleet.domains))

    def second(self):
        self.now_s += 1.0
        true_w = self.columns()
        flicker = self.rng.normal(1.0, FLICKER_SD, true_w.shape)
        seen_w = np.round(true_w * self.gain * flicker)
        self.wall_w = self.fleet.fixed_w + self.fleet.wall_w(true_w.mean(axis=0))
        metered_w = self.wall_w * self.meter_gain * self.rng.normal(1.0, self.sway, self.wall_w.shape)
        self.woken = self.observation.add(self.now_s, seen_w, self.limit_w)
        self.walls.add(self.observation.believed_w(seen_w))
        self.walls.meters(METER_STEP_W * np.round(metered_w / METER_STEP_W), 1.0)
        return self.plan()


def steady(oversubscribed: float, seed: int = 7, overshoot: float = 1.0, sway: float = 0.0) -> SteadyWorld:
    """Four jobs of eight boards that draw 560 to 690 W each, the UPS's target so much below what they draw."""
    loads = [
        load(name, range(8 * row, 8 * row + 8), peak_w, weight=weight)
        for row, (name, peak_w, weight) in enumerate(
            (("a", 560.0, 1.0), ("b", 610.0, 2.0), ("c", 650.0, 4.0), ("d", 690.0, 1.0))
        )
    ]
    fleet = site()
    peaks_w = np.repeat([one.peak_w for one in loads], 8)
    natural_w = float((fleet.fixed_w + fleet.wall_w(peaks_w))[UPS])
    ups_w = natural_w / (1.0 + oversubscribed) / 0.8
    over = np.linspace(1.0, overshoot, 32)
    return SteadyWorld(
        site(ups_w=ups_w, pdu_w=0.525 * ups_w),
        loads,
        overshoot=over,
        rng=np.random.default_rng(seed),
        sway=sway,
    )


def moves(world: SteadyWorld, ticks: int) -> int:
    """Moves of limits by more than half a watt in so many plans, one a second, after the first 300."""
    world.run(SETTLES_S)
    world.moves = 0
    world.run(ticks)
    return world.moves
