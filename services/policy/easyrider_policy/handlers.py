"""Message in, beliefs changed: what the coordinator does with everything it hears."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from easyrider import frame_batch, log, metrics, subjects
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
from easyrider_policy import boots_heard, dropped
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.facility import LimitMove
from easyrider_policy.core.fleet import Ints
from easyrider_policy.core.unmanaged import LONGEST_PERIOD_S
from easyrider_policy.dropped import DROPPED
from easyrider_policy.picture import Picture

_LOG = log.get("policy")
_REFUSALS = metrics.counter("policy_refusals_total", "commands that nodes refused, by reason", ["reason"])
_ACKS = metrics.counter("policy_acks_total", "commands that nodes took")
Note = Callable[[dict[str, object]], None]
Meant = Callable[[str, int, int], bool]

FRESH_S = 3.0
"""Samples older than this are no reading: the board counts as unread."""
EPOCHS = 2**52
"""No store counts leaders so far: a node that says so says nonsense, and may not end anybody's lead."""


class Desk:
    """Takes every message of one scope. `note` journals a line; `meant` says whether a command was an intent."""

    def __init__(self, picture: Picture, coordinator: Coordinator, note: Note, meant: Meant) -> None:
        self.picture, self.coordinator, self.note, self.meant = picture, coordinator, note, meant
        coordinator.prepares.append(self.pass_to)
        self.frames_s = self.states_s = -math.inf  # unknown: readiness shows no age

    def on_frame(self, frame: NodeFrame, arrival: Arrival) -> None:
        """Samples and enforced limits of one node."""
        picture, node = self.picture, self._node(frame.node)
        if node is None or not self._speaks(subjects.frame(picture.region, frame.node), arrival):
            return
        if dropped.ahead(picture.ages, frame, arrival):
            return
        boards = picture.fleet.gpus_of(node)
        bare = (
            boards.start == boards.stop
            and frame_batch.is_whole(frame)
            and bool(frame_batch.finite([frame])[0])
        )
        if bare and picture.safety.ledger.roll.boot_is(node, frame.boot_id) is True:
            self._on_bare_frame(node, frame, arrival)
            return
        try:
            columns = view(frame)
        except MalformedMessage as fault:
            DROPPED.labels(fault.reason).inc()
            log.bounded(_LOG, "frame", 10.0).warning("frame dropped", node=frame.node, fault=str(fault))
            return
        minted_s = self.minted_s(frame, arrival)
        rows = self._rows_of(frame)
        if rows is None:
            return
        mine = rows >= 0
        enforced_w = np.full(boards.stop - boards.start, np.nan)
        enforced_w[rows[mine] - boards.start] = columns.limit_w[-1].filled(np.nan)[mine]
        read_ns = frame.mono_ns - round(float(columns.before_s[-1]) * 1e9)
        # However late, it shows what was in force after the newest ack: that can only raise a count.
        before = picture.safety.ledger.roll.boot_is(node, frame.boot_id)
        picture.safety.frame_heard(node, frame.boot_id, enforced_w, read_ns, minted_s)
        present = boots_heard.told(picture, node, frame, before)
        if arrival.mono_ns / 1e9 - minted_s > FRESH_S:
            dropped.late(1)
        elif present:
            picture.take_frame(rows, columns)

    def _on_bare_frame(self, node: int, frame: NodeFrame, arrival: Arrival) -> None:
        """A whole frame of a node of whose boards none is in the fleet yet: it lives, and says nothing of use else.

        While a large site comes up most frames are such, ten thousand a second.
        """
        minted_s = self.minted_s(frame, arrival)
        if self._rows_of(frame) is None:
            return
        self.picture.safety.frame_heard(node, frame.boot_id, np.zeros(0), frame.mono_ns, minted_s)
        if arrival.mono_ns / 1e9 - minted_s > FRESH_S:
            dropped.late(1)

    def _rows_of(self, frame: NodeFrame) -> Ints | None:
        """Fleet rows of its columns; None, and it is counted as dropped, where they are not known."""
        picture = self.picture
        if frame.gpus:
            picture.know_list(frame.node, frame.gpus.split(","))
        rows = picture.rows_of(frame.node, frame.gpus_hash)
        if rows is None or len(rows) != frame.gpu_count or not frame.samples:
            DROPPED.labels("unknown_boards" if frame.samples else "no_samples").inc()
            return None
        return rows

    def minted_s(self, frame: NodeFrame, arrival: Arrival) -> float:
        """When a frame was made, in the receiver's seconds; noted as the node's newest word."""
        picture, node = self.picture, frame.node
        minted_s = picture.ages.minted_s(node, frame.boot_id, frame.mono_ns, arrival.mono_ns)
        self.frames_s = max(self.frames_s, minted_s)
        picture.frames_s[node] = max(minted_s, picture.frames_s.get(node, minted_s))
        return minted_s

    def on_state(self, message: NodeState | Leaving, arrival: Arrival) -> None:
        """A guardian's word, relayed: nonce, highest command, every board; or its wish to leave."""
        picture = self.picture
        if not self._ours(message, arrival, subjects.state(picture.region, message.node)):
            return
        if isinstance(message, NodeState) and not self._counts(message.highest_epoch):
            return
        minted_s = picture.ages.minted_s(message.node, message.boot_id, message.mono_ns, arrival.mono_ns)
        self.states_s = max(self.states_s, minted_s)
        if isinstance(message, Leaving):
            picture.safety.leaving_heard(message, minted_s)
            self.coordinator.urge("leaving")
            self.note({"what": "leaving", "node": message.node, "reason": message.reason})
            return
        node = picture.fleet.node_index[message.node]
        before = picture.safety.ledger.roll.boot_is(node, message.boot_id)
        picture.safety.state_heard(message, minted_s)
        if boots_heard.told(picture, node, message, before):
            picture.know_boards(message, minted_s)

    def on_ack(self, ack: LimitAck, arrival: Arrival) -> None:
        """What a guardian made of a command."""
        picture = self.picture
        if not self._ours(ack, arrival, subjects.ack(picture.region, ack.node)):
            return
        if not self._counts(max(ack.epoch, ack.highest_epoch)):
            return
        minted_s = picture.ages.minted_s(ack.node, ack.boot_id, ack.mono_ns, arrival.mono_ns)
        picture.safety.acked(ack, minted_s)
        refused = {board.uuid: board.refused for board in ack.gpus if board.refused}
        for reason in [ack.refused or "unsaid"] if not ack.accepted else refused.values():
            _REFUSALS.labels(reason[:40]).inc()
        if ack.accepted:
            self.took([ack], refused)
        else:
            self._note_answer(ack, refused)

    def took(
        self, acks: Sequence[LimitAck], refused: Mapping[str, str] = MappingProxyType({}), *, renewed: int = 0
    ) -> None:
        """Nodes took what they were told; `refused`: why boards did not. As many more took what was no intent."""
        _ACKS.inc(len(acks) + renewed)
        for ack in acks:
            # A renewal, said once a second to every node, is no news.
            if ack.answers != "set_limits" or refused or self.meant(ack.node, ack.epoch, ack.seq):
                self._note_answer(ack, refused)

    def _note_answer(self, ack: LimitAck, refused: Mapping[str, str]) -> None:
        self.note(
            {
                "what": "ack" if ack.accepted else "refusal",
                "node": ack.node,
                "answers": ack.answers,
                "epoch": ack.epoch,
                "seq": ack.seq,
                **({"refused": ack.refused} if ack.refused else {}),
                **({"boards": dict(refused)} if refused else {}),
            }
        )

    def on_meter(self, reading: MeterReading, arrival: Arrival) -> None:
        """A domain's power, and what its supply can still carry."""
        picture = self.picture
        domain = picture.fleet.domain_index.get(reading.domain)
        if domain is None:
            DROPPED.labels("unknown_domain").inc()
            return
        listed = picture.fleet.domain_records[domain].meters
        if listed and reading.meter not in listed:
            DROPPED.labels("unlisted_meter").inc()
            return
        if not self._speaks(subjects.meter(picture.region, reading.meter), arrival):
            return
        minted_s = picture.ages.minted_s(
            f"meter:{reading.meter}", reading.boot_id, reading.mono_ns, arrival.mono_ns
        )
        self._supply(reading, minted_s)
        if reading.quality != "good" or reading.power_w is None or not reading.power_w >= 0:
            return
        now_s = arrival.mono_ns / 1e9
        managed_w = picture.ours_w(now_s)[domain]
        if picture.regions.any:  # what they draw the meter shows too, and they answer for it
            managed_w += picture.regions.drawn_w(now_s)[domain]
        if np.isnan(managed_w):
            return
        period_s = min(max(reading.period_s, 0.0), LONGEST_PERIOD_S)
        picture.meters.heard(domain, reading.power_w, float(managed_w), minted_s, period_s, reading.gated)
        if reading.gated:
            self.coordinator.meter_seen(reading.domain, reading.power_w)

    def on_job(self, event: JobEvent, arrival: Arrival) -> None:
        """A job as one node sees it."""
        picture = self.picture
        if self._node(event.node) is None:
            return
        # A key of its own: the subject does not prove the node, so its clock must not move that of frames.
        minted_s = picture.ages.minted_s(f"job:{event.node}", event.boot_id, event.mono_ns, arrival.mono_ns)
        if picture.jobs.heard(event, minted_s):
            picture.jobs_moved = True

    def on_forecast(self, forecast: PowerForecast, arrival: Arrival) -> None:
        """What the forecaster expects."""
        picture = self.picture
        minted_s = picture.ages.minted_s("forecaster", forecast.boot_id, forecast.mono_ns, arrival.mono_ns)
        if arrival.mono_ns / 1e9 - minted_s > FRESH_S:
            DROPPED.labels("late").inc()
        elif picture.take_forecast(forecast, minted_s):
            self.coordinator.urge("forecast")

    def _ours(self, message: NodeState | Leaving | LimitAck, arrival: Arrival, subject: str) -> bool:
        if self._node(message.node) is None or not self._speaks(subject, arrival):
            return False
        if message.tree != self.picture.rules.id:
            DROPPED.labels("other_tree").inc()
            log.bounded(_LOG, "tree", 30.0).warning(
                "a node obeys another tree", node=message.node, tree=message.tree
            )
            return False
        return not dropped.ahead(self.picture.ages, message, arrival)

    def _node(self, name: str) -> int | None:
        node = self.picture.fleet.node_index.get(name)
        if node is None:
            DROPPED.labels("unknown_node").inc()
            log.bounded(_LOG, "node", 30.0).warning("a node that is not in the rules speaks", node=name)
        return node

    def _speaks(self, subject: str, arrival: Arrival) -> bool:
        """Whether a message stands where its sender may speak: permissions go by subject, not by content."""
        if arrival.subject == subject:
            return True
        DROPPED.labels("other_subject").inc()
        log.bounded(_LOG, "subject", 10.0).warning(
            "a message speaks for another", subject=arrival.subject, expected=subject
        )
        return False

    def _counts(self, epoch: int) -> bool:
        if epoch < EPOCHS:
            return True
        DROPPED.labels("absurd_epoch").inc()
        log.bounded(_LOG, "epoch", 10.0).error("an absurd epoch is left aside", epoch=epoch)
        return False

    def pass_to(self, now_s: float) -> None:
        """Time passes: meters that fell silent clear no loss any more."""
        self._moved(self.picture.facility.pass_to(now_s), None)

    def _supply(self, reading: MeterReading, minted_s: float) -> None:
        picture, dark = self.picture, self.picture.facility.losses.dark
        moves = picture.facility.heard(reading, minted_s)
        picture.supply_moved |= picture.facility.losses.dark != dark
        self._moved(moves, reading.meter)

    def _moved(self, moves: Sequence[LimitMove], meter: str | None) -> None:
        """Limits that moved with their supply; `meter` None: because of one that is silent."""
        for move in moves:
            name = self.picture.fleet.domains[move.domain]
            self.coordinator.supply_moved(name, move.before, move.after)
            told = {"meter": meter} if meter is not None else {"why": "no meter tells of its supply any more"}
            self.note(
                {
                    "what": "limit_moved",
                    "domain": name,
                    **told,
                    "before": move.before,
                    "after": move.after,
                }
            )
            _LOG.warning("supply changed", domain=name, share_before=move.before, share=move.after, **told)
