"""Coordinators of ours against the reference world: who does what when, and what really holds at each moment."""

import random
from dataclasses import dataclass, field

import numpy as np
from random_trees import MAX_W, MIN_W, wall_w, worst_w
from reference_world import Command, Machine, Network

from easyrider.tree import Leases, Rules
from easyrider_policy.core import fleet as fleets
from easyrider_policy.core import leader
from easyrider_policy.core.commands import Orders, Wanted
from easyrider_policy.core.control import Control
from easyrider_policy.core.fleet import Board, Fleet
from easyrider_policy.core.unmanaged import Meters

STEP_S = 0.25


@dataclass
class Store:
    """The lease, as the real one answers it. `silent`: no answers."""

    owner: str | None = None
    epoch: int = 0
    until_s: float = -1.0
    silent: bool = False

    def take(self, owner: str, seen: int, now_s: float, lease_s: float) -> int | None:
        if self.owner is not None and now_s < self.until_s:
            return None
        self.owner, self.epoch, self.until_s = owner, max(self.epoch, seen) + 1, now_s + lease_s
        return self.epoch

    def renew(self, owner: str, now_s: float, lease_s: float) -> bool:
        if self.owner != owner or now_s >= self.until_s:
            return False
        self.until_s = now_s + lease_s
        return True


@dataclass
class Coordinator:
    """One process: frozen, killed or running."""

    name: str
    control: Control
    frozen: bool = False
    tried_s: float = -1e9
    orders: list[Orders] = field(default_factory=list)


