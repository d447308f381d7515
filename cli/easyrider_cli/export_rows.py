"""Recorded frames as rows: one a GPU and sample; a cell that is not valid is empty, never 0."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from easyrider import quality, wire
from easyrider.errors import MalformedMessage
from easyrider.frame_view import view
from easyrider.messages import NodeFrame, NodeState
from easyrider_recorder.core.framing import Record

Row = dict[str, Any]
COLUMNS = (
    "time", "region", "node", "gpu", "power_w", "power_quality", "mean_w", "mean_quality", "energy_j",
    "energy_quality", "limit_w", "limit_quality", "age_ms", "window_s", "refresh_s",
)  # fmt: skip
"""`time` in Unix s; `energy_j` as the counter shows it; `limit_w` enforced; `age_ms` since the sensor last changed."""
TEXT = frozenset(
    {"region", "node", "gpu", "power_quality", "mean_quality", "energy_quality", "limit_quality"}
)
"""All others are numbers."""


class Rows:
    """Takes records, gives rows. `unnamed`: samples of boards whose UUIDs no frame had said yet."""

    def __init__(self) -> None:
        self.unnamed = self.malformed = 0
        self._uuids: dict[bytes, list[str]] = {}

    def of(self, records: Iterable[Record]) -> Iterator[Row]:
        """Every row, in the order of arrival."""
        for record in records:
            kind = record.subject.split(".")[2] if record.subject.count(".") >= 3 else ""
            try:
                if kind == "state":
                    self._learn(record)
                elif kind == "frame":
                    yield from self._frame(record)
            except MalformedMessage:
                self.malformed += 1

    def _learn(self, record: Record) -> None:
        """A state tells its boards too, so that a stretch that begins between two lists is named."""
        state = wire.decode(record.body, (NodeState,)) if b"node_state" in record.body[:64] else None
        if isinstance(state, NodeState):
            uuids = [board.uuid for board in state.gpus]
            self._uuids.setdefault(_hash(uuids), uuids)

    def _frame(self, record: Record) -> Iterator[Row]:
        frame = wire.decode(record.body, (NodeFrame,))
        assert isinstance(frame, NodeFrame)
        if frame.gpus:
            self._uuids[frame.gpus_hash] = frame.gpus.split(",")
        uuids = self._uuids.get(frame.gpus_hash)
        if uuids is None or len(uuids) != frame.gpu_count:
            self.unnamed += frame.samples
            return
        shown, marks = view(frame), _marks(frame)
        for sample in range(frame.samples):
            at_s = frame.t_ns / 1e9 - float(shown.before_s[sample])
            for gpu, uuid in enumerate(uuids):
                yield {
                    "time": round(at_s, 6),
                    "region": frame.region,
                    "node": frame.node,
                    "gpu": uuid,
                    "power_w": _cell(shown.power_w, sample, gpu),
                    "power_quality": marks["power_ok"][sample, gpu],
                    "mean_w": _cell(shown.mean_w, sample, gpu),
                    "mean_quality": marks["mean_ok"][sample, gpu],
                    "energy_j": _cell(shown.energy_mj, sample, gpu, 1e-3),
                    "energy_quality": marks["energy_ok"][sample, gpu],
                    "limit_w": _cell(shown.limit_w, sample, gpu),
                    "limit_quality": marks["limit_ok"][sample, gpu],
                    "age_ms": int(shown.age_ms[sample, gpu]),
                    "window_s": frame.window_s,
                    "refresh_s": frame.refresh_s,
                }


def _marks(frame: NodeFrame) -> dict[str, np.ndarray[Any, Any]]:
    """How good each cell is, in words, each (samples, gpus)."""
    words, shape = np.array(quality.WORDS, dtype=object), (frame.samples, frame.gpu_count)
    found = {}
    for name in ("power_ok", "mean_ok", "energy_ok", "limit_ok"):
        marks = np.frombuffer(getattr(frame, name), dtype="u1").reshape(shape)
        found[name] = words[np.minimum(marks, len(words) - 1)]
    return found


def _cell(column: Any, sample: int, gpu: int, unit: float = 1.0) -> float | None:
    value = column[sample, gpu]
    return None if value is np.ma.masked else round(float(value) * unit, 3)


def _hash(uuids: list[str]) -> bytes:
    return hashlib.sha256(",".join(uuids).encode()).digest()[:8]
