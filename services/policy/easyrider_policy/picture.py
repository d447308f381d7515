"""Everything the coordinator believes, following the fleet as boards, rules and jobs change."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from easyrider import scopes
from easyrider.frame_view import FrameView
from easyrider.messages import NodeState, PowerForecast
from easyrider.tree import Rules
from easyrider_policy.core import modes
from easyrider_policy.core.ages import Ages
from easyrider_policy.core.ahead import foresee
from easyrider_policy.core.billing import Billing
from easyrider_policy.core.checks import faults
from easyrider_policy.core.control import Control
from easyrider_policy.core.credible import gated
from easyrider_policy.core.crossing import JobKeys, Shares, bounds
from easyrider_policy.core.demotion import Demotions
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import Board, Bools, Fleet, Floats, build
from easyrider_policy.core.foreseen import Foreseen
from easyrider_policy.core.gather import Gathering
from easyrider_policy.core.heat import Heat
from easyrider_policy.core.holds import held
from easyrider_policy.core.jobbook import JobBook
from easyrider_policy.core.layout import layout
from easyrider_policy.core.lease import Envelope
from easyrider_policy.core.metering import ours_w
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.records import start
from easyrider_policy.core.regions import Regions
from easyrider_policy.core.stages import Book
from easyrider_policy.core.targets import LoadTargets
from easyrider_policy.core.trust import Trust
from easyrider_policy.core.unmanaged import Meters
from easyrider_policy.core.walls import Walls

LISTS_KEPT = 4
"""Orders of boards remembered per node: a node has one, and a few while it changes."""


class Picture:
    """One coordinator's beliefs. Handlers change it, `Coordinator` plans from it; nothing here reads a clock."""

    def __init__(self, rules: Rules, region: str, now_s: float) -> None:
        self.rules, self.region, self._began_s = rules, region, now_s
        self._document: tuple[Rules, str] | None = None  # which rules, and the digest of their document
        self.unfit: tuple[str, ...] = ()  # why these rules cannot be kept safe with the boards heard
        self.ages = Ages()
        self.jobs = JobBook()
        self.boards: dict[str, Board] = {}
        self.frames_s: dict[str, float] = {}  # when each node's last frame was minted
        self.met_s: dict[str, float] = {}  # when each node first told of its boards
        self.demotions = Demotions()
        self.held_nodes: set[str] = set()  # whose guardians take no raise
        self.boards_moved = self.jobs_moved = self.rules_moved = self.modes_moved = self.orders_moved = False
        self.supply_moved = False  # a feed has lost its mains, or has them back: others carry other shares
        self._settled = rules.version  # the last that changed more than holds and load targets
        self.part = scopes.part_of(
            rules, region
        )  # what this scope governs; all of it where no region is named
        self.fleet: Fleet = build(self.part, [])
        self.regions = Regions(rules, region, self.fleet)
        self.envelope: Envelope | None = None  # what the parent lets us draw; None: there is no parent
        self.echoed: Shares = {}  # what the parent says of jobs that coordinators elsewhere limit too
        self.job_keys = JobKeys()
        self.safety = Control(self.fleet, rules.leases, rules.id, region)
        self.meters = Meters(self.fleet)
        self.facility, self.heat = Facility(self.fleet), Heat(self.fleet)
        self.walls = Walls(self.fleet)
        self.targets = LoadTargets(self.fleet, rules.targets, rules.leases)
        self.billing = Billing(self.fleet, rules.tariffs, rules.demands)
        self.gathering = Gathering(self.fleet)
        self.modes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # (G,) place in `MODES` of each board
        self.governs: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # (G,) the rule that says so, -1: none
        self.stages = Book()
        self.managed: Bools = np.zeros(0, dtype=np.bool_)  # (G,) boards in `pilot` or `enforce`
        self.observation = Observation(layout(self.fleet, []))
        self.memory = start(self.fleet, now_s)
        self.trust, self.foreseen = Trust(), Foreseen(self.fleet)
        self._lists: dict[str, dict[bytes, tuple[str, ...]]] = {}
        self._rows: dict[tuple[str, bytes], NDArray[np.int64]] = {}
        self._ours_w: Floats | None = None

    @property
    def hard_w(self) -> Floats:
        """Hard limits in force now, wall watts (D,)."""
        hard_w = self.facility.hard_w
        if self.envelope is not None:
            hard_w[0] = min(
                hard_w[0], self.envelope.hard_w
            )  # a scope with a parent has one root, the first domain
        return hard_w

    @property
    def echo(self) -> Floats | None:
        """(J,) shares that coordinators above, beside and below leave to each job; None where none leaves less."""
        here = self.regions.crossing.echo()
        if not self.echoed and not here:
            return None
        return bounds(self.job_keys.of(self.observation.layout), self.echoed, here)

    def hard_left_w(self, now_s: float) -> Floats:
        """The same less all that regions below could be drawing: the sum rule of our own boards stands on this."""
        return self.hard_w - self.regions.could_w(now_s) if self.regions.any else self.hard_w

    def hard_meant_w(self, now_s: float) -> Floats:
        """The same less what regions below hold and are to get: what our own jobs are planned into."""
        return self.hard_w - self.regions.planned_w(now_s) if self.regions.any else self.hard_w

    @property
    def target_meant_w(self) -> Floats:
        """Targets less what regions below may draw by theirs."""
        return self.target_w - self.regions.aimed_w() if self.regions.any else self.target_w

    @property
    def target_w(self) -> Floats:
        """Targets in force now, wall watts (D,)."""
        return np.minimum(np.minimum(self.own_target_w, self.targets.ceiling_w), self.billing.ceiling_w)

    @property
    def own_target_w(self) -> Floats:
        """The same without load targets and demand windows."""
        target_w = self.facility.target_w
        if self.envelope is not None:
            target_w[0] = min(target_w[0], self.envelope.target_w)
        return target_w

    def know_boards(self, state: NodeState, minted_s: float) -> None:
        """Boards as their node reports them; the arrays follow with the next `follow`."""
        self.know_list(state.node, [board.uuid for board in state.gpus])
        self.met_s.setdefault(state.node, minted_s)
        if state.held != (state.node in self.held_nodes):
            self.held_nodes ^= {state.node}
            self.orders_moved = True
        for gpu in state.gpus:
            board = Board(
                uuid=gpu.uuid, node=state.node, min_w=gpu.min_w, max_w=gpu.max_w, settable=gpu.settable
            )
            if self.boards.get(gpu.uuid) != board:
                self.boards[gpu.uuid] = board
                self.boards_moved = True

    def know_list(self, node: str, uuids: Iterable[str]) -> None:
        """The order in which a node's frames name its boards."""
        joined = ",".join(uuids)
        lists = self._lists.setdefault(node, {})
        key = hashlib.sha256(joined.encode()).digest()[:8]
        lists[key] = lists.pop(key, tuple(joined.split(",")) if joined else ())
        while len(lists) > LISTS_KEPT:
            oldest = next(iter(lists))
            del lists[oldest]
            self._rows.pop((node, oldest), None)

    def lists_of(self, node: str) -> int:
        """In how many orders a node has named its boards, as far as they are remembered."""
        return len(self._lists.get(node, ()))

    def rows_of(self, node: str, gpus_hash: bytes) -> NDArray[np.int64] | None:
        """Fleet rows of a frame's columns, -1 for boards that are not of this node; None while the list is unknown."""
        key = (node, gpus_hash)
        if key not in self._rows:
            uuids = self._lists.get(node, {}).get(gpus_hash)
            if uuids is None:
                return None
            index, mine = self.fleet.gpu_index, self.fleet.gpus_of(self.fleet.node_index[node])
            found = [index.get(uuid, -1) for uuid in uuids]
            self._rows[key] = np.array(
                [row if mine.start <= row < mine.stop else -1 for row in found], dtype=np.int64
            )
        return self._rows[key]

    def take_frame(self, rows: NDArray[np.int64], view: FrameView) -> None:
        """A frame's energy means, newest enforced limits and power-cap flags into the columns."""
        known = rows >= 0
        mean_w = view.mean_w.filled(np.nan)[:, known].astype(np.float64)
        limit_w = view.limit_w[-1].filled(np.nan)[known].astype(np.float64)
        self.gathering.add(rows[known], mean_w, limit_w)
        if view.reasons is not None:
            self.gathering.add_reasons(rows[known], view.reasons.filled(0)[known])
        if view.temperature_c is not None:
            celsius = np.ma.filled(view.temperature_c.astype(np.float64), np.nan)
            self.gathering.add_temperatures(rows[known], celsius[known])

    def take_forecast(self, forecast: PowerForecast, minted_s: float) -> bool:
        """What is expected of the region's jobs, one message of several; whether a plan should be made at once."""
        forecast = gated(forecast, self.observation.layout)
        self.trust.heard(forecast.series, self.observation.job_rows, minted_s)
        self.foreseen.heard(forecast.series, minted_s)
        return foresee(self.observation, forecast, minted_s)

    def confidence(self, now_s: float) -> float | None:
        """Of the forecasts, weighted over boards; None without a fresh one."""
        return self.trust.confidence(self.observation.job_boards, now_s)

    def why_reactive(self, now_s: float) -> str:
        """What keeps forecasts from being trusted."""
        return self.trust.doubt(self.observation.job_boards, now_s)

    def ours_w(self, now_s: float) -> Floats:
        """(D,) wall watts that meters show of us at this moment; NaN where that is not known just now."""
        if self._ours_w is None:
            fleet, seen = self.fleet, self.observation
            met_s = np.array([self.met_s.get(node, now_s) for node in fleet.nodes])[fleet.gpu_node]
            unread_s = np.where(np.isfinite(seen.unread_s), seen.unread_s, now_s - met_s)
            unmet_s = now_s - self._began_s
            self._ours_w = ours_w(fleet, seen.gpu_w, unread_s, self.managed, unmet_s)
        return self._ours_w

    def sampled(self) -> None:
        """New means are in: what was derived from the old ones is void."""
        self._ours_w = None

    def follow(self, *, boards_wait: bool = False, jobs_wait: bool = False) -> str | None:
        """Rebuild what hangs on rules, boards or jobs if they moved; what moved.

        Boards and jobs may wait for others like them; until then boards count what their class declares.
        """
        boards_move = self.rules_moved or self.supply_moved or (self.boards_moved and not boards_wait)
        if not (boards_move or self.modes_moved or (self.jobs_moved and not jobs_wait)):
            if not self.orders_moved:
                return None
            self._take_orders()
            return "orders"
        what = "rules" if self.rules_moved else "supply" if self.supply_moved else "job"
        if what == "job" and boards_move:
            what = "boards"
        if boards_move:
            self.part = scopes.part_of(self.rules, self.region)
            self._move_to(build(self.part, self.boards.values(), self.facility.losses.dark))
            self.supply_moved = False
            self.boards_moved = False
        elif not self.jobs_moved:
            what = "demotion"
        self.demotions.lifted(self._settled)
        labels = self.jobs.labels(self.fleet)
        effective = self.stages.effective(self.rules.modes)
        self.stages.follow(self.stages.modes(self.rules.modes))
        self.governs = modes.board_rules(effective, self.fleet, labels)
        chosen = modes.modes_of(effective, self.governs)
        chosen = self.demotions.lowered(chosen, self.fleet, labels)
        self.modes, self.managed = chosen, modes.managed(chosen)
        running = self.jobs.jobs(self.fleet, self.rules.priorities, chosen)
        self.observation = self.observation.carried(layout(self.fleet, running))
        self.rules_moved = self.jobs_moved = self.modes_moved = False
        self.sampled()
        self._take_orders()
        return what

    def forget_unsaid(self, now_s: float) -> None:
        """Drop jobs that nodes which talk no longer say."""
        self.jobs_moved |= self.jobs.forget_unsaid(self.frames_s, now_s)

    @property
    def rules_sha256(self) -> str:
        """Of the document in force, which two coordinators of one version may not share. Empty: not reckoned yet."""
        known = self._document
        return known[1] if known is not None and known[0] is self.rules else ""

    def documented(self, rules: Rules, sha256: str) -> None:
        """Somebody wrote out these rules, beside the loop: a large site's take long."""
        self._document = rules, sha256

    def accept(self, rules: Rules) -> None:
        """New rules; everything known of boards, jobs and meters stays."""
        before, self.rules = self.rules, rules
        same = replace(rules, version=before.version, holds=before.holds, targets=before.targets) == before
        if same and not self.rules_moved:
            self.orders_moved = True  # nothing that was asked of a node is taken anew from its acks
        else:
            self._settled, self.rules_moved = rules.version, True

    def _take_orders(self) -> None:
        """Holds and load targets on the present fleet."""
        self.safety.holds = held(self.rules.holds, self.fleet, self.held_nodes, self.rules.domains)
        self.targets = self.targets.moved_to(self.fleet, self.rules.targets, self.rules.leases)
        self.orders_moved = False

    def _move_to(self, fleet: Fleet) -> None:
        before, self.fleet = self.fleet, fleet
        # Classes may declare too little to judge a tree by; its boards, once heard, tell the rest.
        self.unfit = tuple(faults(self.part, fleet, self.region))
        self.regions = Regions(self.rules, self.region, fleet, self.regions)
        self.safety = self.safety.moved_to(fleet, self.rules.leases)
        self.meters = self.meters.moved_to(fleet)
        self.facility, self.heat = self.facility.carried(fleet), self.heat.carried(fleet)
        self.walls, self.foreseen = self.walls.carried(fleet), Foreseen(fleet)
        self.billing = self.billing.moved_to(fleet, self.rules.tariffs, self.rules.demands)
        self.gathering = self.gathering.carried(before, fleet)
        self.memory = self.memory.carried(before, fleet)
        self._rows = {}
