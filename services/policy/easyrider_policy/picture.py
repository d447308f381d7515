"""Everything the coordinator believes, following the fleet as boards, rules and jobs change."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from easyrider.frame_view import FrameView
from easyrider.messages import NodeState, PowerForecast
from easyrider.tree import Rules
from easyrider_policy.core import modes
from easyrider_policy.core.ages import Ages
from easyrider_policy.core.control import Control
from easyrider_policy.core.facility import Facility
from easyrider_policy.core.fleet import Board, Bools, Fleet, Floats, build
from easyrider_policy.core.gather import Gathering
from easyrider_policy.core.jobbook import JobBook
from easyrider_policy.core.layout import layout
from easyrider_policy.core.observe import Observation
from easyrider_policy.core.records import start
from easyrider_policy.core.unmanaged import Meters
from easyrider_policy.core.walls import Walls

POWER_CAP = 0x4 | 0x80
"""NVML's bits for a software power cap and a hardware power brake."""

FORECAST_STALE_S = 3.0


class Picture:
    """One coordinator's beliefs. Handlers change it, `Coordinator` plans from it; nothing here reads a clock."""

    def __init__(self, rules: Rules, region: str, now_s: float) -> None:
        self.rules = rules
        self.ages = Ages()
        self.jobs = JobBook()
        self.boards: dict[str, Board] = {}
        self.lists: dict[tuple[str, bytes], tuple[str, ...]] = {}
        self.frames_s: dict[str, float] = {}  # when each node's last frame was minted
        self.boards_moved = self.jobs_moved = False
        self.fleet: Fleet = build(rules, [])
        self.safety = Control(self.fleet, rules.leases, rules.id, region)
        self.meters = Meters(self.fleet)
        self.facility = Facility(self.fleet)
        self.walls = Walls(self.fleet)
        self.gathering = Gathering(self.fleet)
        self._managed: Bools = np.zeros(0, dtype=np.bool_)
        self.observation = Observation(layout(self.fleet, []))
        self.memory = start(self.fleet, now_s)
        self._rows: dict[tuple[str, bytes], NDArray[np.int64]] = {}
        self._confidence, self._forecast_s = 0.0, -1e18

    @property
    def hard_w(self) -> Floats:
        """Hard limits in force now, wall watts (D,)."""
        return self.fleet.hard_w * self.facility.share

    @property
    def target_w(self) -> Floats:
        """Targets in force now, wall watts (D,)."""
        return self.fleet.aim_w * self.facility.share

    def know_boards(self, state: NodeState) -> None:
        """Boards as their node reports them; the arrays follow with the next `follow`."""
        uuids = tuple(board.uuid for board in state.gpus)
        self.know_list(state.node, uuids)
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
        key = (node, hashlib.sha256(joined.encode()).digest()[:8])
        self.lists[key] = tuple(joined.split(",")) if joined else ()

    def rows_of(self, node: str, gpus_hash: bytes) -> NDArray[np.int64] | None:
        """Fleet rows of a frame's columns, -1 for boards not in the fleet; None while the list is unknown."""
        key = (node, gpus_hash)
        if key not in self._rows:
            if key not in self.lists:
                return None
            index = self.fleet.gpu_index
            self._rows[key] = np.array([index.get(uuid, -1) for uuid in self.lists[key]], dtype=np.int64)
        return self._rows[key]

    def take_frame(self, rows: NDArray[np.int64], view: FrameView) -> None:
        """A frame's energy means, newest enforced limits and power-cap flags into the columns."""
        known = rows >= 0
        mean_w = view.mean_w.filled(np.nan)[:, known].astype(np.float64)
        limit_w = view.limit_w[-1].filled(np.nan)[known].astype(np.float64)
        self.gathering.add(rows[known], mean_w, limit_w)
        if view.reasons is not None:
            flags = view.reasons.filled(0)[known]
            self.gathering.capped[rows[known]] = (flags & POWER_CAP) != 0

    def take_forecast(self, forecast: PowerForecast, now_s: float) -> None:
        """The newest forecast of the region; its confidence says how far the planner leans on it."""
        jobs = [series for series in forecast.series if series.scope == "job"]
        weight = sum(series.gpu_count for series in jobs)
        if weight:
            self._confidence = sum(s.confidence * s.gpu_count for s in jobs) / weight
            self._forecast_s = now_s

    def confidence(self, now_s: float) -> float | None:
        """Of the forecasts, weighted over boards; None without a fresh one."""
        return self._confidence if now_s - self._forecast_s <= FORECAST_STALE_S else None

    def follow(self) -> bool:
        """Rebuild what hangs on the fleet or the jobs, if they moved; whether anything did."""
        if not (self.boards_moved or self.jobs_moved):
            return False
        if self.boards_moved:
            self._move_to(build(self.rules, self.boards.values()))
        labels = self.jobs.labels(self.fleet)
        chosen = modes.modes(self.rules.modes, self.fleet, labels)
        self._managed = modes.managed(chosen)
        running = self.jobs.jobs(self.fleet, self.rules.priorities, chosen)
        self.observation = self.observation.carried(layout(self.fleet, running))
        self.boards_moved = self.jobs_moved = False
        return True

    def forget_unsaid(self, now_s: float) -> None:
        """Drop jobs that nodes which talk no longer say."""
        self.jobs_moved |= self.jobs.forget_unsaid(self.frames_s, now_s)

    def accept(self, rules: Rules) -> None:
        """New rules; everything known of boards, jobs and meters stays."""
        self.rules = rules
        self.boards_moved = True

    def _move_to(self, fleet: Fleet) -> None:
        before = self.fleet
        self.fleet = fleet
        self.safety = self.safety.moved_to(fleet, self.rules.leases)
        self.meters = self.meters.moved_to(fleet)
        self.facility = self.facility.carried(fleet)
        self.walls = Walls(fleet)
        self.gathering = Gathering(fleet)
        self.memory = self.memory.carried(before, fleet)
        self._rows = {}

    @property
    def managed(self) -> Bools:
        """Boards (G,) in `pilot` or `enforce`."""
        return self._managed
