"""The thread that writes: messages in, blocks on the disk. A disk that refuses costs messages, and no caller waits."""

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from easyrider import log, metrics
from easyrider_recorder.adapters.segment import Segment
from easyrider_recorder.adapters.shelf import Shelf
from easyrider_recorder.core.framing import Record
from easyrider_recorder.core.places import ELSEWHERE, hour_of, region_of

_LOG = log.get("recorder")
_RECORDED = metrics.counter("recorder_messages_total", "Messages written to the disk")
_BYTES = metrics.counter("recorder_bytes_total", "Bytes of messages", ["form"])
_DROPPED = metrics.counter("recorder_dropped_total", "Messages that are in no recording", ["why"])
_ON = metrics.gauge(
    "recorder_recording_ratio", "1 while what arrives reaches the disk, 0 while it is dropped"
)

BLOCK_S, BLOCK_BYTES = 1.0, 8 * 1024 * 1024
"""A block is written when it is so old or so large: what a crash may lose."""
AGAIN_S, TIDY_S = 10.0, 60.0
IDLE_S = 300.0
"""A region silent for so long has its file closed; what it says later begins another."""
OPEN_MOST = 256
"""Regions with a file of their own at a time, two descriptors each; what others say goes where no region is named."""


class DiskFull(OSError):
    """Less is free on the disk than must stay free for others."""


class Writer:
    """`put` from any thread. `about`: what the head of each file says."""

    def __init__(
        self,
        shelf: Shelf,
        about: Callable[[str], dict[str, Any]],
        queue_bytes: int,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shelf, self._about, self._queue_bytes, self._now_s = shelf, about, queue_bytes, now_s
        self._waiting: deque[Record] = deque()
        self._waiting_bytes, self._lost = 0, 0
        self._open: dict[str, Segment] = {}
        self._said_s: dict[str, float] = {}  # when each of them was last written to
        self._dropped: dict[str, int] = {}
        self._again_s = self._tidy_s = -1e18
        self._wake = threading.Condition()
        self._ending = False
        self.fault: str | None = None
        self.writes = True  # the thread goes on, or was not started yet
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        _ON.set(1)

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions that something is recorded of now."""
        return tuple(self._open)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, record: Record) -> None:
        """Have a message recorded; counted and left out where the disk does not keep up."""
        with self._wake:
            if self._waiting_bytes + len(record.body) > self._queue_bytes:
                self._lost += 1
                _DROPPED.labels("too_slow").inc()
                return
            self._waiting.append(record)
            self._waiting_bytes += len(record.body)
            if self._waiting_bytes >= BLOCK_BYTES:
                self._wake.notify()

    def stop(self) -> None:
        """Write what waits, and end; 5 s at most."""
        with self._wake:
            self._ending = True
            self._wake.notify()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            self._until_stopped()
        finally:  # whatever ended it: nothing more reaches the disk, and that has to be seen
            self.writes = False
            _ON.set(0)

    def _until_stopped(self) -> None:
        while True:
            with self._wake:
                if not self._ending:
                    self._wake.wait(BLOCK_S)
                batch, lost, ending = list(self._waiting), self._lost, self._ending
                self._waiting.clear()
                self._waiting_bytes = 0
                self._lost = 0 if batch else lost  # told in the head of a block, and there is none yet
            self.write(batch, lost)
            if ending:
                self._close(*self._open)
                return

    def write(self, batch: list[Record], lost: int = 0) -> None:
        """Write these messages now, in the thread of the caller; `lost` were left out before them."""
        by_region: dict[str, list[Record]] = {}
        known = set(self._open)
        for record in batch:
            region = region_of(record.subject)
            if region not in known and len(known) >= OPEN_MOST - (ELSEWHERE not in known):
                region = ELSEWHERE
            known.add(region)
            by_region.setdefault(region, []).append(record)
        for region, records in by_region.items():
            self._dropped[region] = self._dropped.get(region, 0) + lost
            lost = 0
            if self.fault is not None and self._now_s() < self._again_s:
                self._miss(region, len(records))
                continue
            try:
                self._put_down(region, records)
            except OSError as fault:
                self._failed(region, records, fault)
            else:
                self._went_well()

    def _put_down(self, region: str, records: list[Record]) -> None:
        if self._now_s() - self._tidy_s >= TIDY_S or self.fault is not None:
            self._tidy_s = self._now_s()
            self._close(*(name for name, at_s in self._said_s.items() if self._tidy_s - at_s >= IDLE_S))
            for gone in self._shelf.tidy({segment.path for segment in self._open.values()}):
                _LOG.info("an old recording made room", file=gone.name, region=gone.parent.name)
        if not self._shelf.room():
            raise DiskFull(f"less than {self._shelf.min_free_bytes} bytes are free")
        hour = hour_of(records[0].unix_ns)
        segment = self._open.get(region)
        if segment is None or segment.hour != hour or segment.gone:
            fresh = Segment.create(self._folder(region), hour, self._about(region))
            if segment is not None:
                segment.close()
            segment = self._open[region] = fresh
        self._said_s[region] = self._now_s()
        packed = segment.write(records, self._dropped.get(region, 0))
        self._dropped[region] = 0
        _RECORDED.inc(len(records))
        _BYTES.labels("said").inc(sum(len(record.body) for record in records))
        _BYTES.labels("written").inc(packed)

    def _failed(self, region: str, records: list[Record], fault: OSError) -> None:
        self._again_s = self._now_s() + AGAIN_S
        self._miss(region, len(records))
        _ON.set(0)
        if self.fault is None:
            _LOG.error(
                "nothing is recorded: the disk refuses; what arrives is counted and dropped",
                fault=str(fault), again_s=AGAIN_S,
            )  # fmt: skip
        self.fault = str(fault)

    def _went_well(self) -> None:
        if self.fault is not None:
            _LOG.warning("recording again", dropped=sum(self._dropped.values()))
            self.fault = None
            _ON.set(1)

    def _miss(self, region: str, count: int) -> None:
        self._dropped[region] = self._dropped.get(region, 0) + count
        _DROPPED.labels("disk").inc(count)

    def _folder(self, region: str) -> Path:
        return self._shelf.folder / region

    def _close(self, *regions: str) -> None:
        for region in regions:
            self._said_s.pop(region, None)
            if not self._dropped.get(region):
                self._dropped.pop(region, None)
            self._open.pop(region).close()
