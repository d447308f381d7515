"""Everything heard of a region, put where it belongs: samples to boards, jobs to groups, limits, marks, meters."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from easyrider.frame_view import FrameView, view
from easyrider.messages import JobEvent, LimitAck, MeterReading, NodeFrame, PhaseMark
from easyrider.tree import Rules
from easyrider_forecaster.core import observable, tree_shares
from easyrider_forecaster.core.arrays import SLOT_S
from easyrider_forecaster.core.boards import Boards
from easyrider_forecaster.core.groups import Groups, JobOnNode
from easyrider_forecaster.core.marks import Marks
from easyrider_forecaster.core.node_clock import NodeClock
from easyrider_forecaster.core.roster import Roster
from easyrider_forecaster.core.stuck import Stuck

_AHEAD_S = 1.0


@dataclass(frozen=True, slots=True)
class MeterSeen:
    """Newest good reading of a domain's meter; wall watts, receiver's clock."""

    power_w: float
    at_s: float
    period_s: float


class Intake:
    """The present of one region, as far as it was heard. All times in s of the receiver's monotonic clock."""

    def __init__(self, nameplate_w: float) -> None:
        self.boards, self.groups, self.marks = Boards(), Groups(), Marks()
        self.clocks: dict[str, NodeClock] = {}
        self.stuck = Stuck()
        self.slowest_s: dict[str, float] = {}
        self.partial: dict[str, bool] = {}
        self.mixed_s: dict[str, float] = {}
        self.meters: dict[str, MeterSeen] = {}
        self.told: dict[str, JobEvent] = {}  # the newest word on each job
        self.shares: dict[str, dict[str, float]] = {}
        self.dropped: Counter[str] = Counter()
        self._nameplate_w = nameplate_w
        self._declared_w: dict[str, float] = {}
        self._roster = Roster()

    def take_rules(self, rules: Rules) -> None:
        """A tree: which domains carry which node, and declared device maxima."""
        self.shares = tree_shares.shares(rules)
        self._declared_w = tree_shares.device_maxima(rules)
        for board, node in enumerate(self.boards.node_of):
            if node in self._declared_w:
                self.boards.max_w[board] = self._declared_w[node]
        self.groups.changed = True

    def take_frame(self, frame: NodeFrame, arrival_s: float) -> None:
        """Samples of one node. Raises a `MalformedMessage` where its columns do not fit; nothing was taken then.

        A frame said twice is left aside. A late one fills the slots that are still open and decides no limit.
        """
        columns = view(frame)
        uuids = self._roster.of(frame)
        if uuids is None:
            self.dropped["unknown_gpus"] += 1
            return
        if not frame.samples or not uuids:
            return
        clock = self._clock(frame.node, frame.boot_id)
        mono_s = frame.mono_ns / 1e9
        late, again = clock.overtaken(mono_s), clock.said(mono_s)
        if again:
            self.dropped["duplicate_frames"] += 1
            return
        self.dropped["late_frames"] += late
        clock.received(mono_s, arrival_s, float(columns.before_s.max()))
        known = len(self.boards.node_of)
        nameplate_w = self._declared_w.get(frame.node, self._nameplate_w)
        rows = self.boards.find(uuids, frame.node, nameplate_w)
        self.groups.changed |= len(self.boards.node_of) > known
        self.stuck.grow(self.boards.rows)
        self._learn_sensor(frame, columns, clock)
        times_s = clock.at(mono_s) - columns.before_s
        inside = times_s <= arrival_s + _AHEAD_S
        order = np.argsort(times_s[inside], kind="stable")
        slots = clock.place(times_s[inside][order])
        fast = [
            np.ma.filled(values.astype(np.float64), np.nan)[inside][order]
            for values in (columns.mean_w, columns.power_w, columns.limit_w)
        ]
        if not len(slots):
            return
        warm_c = columns.temperature_c
        told_c = None if warm_c is None else np.ma.filled(warm_c.astype(np.float64), np.nan)
        self.stuck.take(rows, clock.at(mono_s), fast[1], told_c)
        self.dropped["stuck_samples"] += self.stuck.blank(rows, fast[0], fast[1])
        self.boards.put(rows, slots, clock.span(), *fast, newest=not late)

    def take_job(self, event: JobEvent, arrival_s: float) -> None:
        """A job started, changed, runs or ended on a node."""
        if event.change == "ended":
            self.groups.drop(event.job, event.node)
            if self.groups.job(event.job) is None:
                self.marks.forget(event.job)
                self.told.pop(event.job, None)
            return
        clock = self._clock(event.node, event.boot_id)
        clock.received(event.mono_ns / 1e9, arrival_s)
        # A field that looks back sees the work before for as long.
        whole_s = clock.at(event.mono_ns / 1e9) + self.mixed_s.get(event.node, 0.0)
        start_slot = int(np.ceil(whole_s / SLOT_S - 1e-6))
        before = self.told.get(event.job)
        if before is None or event.change != "running" or (event.gpu_model and not before.gpu_model):
            self.told[event.job] = event
            self.groups.changed = True
        self.groups.take(JobOnNode(event.job, event.node, event.started_ns, event.gpus, start_slot))

    def take_ack(self, ack: LimitAck) -> None:
        """Limits as read back, sooner than the next frame says them."""
        for gpu in ack.gpus:
            board = self.boards.row_of.get(gpu.uuid)
            if board is not None and gpu.enforced_w is not None:
                self.boards.limit_w[board] = gpu.enforced_w

    def take_mark(self, mark: PhaseMark, arrival_s: float) -> None:
        """A phase began or ended."""
        if mark.begins:
            clock = self._clock(mark.node, mark.boot_id)
            clock.received(mark.mono_ns / 1e9, arrival_s)
            self.marks.take(mark.job, mark.phase, clock.at(mark.mono_ns / 1e9))

    def take_meter(self, reading: MeterReading, arrival_s: float) -> None:
        """A domain's wall power; only what passed its gate counts."""
        if reading.power_w is not None and reading.quality == "good" and reading.gated:
            self.meters[reading.domain] = MeterSeen(reading.power_w, arrival_s, reading.period_s)

    @property
    def grace_s(self) -> float:
        """How long after a block's end its samples may still come."""
        lags_s = [
            clock.lag_s + (clock.spacing_s if clock.span() > 1 else 0.0) for clock in self.clocks.values()
        ]
        return min(max(max(lags_s, default=0.0) + 0.05, 0.15), 1.5)

    def _learn_sensor(self, frame: NodeFrame, columns: FrameView, clock: NodeClock) -> None:
        by_counter = bool((~np.ma.getmaskarray(columns.energy_mj)).any())
        self.mixed_s[frame.node] = 0.0 if by_counter else frame.window_s
        self.partial[frame.node] = observable.is_partial(frame.window_s, frame.refresh_s)
        self.slowest_s[frame.node] = observable.slowest_s(
            window_s=frame.window_s,
            refresh_s=frame.refresh_s,
            step_s=clock.spacing_s if clock.span() > 1 else SLOT_S,
            by_counter=by_counter,
        )

    def _clock(self, node: str, boot_id: str) -> NodeClock:
        clock = self.clocks.get(node)
        if clock is None or clock.boot_id != boot_id:
            clock = self.clocks[node] = NodeClock(boot_id)
        return clock
