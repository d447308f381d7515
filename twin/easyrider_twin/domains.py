"""The power tree: wall watts of each domain, inverse-time trips, supply modules that fail and come back."""

import math
from dataclasses import dataclass, field

import numpy as np

from easyrider_twin.layout import Layout
from easyrider_twin.outcome import FloatArray, Trip
from easyrider_twin.world import Domain, World

COOLING_S = 120.0
"""Time constant with which the heat of an overload leaves below the first point of the curve."""


@dataclass
class Device:
    """One protective device: heat from 0 to 1, at which it opens."""

    spec: Domain
    modules_ok: int
    heat: float = 0.0
    tripped: bool = False
    dark: bool = False
    below: frozenset[str] = field(default_factory=frozenset)  # domains below, itself included

    @property
    def share(self) -> float:
        """Part of its supply modules that works; 1 for a device that has none."""
        return self.modules_ok / self.spec.modules if self.spec.modules else 1.0

    @property
    def capacity_w(self) -> float:
        """What it carries for ever, now."""
        return self.spec.rating_w * self.share

    @property
    def hard_w(self) -> float:
        """Hard limit in force."""
        return self.spec.hard_limit_w * self.share

    @property
    def target_w(self) -> float:
        """Target in force."""
        return self.spec.target_w * self.share


def time_to_trip_s(curve: tuple[tuple[float, float], ...], multiple: float) -> float:
    """Seconds a device carries this multiple of its capacity; infinite below the curve's first point.

    log(time) is linear in the multiple between points; past the last point the last slope goes on.
    """
    if not curve or multiple < curve[0][0]:
        return math.inf
    if len(curve) == 1:
        return curve[0][1]
    right = next((k for k in range(1, len(curve)) if multiple <= curve[k][0]), len(curve) - 1)
    (m0, t0), (m1, t1) = curve[right - 1], curve[right]
    return math.exp(math.log(t0) + (multiple - m0) / (m1 - m0) * (math.log(t1) - math.log(t0)))


class Domains:
    """All devices of a world in its order; `wall_w` is the power of each in the last step."""

    def __init__(self, world: World, layout: Layout, *, trips: bool = True) -> None:
        self._trips = trips
        self._layout = layout
        self.nodes = [node.id for node in world.nodes]
        self.devices = {d.id: Device(d, d.modules) for d in world.domains}
        above = {d.id: _path(d, world) for d in world.domains}
        for device in self.devices.values():
            device.below = frozenset(d for d, path in above.items() if device.spec.id in path)
        names = [d.id for d in world.domains]
        self._feeds = np.array(
            [[name in above[node.domain] for node in world.nodes] for name in names], dtype=np.float64
        ).reshape(len(names), len(world.nodes))
        self._holds = np.array(
            [[name in above[other] for other in names] for name in names], dtype=np.float64
        )
        self._node_domain = [node.domain for node in world.nodes]
        self._overhead_w = np.array([node.overhead_w for node in world.nodes])
        self._slope = np.array([node.overhead_slope for node in world.nodes])
        self._fixed_w = np.array([d.fixed_w for d in world.domains])
        self._watched_w = np.array([_watched_w(device) for device in self.devices.values()])
        self._warm: set[int] = set()  # devices that hold heat, by number
        self._dark_nodes: frozenset[str] = frozenset()
        self._limits_w: tuple[FloatArray, FloatArray] | None = None
        self._node_lit = np.ones(len(world.nodes))
        self.wall_w = np.zeros(len(names))
        self.node_wall_w = np.zeros(len(world.nodes))

    def load(self, power_w: FloatArray, step_s: float, t_s: float) -> list[Trip]:
        """Carry the boards' power for one step; trips that follow, after which all below is dark."""
        node_w = np.bincount(self._layout.node_of, weights=power_w, minlength=len(self.nodes))
        self.node_wall_w = self._node_lit * (self._overhead_w + self._slope * node_w)
        self.wall_w = self._feeds @ self.node_wall_w + self._holds @ self._fixed_w
        return self._heat(step_s, t_s) if self._trips else []

    def _heat(self, step_s: float, t_s: float) -> list[Trip]:
        """Warm what is overloaded and cool what is warm; all others neither hold nor gain heat."""
        over = np.flatnonzero(self.wall_w >= self._watched_w)
        if not self._warm and not len(over):
            return []
        opened = []
        devices = list(self.devices.values())
        for number in sorted(self._warm.union(over.tolist())):
            device, wall_w = devices[number], float(self.wall_w[number])
            if device.dark:
                continue
            multiple = wall_w / device.capacity_w if device.capacity_w > 0 else math.inf
            limit_s = time_to_trip_s(device.spec.curve, multiple)
            if limit_s == 0.0:  # so far over that it opens at once
                device.heat = 1.0 if wall_w > 0 else device.heat
            elif math.isfinite(limit_s):
                device.heat += step_s / limit_s
            else:
                device.heat *= math.exp(-step_s / COOLING_S)
            if device.heat >= 1.0 or (multiple == math.inf and wall_w > 0):
                opened.append(Trip(device.spec.id, t_s, multiple))
                self._open(device)
            if device.heat > 0.0:
                self._warm.add(number)
        return opened

    def dark_nodes(self) -> frozenset[str]:
        """Nodes that have lost their supply."""
        return self._dark_nodes

    def lit_boards(self) -> np.ndarray:
        """Boards with supply, (n_gpus,) of bool."""
        return np.asarray(self._node_lit[self._layout.node_of] > 0)

    def set_modules(self, domain: str, ok: int) -> None:
        """So many supply modules of this domain work from now on."""
        device = self.devices[domain]
        device.modules_ok = max(0, min(ok, device.spec.modules))
        self._watched_w[list(self.devices).index(domain)] = _watched_w(device)
        self._limits_w = None

    def by_id(self, values: FloatArray) -> dict[str, float]:
        """Values of all domains, by id."""
        return dict(zip(self.devices, values.tolist(), strict=True))

    def limits_w(self) -> tuple[FloatArray, FloatArray]:
        """(hard, target) in force, (n_domains,); the same arrays until they change, not to be written to."""
        if self._limits_w is None:
            devices = self.devices.values()
            self._limits_w = (np.array([d.hard_w for d in devices]), np.array([d.target_w for d in devices]))
        return self._limits_w

    def _open(self, device: Device) -> None:
        device.tripped = True
        for number, (name, other) in enumerate(self.devices.items()):
            if name in device.below:
                other.dark = True
                self._fixed_w[number] = 0.0
        for number, home in enumerate(self._node_domain):
            if home in device.below:
                self._node_lit[number] = 0.0
        lit = self._node_lit.tolist()
        self._dark_nodes = frozenset(name for name, on in zip(self.nodes, lit, strict=True) if not on)


def _watched_w(device: Device) -> float:
    """Load from just below which a device may warm; what is below stays as cold as it is."""
    if device.capacity_w <= 0:
        return 0.0
    return 0.999 * device.spec.curve[0][0] * device.capacity_w if device.spec.curve else math.inf


def _path(domain: Domain, world: World) -> frozenset[str]:
    """The domain and all above it."""
    known = {d.id: d for d in world.domains}
    path, at = {domain.id}, domain
    while at.parent is not None:
        at = known[at.parent]
        path.add(at.id)
    return frozenset(path)
