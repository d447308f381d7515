"""A day of a small site in virtual time: jobs come, stall and go, supply fails, nodes fall silent; no twin.

One plan a second with ten 100 ms columns, through ledger and commands, to nodes that obey and answer at once.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from small_world import MAX_W, MIN_W, World, load

from easyrider.messages import GpuAck, GpuState, Hold, LimitAck, NodeState, SetLimits
from easyrider.tree import Leases
from easyrider_policy.core import curves
from easyrider_policy.core.commands import Wanted
from easyrider_policy.core.control import Control
from easyrider_policy.core.plan import plan
from easyrider_policy.core.records import Situation
from easyrider_policy.core.unmanaged import Estimates

BOARDS = 8


@cache
def speed_at(held):
    """Speed of a computing job held at this share of its peak."""
    return float(curves.speed(np.array([held]), np.array([32]))[0])


@dataclass
class Guard:
    """One node's guardian, as plain as it gets: it takes what is newer and says what it holds."""

    node: str
    limit_w: list
    fallback_w: list
    fence: tuple = (0, 0)
    said: tuple = ()

    def take(self, command, now_s):
        if (command.epoch, command.seq) <= self.fence:
            return None
        self.fence = (command.epoch, command.seq)
        if isinstance(command, SetLimits) and [entry.limit_w for entry in command.limits] != self.limit_w:
            self.said = ()
            for i, entry in enumerate(command.limits):
                if entry.limit_w is not None:
                    self.limit_w[i], self.fallback_w[i] = entry.limit_w, entry.fallback_w
        return LimitAck(
            tree="small", region="r", node=self.node, boot_id="b",
            answers="hold" if isinstance(command, Hold) else "set_limits", epoch=command.epoch,
            seq=command.seq, highest_epoch=self.fence[0], highest_seq=self.fence[1], accepted=True, refused=None,
            gpus=self.boards()[0], t_ns=0, mono_ns=int(now_s * 1e9),
        )  # fmt: skip

    def state(self, now_s):
        return NodeState(
            tree="small", region="r", node=self.node, boot_id="b", nonce=int(now_s * 1000),
            highest_epoch=self.fence[0], highest_seq=self.fence[1], armed=True, stage=0, leaving=False,
            gpus=self.boards()[1], t_ns=0, mono_ns=int(now_s * 1e9),
        )  # fmt: skip

    def boards(self):
        """What an ack and a state say of the boards, made anew when a limit has moved."""
        if not self.said:
            held = [(f"{self.node}g{i}", w, self.fallback_w[i]) for i, w in enumerate(self.limit_w)]
            self.said = (
                tuple(GpuAck(uuid=u, requested_w=w, enforced_w=w, fallback_w=f) for u, w, f in held),
                tuple(
                    GpuState(
                        uuid=u, min_w=MIN_W, max_w=MAX_W, default_w=MAX_W, baseline_w=MAX_W, requested_w=w,
                        enforced_w=w, fallback_w=f, settable=True, controlled=True,
                    )
                    for u, w, f in held
                ),
            )  # fmt: skip
        return self.said