class Simulation:
    """A site of `rules` with every board heard; `dice` decides everything random."""

    def __init__(self, rules: Rules, boards: int, dice: random.Random, rough: float) -> None:
        self.rules, self.boards, self.dice = rules, boards, dice
        self.machines = {node.id: Machine(node.id, boards) for node in rules.nodes}
        self.network, self.store = Network(dice, rough), Store()
        self.fleet = self._fleet()
        self.coordinators: list[Coordinator] = []
        self.now_s = 100.0
        self.hard_w = self.fleet.hard_w.copy()
        self.raw_w = dict.fromkeys(self.fleet.gpus, MAX_W)
        self.managed = np.ones(len(self.fleet.gpus), dtype=np.bool_)
        self.phase = {node.id: dice.random() for node in rules.nodes}
        self.steps = 0
        self.planner_sees_counts = True

    def _fleet(self) -> Fleet:
        return fleets.build(
            self.rules,
            [
                Board(uuid=machine.uuid(b), node=machine.id, min_w=MIN_W, max_w=MAX_W)
                for machine in self.machines.values()
                for b in range(self.boards)
            ],
        )

    def coordinator(self, name: str) -> Coordinator:
        """Start a process that knows nothing."""
        fresh = Coordinator(name, Control(self.fleet, self.rules.leases, "site", "r"))
        self.coordinators.append(fresh)
        return fresh

    def leader(self) -> Coordinator | None:
        """The running process that leads with the highest epoch."""
        leading = [c for c in self.coordinators if not c.frozen and c.control.lead.phase != "contending"]
        return max(leading, key=lambda c: c.control.lead.epoch, default=None)

    def run(self, seconds: float, watch: bool = True) -> None:
        """Let time pass; `check` after every step."""
        for _ in range(round(seconds / STEP_S)):
            self.step()
            if watch:
                self.check()

    def step(self) -> None:
        """A quarter of a second."""
        self.now_s += STEP_S
        self.steps += 1
        self.network.deliver(self.now_s)
        for machine in self.machines.values():
            machine.tick(self.now_s)
            self._speak(machine)
        for coordinator in self.coordinators:
            if not coordinator.frozen:
                self._lead(coordinator)
                self._order(coordinator)
        self.network.deliver(self.now_s)

    def real_w(self) -> dict[str, float]:
        """Worst-case wall watts per domain of what boards enforce now, by the plain sums."""
        held = {m.id: m.enforced_w if m.up else [] for m in self.machines.values()}
        return worst_w(self.rules, wall_w(self.rules, held))

    def check(self) -> None:
        """The sum rule as it really is, and the count never below what is real."""
        real_w = self.real_w()
        for domain, watts in real_w.items():
            hard_w = self.hard_w[self.fleet.domain_index[domain]]
            assert watts <= hard_w + 1e-3, f"{domain} carries {watts} of {hard_w} at {self.now_s}"
        self.check_count()

    def check_count(self) -> None:
        """Every board counts at least what it enforces."""
        first = self.leader()
        if first is None:
            return
        counted_w = first.control.ledger.counted_w(self.now_s)
        for machine in self.machines.values():
            if machine.up:
                rows = self.fleet.gpus_of(self.fleet.node_index[machine.id])
                assert (counted_w[rows] >= np.array(machine.enforced_w) - 1e-6).all(), machine.id

    def enforced(self) -> dict[str, list[float]]:
        """What every board holds."""
        return {machine.id: list(machine.enforced_w) for machine in self.machines.values()}

    def _speak(self, machine: Machine) -> None:
        if not machine.up or not machine.alive:
            return
        now_s = self.now_s
        if (now_s + self.phase[machine.id]) % 1.0 < STEP_S:
            state = machine.state(now_s)
            for c in self.coordinators:
                self._up(machine, c, lambda _, c=c: c.control.state_heard(state, now_s))
        if machine.leaving_s is not None and (now_s - machine.leaving_s) % 0.5 < STEP_S:
            leaving = machine.asks_to_leave(now_s)
            for c in self.coordinators:
                self._up(machine, c, lambda _, c=c: c.control.leaving_heard(leaving, now_s))
        row, boot = self.fleet.node_index[machine.id], f"{machine.id}-{machine.boot}"
        shown, read_ns = np.array(machine.enforced_w), machine.mono_ns(now_s)
        for c in self.coordinators:
            self._up(machine, c, lambda _, c=c: c.control.frame_heard(row, boot, shown, read_ns, now_s))

    def _up(self, machine: Machine, c: Coordinator, deliver) -> None:
        self.network.send(self.now_s, machine.id, lambda at_s: None if c.frozen else deliver(at_s))

    def _lead(self, c: Coordinator) -> None:
        control, now_s = c.control, self.now_s
        leases: Leases = self.rules.leases
        control.lead = leader.passed(control.lead, leases, now_s)
        period_s = 0.5 if control.lead.phase == "contending" else 1.0
        if now_s - c.tried_s < period_s:
            return
        c.tried_s = now_s
        if self.store.silent:
            control.unanswered(now_s)
        elif control.lead.phase == "contending":
            epoch = self.store.take(c.name, control.lead.highest_epoch, now_s, leases.leader_lease_s)
            if epoch is not None:
                control.taken(epoch, now_s, now_s)
        elif self.store.renew(c.name, now_s, leases.leader_lease_s):
            control.renewed(now_s)
        else:
            control.not_ours()

    def _order(self, c: Coordinator) -> None:
        now_s = self.now_s
        estimates = Meters(self.fleet).estimates(now_s)
        orders = c.control.orders(now_s, self._wanted(c), self.hard_w, estimates)
        if orders.messages:
            c.orders.append(orders)
            del c.orders[:-50]
        for command in orders.messages:
            self._down(command)

    def _down(self, command: Command) -> None:
        machine = self.machines[command.node]

        def arrive(at_s: float) -> None:
            if not machine.up or not machine.alive:
                return
            ack = machine.take(command, at_s)
            for c in self.coordinators:
                self._up(machine, c, lambda _, c=c: c.control.acked(ack, at_s))

        self.network.send(self.now_s, machine.id, arrive)

    def _wanted(self, c: Coordinator) -> Wanted:
        raw = np.array([self.raw_w[uuid] for uuid in self.fleet.gpus])
        quiet = c.control.ledger.roll.quiet(self.now_s)[self.fleet.gpu_node]
        kept_w = c.control.planned_w(self.now_s)
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = (low + high) / 2
            trial = MIN_W + middle * (raw - MIN_W)
            could = np.where(quiet, kept_w, trial) if self.planner_sees_counts else trial
            total = self.fleet.worst_wall_w(could) + self.fleet.worst_fixed_w + self.fleet.margin_w
            low, high = (middle, high) if (total <= self.hard_w).all() else (low, middle)
        limit_w = MIN_W + low * (raw - MIN_W)
        return Wanted(
            limit_w=np.where(self.managed, limit_w, np.nan),
            managed=self.managed,
            job=np.arange(len(raw), dtype=np.int64) // 3,
        )
