"""Message in, beliefs changed: what the coordinator does with everything it hears."""

from collections.abc import Callable

import numpy as np

from easyrider import log, metrics
from easyrider.bus_port import Arrival
from easyrider.errors import MalformedMessage
from easyrider.frame_view import view
from easyrider.messages import (
    JobEvent,
    Leaving,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    PowerForecast,
)
from easyrider.units import seconds
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
_DROPPED = metrics.counter("policy_messages_dropped_total", "messages left aside, by reason", ["reason"])
Note = Callable[[dict[str, object]], None]


class Desk:
    """Takes every message of one scope. `note` puts a line into the journal."""

    def __init__(self, picture: Picture, coordinator: Coordinator, note: Note) -> None:
        self.picture, self.coordinator, self.note = picture, coordinator, note
        self.frames_s = self.states_s = -1e18

    def on_frame(self, frame: NodeFrame, arrival: Arrival) -> None:
        """Samples and enforced limits of one node."""
        picture = self.picture
        node = picture.fleet.node_index.get(frame.node)
        if node is None:
            _DROPPED.labels("unknown_node").inc()
            return
        if frame.gpus:
            picture.know_list(frame.node, frame.gpus.split(","))
        try:
            columns = view(frame)
        except MalformedMessage as fault:
            _DROPPED.labels(fault.reason).inc()
            log.bounded(_LOG, "frame", 10.0).warning("frame dropped", node=frame.node, fault=str(fault))
            return
        minted_s = picture.ages.minted_s(frame.node, frame.boot_id, frame.mono_ns, arrival.mono_ns)
        self.frames_s = max(self.frames_s, minted_s)
        picture.frames_s[frame.node] = minted_s
        rows = picture.rows_of(frame.node, frame.gpus_hash)
        if rows is None or len(rows) != frame.gpu_count or not frame.samples:
            _DROPPED.labels("unknown_boards").inc()
            return
        boards = picture.fleet.gpus_of(node)
        mine = (rows >= boards.start) & (rows < boards.stop)
        enforced_w = np.full(boards.stop - boards.start, np.nan)
        enforced_w[rows[mine] - boards.start] = columns.limit_w[-1].filled(np.nan)[mine]
        read_ns = frame.mono_ns - round(float(columns.before_s[-1]) * 1e9)
        picture.safety.frame_heard(node, frame.boot_id, enforced_w, read_ns, minted_s)
        picture.take_frame(np.where(mine, rows, -1), columns)

    def on_state(self, message: NodeState | Leaving, arrival: Arrival) -> None:
        """A guardian's word, relayed: nonce, highest command, every board; or its wish to leave."""
        picture = self.picture
        minted_s = picture.ages.minted_s(message.node, message.boot_id, message.mono_ns, arrival.mono_ns)
        self.states_s = max(self.states_s, minted_s)
        if isinstance(message, Leaving):
            picture.safety.leaving_heard(message, minted_s)
            self.coordinator.urge("leaving")
            self.note({"what": "leaving", "node": message.node, "reason": message.reason})
            return
        if message.node in picture.fleet.node_index:
            picture.know_boards(message)
        picture.safety.state_heard(message, minted_s)

    def on_ack(self, ack: LimitAck, arrival: Arrival) -> None:
        """What a guardian made of a command."""
        picture = self.picture
        minted_s = picture.ages.minted_s(ack.node, ack.boot_id, ack.mono_ns, arrival.mono_ns)
        picture.safety.acked(ack, minted_s)
        refused = {board.uuid: board.refused for board in ack.gpus if board.refused}
        self.note(
            {
                "what": "ack" if ack.accepted else "refusal",
                "node": ack.node,
                "answers": ack.answers,
                "epoch": ack.epoch,
                "seq": ack.seq,
                **({"refused": ack.refused} if ack.refused else {}),
                **({"boards": refused} if refused else {}),
            }
        )

    def on_meter(self, reading: MeterReading, arrival: Arrival) -> None:
        """A domain's power, and what its supply can still carry."""
        picture = self.picture
        domain = picture.fleet.domain_index.get(reading.domain)
        if domain is None:
            _DROPPED.labels("unknown_domain").inc()
            return
        self._supply(reading)
        if reading.quality != "good" or reading.power_w is None:
            return
        now_s = picture.ages.minted_s(
            f"meter:{reading.meter}", reading.boot_id, reading.mono_ns, arrival.mono_ns
        )
        gpu_w = picture.observation.gpu_w
        if gpu_w.size == 0 or np.isnan(gpu_w).any():
            return
        # What nobody limits is load that no limit of ours holds: it stays in the difference.
        ours_w = picture.fleet.wall_w(np.where(picture.managed, gpu_w, 0.0))
        managed_w = ours_w[domain] + picture.fleet.fixed_w[domain]
        picture.meters.heard(
            domain, reading.power_w, float(managed_w), now_s, reading.period_s, reading.gated
        )
        self.coordinator.meter_seen(domain, reading.power_w)

    def on_job(self, event: JobEvent, arrival: Arrival) -> None:
        """A job as one node sees it."""
        picture = self.picture
        minted_s = picture.ages.minted_s(event.node, event.boot_id, event.mono_ns, arrival.mono_ns)
        if picture.jobs.heard(event, minted_s):
            picture.jobs_moved = True

    def on_forecast(self, forecast: PowerForecast, arrival: Arrival) -> None:
        """What the forecaster expects."""
        self.picture.take_forecast(forecast, seconds(arrival.mono_ns))

    def _supply(self, reading: MeterReading) -> None:
        move = self.picture.facility.heard(reading)
        if move is None:
            return
        self.coordinator.urge("limit_drop" if move.after < move.before else "limit_back")
        self.note(
            {
                "what": "limit_moved",
                "domain": reading.domain,
                "meter": reading.meter,
                "before": move.before,
                "after": move.after,
            }
        )
        _LOG.warning("supply changed", domain=reading.domain, share_before=move.before, share=move.after)