class Day(World):
    """The small world with the safety half between plan and boards, and a script of troubles from a seed."""

    def begin(self, seed):
        self.dice = np.random.default_rng(seed)
        self.guards = [Guard(node, [MAX_W] * BOARDS, [MIN_W] * BOARDS) for node in self.fleet.nodes]
        self.control = Control(self.fleet, Leases(), "small", "r")
        self.control.taken(1, 0.0, 0.0)
        self.dark_until_s = np.zeros(len(self.guards))
        self.lost_until_s = 0.0
        self.free = {k: list(range(k, k + BOARDS)) for k in range(0, 32, BOARDS)}
        self.ends_s, self.stall_s = {}, {}
        self.started, self.sequence = 0, 0
        none = np.full(len(self.fleet.domains), np.nan)
        self.estimates = Estimates(none, np.zeros(len(none), dtype=bool))
        self.worst_over_w, self.worst_target_share, self.plans = -1e9, 0.0, 0
        self.window = np.zeros((10, len(self.fleet.domains)))
        self.calm_s = 0.0

    def script(self):
        """What befalls the site in this second."""
        changed = False
        for name, end_s in list(self.ends_s.items()):
            if self.now_s >= end_s:
                gone = next(load for load in self.loads if load.job.id == name)
                self.loads.remove(gone)
                del self.ends_s[name]
                for row in gone.job.gpus:
                    self.free.setdefault(row - row % BOARDS, []).append(row)
                changed = True
        if self.dice.random() < 1 / 120:
            changed |= self.start_job()
        for one in self.loads:
            one.paused = self.now_s < self.stall_s.get(one.job.id, 0.0)
            if not one.paused and self.dice.random() < 1 / 900:
                self.stall_s[one.job.id] = self.now_s + self.dice.uniform(6, 30)
        if self.dice.random() < 1 / 3600:
            self.lost_until_s = self.now_s + 120.0
        self.share[0] = 0.8 if self.now_s < self.lost_until_s else 1.0
        if self.dice.random() < 1 / 7200:
            self.dark_until_s[self.dice.integers(len(self.guards))] = self.now_s + self.dice.uniform(2, 40)
        if changed:
            self.jobs_changed()

    def start_job(self):
        size = int(self.dice.choice([2, 4, 8, 16]))
        rows = []
        for spot in list(self.free):
            take = self.free[spot][: size - len(rows)]
            rows += take
            self.free[spot] = self.free[spot][len(take) :]
            if len(rows) == size:
                break
        if len(rows) < 2:
            for row in rows:
                self.free[row - row % BOARDS].append(row)
            return False
        self.started += 1
        name = f"j{self.started}"
        self.ends_s[name] = self.now_s + self.dice.uniform(300, 7200)
        self.loads.append(
            load(
                name, rows, float(self.dice.uniform(420, 690)), busy=float(self.dice.uniform(0.6, 1.0)),
                period_s=float(self.dice.uniform(0.7, 8)), weight=float(self.dice.choice([1, 2, 4])),
                started_s=self.now_s,
            )
        )  # fmt: skip
        self.stall_s[name] = self.now_s + self.dice.uniform(0, 20)  # sets itself up
        return True

    def columns(self):
        """The same physics as the small world's, all steps of a second at once."""
        true_w = np.full((10, len(self.fleet.gpus)), 75.0)
        steps = np.arange(10) * 0.1
        for one in self.loads:
            rows = list(one.job.gpus)
            cap_w = float(self.limit_w[rows].min())
            if one.paused:
                draw_w = np.full(10, min(155.0, cap_w))
            else:
                slow = speed_at(round(min(1.0, cap_w / one.peak_w), 3))
                at = ((one.at_s + steps) / one.period_s) % 1.0
                draw_w = np.minimum(np.where(at < one.busy, one.peak_w, one.low_w), cap_w)
                one.at_s += one.busy * slow + 1.0 - one.busy
                one.worked_s += one.busy * slow + 1.0 - one.busy
            true_w[:, rows] = draw_w[:, None]
        return true_w

    def second(self):
        self.now_s += 1.0
        now_s, control = self.now_s, self.control
        before_share = self.share.copy()
        self.script()
        self.limit_w = np.array([w for guard in self.guards for w in guard.limit_w])
        true_w = self.columns()
        self.wall_w = self.fleet.wall_w(true_w.mean(axis=0))
        control.renewed(now_s)
        heard = now_s >= self.dark_until_s
        for guard, hears in zip(self.guards, heard, strict=True):
            if hears:
                control.state_heard(guard.state(now_s), now_s)
        seen_w = true_w.copy()
        seen_w[:, ~np.repeat(heard, BOARDS)] = np.nan
        self.observation.add(now_s, seen_w, self.limit_w)
        self.walls.add(self.observation.believed_w(seen_w))
        self.walls.meters(self.wall_w, 1.0)
        control.ledger.learned(self.observation.overshoot.counted)
        hard_w = self.fleet.hard_w * self.share
        held_w = control.commands.held.limit_w
        zero = np.zeros(len(hard_w))
        reach = (now_s - control.ledger.roll.nonce_s < 5.0) & control.commands.based
        situation = Situation(
            now_s=now_s, limit_w=np.where(np.isnan(held_w), self.limit_w, held_w),
            steered=np.repeat(reach, BOARDS), counted_w=control.planned_w(now_s), hard_w=hard_w,
            target_w=self.fleet.aim_w * self.share, unmanaged_hard_w=zero, unmanaged_target_w=zero,
            confidence=self.confidence,
        )  # fmt: skip
        self.decision = plan(self.observation, self.walls, situation, self.memory, self.pacing)
        self.memory = self.decision.memory
        wanted = Wanted(
            limit_w=self.decision.wanted_w, managed=np.ones(32, dtype=bool), job=self.placed.job_of
        )
        orders = control.orders(now_s, wanted, hard_w, self.estimates)
        for command in orders.messages:
            row = self.fleet.node_index[command.node]
            if heard[row]:
                answer = self.guards[row].take(command, now_s)
                if answer is not None:
                    control.acked(answer, now_s)
        self.moves += orders.lowers + orders.raises
        self.plans += 1
        self.judge(hard_w, fell=bool((self.share < before_share).any()))

    def judge(self, hard_w, fell):
        """Keep the worst that was seen, outside the second in which a limit itself fell or a node was deaf."""
        self.calm_s = 0.0 if fell or (self.now_s < self.dark_until_s + 20).any() else self.calm_s + 1.0
        self.window[self.plans % 10] = self.wall_w / (self.fleet.aim_w * self.share)
        if self.calm_s < 12 or self.plans < 30:
            return
        held_w = self.fleet.worst_wall_w(np.array([w for guard in self.guards for w in guard.limit_w]))
        self.worst_over_w = max(self.worst_over_w, float((held_w - hard_w).max()))
        self.worst_target_share = max(self.worst_target_share, float(self.window.mean(axis=0).max()))
