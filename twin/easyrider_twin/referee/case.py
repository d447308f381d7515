"""One run under judgement: rings, truth and journals merged by stamp, findings written as they come."""

import json
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easyrider_twin.referee.joules import Joules
from easyrider_twin.referee.journals import PATIENCE_NS, REMEMBERED_NS, Journal, Tail
from easyrider_twin.referee.mixtures import Mixtures
from easyrider_twin.referee.rings import Ring, Write
from easyrider_twin.referee.site import Site

LAG_NS = 150_000_000
"""Stamps so recent wait: another node's ring may still show an earlier one."""
TRUTH_STALE_NS = 2_000_000_000
"""A twin silent for longer holds nobody up; its last limits stay."""
RING_STALE_NS = 5_000_000_000
"""So does a writer that stands in the middle of its write."""
WEIGHED_AFTER_NS = 4_000_000_000
"""Watts are weighed when the longest window after a drop is over and the policy's word of it has come."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something counted, with its moment."""

    kind: str
    stamp_ns: int


class Case:
    """All evidence of one run, judged as it comes in."""

    def __init__(self, site: Site, rings: list[Ring], journals: dict[str, Journal], place: Path) -> None:
        self._rings, self._journals = rings, journals
        self._ring_of = {ring.node: ring for ring in rings}
        self._truth, self._received = Tail(place / "truth.jsonl"), Tail(place / "received.jsonl")
        self._counting, self._out = place / "counting.json", place / "referee.jsonl"
        self._out.write_text("")
        self.mixtures = Mixtures(site, {ring.node: list(ring.first_w) for ring in rings})
        self.mixtures.begin(0)
        self.joules = Joules()
        self.from_ns: int | None = None
        self._writes: list[Write] = []
        self._enforced_w = {ring.node: list(ring.first_w) for ring in rings}
        self._unweighed: deque[dict[str, Any]] = deque()
        self._last_sample_ns = self._out_of_order = self._judged_ns = 0
        self._seen: deque[dict[str, Any]] = deque()
        self._unclaimed: deque[Write] = deque()
        self._findings: list[Finding] = []
        self._told_breaches = 0
        self._last_truth_ns = 0
        self._write_count = 0

    def look(self, now_ns: int, *, last: bool = False) -> None:
        """Take in all that is new and judge what is old enough; everything if it is the last look."""
        if self.from_ns is None and self._counting.exists():
            self.from_ns = int(json.loads(self._counting.read_text())["from_ns"])
        for ring in self._rings:
            self._writes += ring.read(now_ns)
        for line in self._truth.read():
            self._seen.append(line)
            self._last_truth_ns = int(line["boottime_ns"])
        for line in self._received.read():
            self.mixtures.heard(int(line["received_ns"]))
        horizon_ns = now_ns if last else now_ns - LAG_NS
        if not last and now_ns - self._last_truth_ns < TRUTH_STALE_NS:
            horizon_ns = min(horizon_ns, self._last_truth_ns)
        if not last:
            read_ns = min((ring.whole_ns for ring in self._rings), default=now_ns)
            horizon_ns = min(horizon_ns, max(read_ns, now_ns - RING_STALE_NS))
        self._judge_until(horizon_ns)
        self._weigh(None if last else now_ns - WEIGHED_AFTER_NS)
        self._claim(now_ns, last)
        self._tell_breaches()

    def summary(self, *, final: bool = False) -> dict[str, Any]:
        """Counts since counting began; None where it has not begun, for unknown is not 0.

        Without a word of the twin since then, trips and joules are unknown too. `ok` wants whole evidence:
        no ring overrun or replaced, nothing that came after its time had been judged.
        """
        counts: dict[str, Any] = dict.fromkeys(
            ("sum_rule_violations", "limit_out_of_range", "late_commands_applied", "foreign_writes"), None
        )
        counts |= dict.fromkeys(("limits_changed", "trips", "overload_joules"), None)
        counts |= dict.fromkeys(
            ("target_overload_joules", "drop_window_joules", "drop_window_breaches"), None
        )
        overruns = sum(ring.overruns for ring in self._rings)
        replaced = sum(ring.replaced for ring in self._rings)
        if (from_ns := self.from_ns) is not None:
            excused = [self.mixtures.excused(b) for b in self.mixtures.breaches if b.counts_from(from_ns)]
            counts |= {
                "sum_rule_violations": excused.count(False),
                "drop_window_breaches": excused.count(True),
                "limit_out_of_range": self._count("out_of_range"),
                "late_commands_applied": self._count("late"),
                "foreign_writes": self._count("foreign"),
                "limits_changed": self._count("changed"),
            }
            if self._last_sample_ns >= from_ns:
                counts |= {
                    "trips": self._count("trip", since_start=True),
                    "overload_joules": round(self.joules.over_hard_j, 1),
                    "target_overload_joules": round(self.joules.over_target_j, 1),
                    "drop_window_joules": round(self.joules.in_window_j, 1),
                }
        clean = ("sum_rule_violations", "limit_out_of_range", "late_commands_applied", "trips")
        return counts | {
            "ok": overruns == replaced == self._out_of_order == 0
            and all(counts[name] == 0 for name in clean),
            "ring_overruns": overruns,
            "rings_replaced": replaced,
            "out_of_order": self._out_of_order,
            "unfinished_writes": sum(ring.unfinished for ring in self._rings),
            "writes": self._write_count,
            "journal_malformed": sum(journal.malformed for journal in self._journals.values()),
            "counting_from_ns": self.from_ns,
            "worst_sum_excess_w": self._worst_excess_w(),
            "overload_joules_by_domain": {d: round(j, 1) for d, j in self.joules.by_domain_j.items()},
            "highest_w": {d: round(w, 1) for d, w in self.joules.highest_w.items()},
            "final": final,
        }

    def _judge_until(self, horizon_ns: int) -> None:
        """Writes and truth in order of stamps."""
        self._writes.sort(key=lambda write: write.stamp_ns)  # stable: each ring keeps its own order
        due = [write for write in self._writes if write.stamp_ns <= horizon_ns]
        self._writes = self._writes[len(due) :]
        for write in due:
            self._judge_truth(write.stamp_ns)
            self._judge_write(write)
        self._judge_truth(horizon_ns)
        self.mixtures.close_windows(horizon_ns)
        self._judged_ns = max(self._judged_ns, horizon_ns)

    def _judge_truth(self, until_ns: int) -> None:
        while self._seen and int(self._seen[0]["boottime_ns"]) <= until_ns:
            line = self._seen.popleft()
            stamp_ns = int(line["boottime_ns"])
            self._out_of_order += stamp_ns < self._judged_ns
            if line.get("event") == "trip":
                self._find("trip", stamp_ns, domain=line["domain"], multiple=line["multiple"])
            if "hard_w" in line:
                self.mixtures.set_hard(stamp_ns, line["hard_w"])
            if "wall_w" in line:
                self.mixtures.close_windows(stamp_ns)
                self._unweighed.append(line)
                self._last_sample_ns = stamp_ns

    def _weigh(self, until_ns: int | None) -> None:
        """Watts over limits; none before it is known from when on they count."""
        while self.from_ns is not None and self._unweighed:
            stamp_ns = int(self._unweighed[0]["boottime_ns"])
            if until_ns is not None and stamp_ns > until_ns:
                return
            line, counting = self._unweighed.popleft(), stamp_ns >= self.from_ns
            watts = (line["wall_w"], line["hard_w"], line["target_w"])
            self.joules.sample(stamp_ns, *watts, self.mixtures, counting)

    def _judge_write(self, write: Write) -> None:
        self._write_count += 1
        self._out_of_order += write.stamp_ns < self._judged_ns
        ring = self._ring_of[write.node]
        low_w, high_w = ring.min_w[write.gpu], ring.max_w[write.gpu]
        if not low_w <= write.requested_w <= high_w:
            self._find("out_of_range", write.stamp_ns, **_told(write), range_w=[low_w, high_w])
        if write.counted_w is not None:
            self.mixtures.write(write.stamp_ns, write.node, write.gpu, write.counted_w)
        if write.enforced_w != self._enforced_w[write.node][write.gpu]:
            self._enforced_w[write.node][write.gpu] = write.enforced_w
            self._findings.append(Finding("changed", write.stamp_ns))
        self._unclaimed.append(write)

    def _claim(self, now_ns: int, last: bool) -> None:
        for journal in self._journals.values():
            journal.read()
        waiting: deque[Write] = deque()
        for write in self._unclaimed:
            uuid = self._ring_of[write.node].uuids[write.gpu]
            told_by = self._journals.get(write.node)
            line = told_by.claim(write.stamp_ns, uuid, write.requested_w) if told_by else None
            if line is not None:
                if (late_s := line.late_by_s(write.stamp_ns)) is not None:
                    self._find("late", write.stamp_ns, **_told(write), late_s=late_s)
            elif last or now_ns - write.stamp_ns > PATIENCE_NS:
                old = told_by.claim(write.stamp_ns, uuid, write.requested_w, near=False) if told_by else None
                self._find("foreign", write.stamp_ns, **_told(write), told_before=old is not None)
                if old is not None and (late_s := old.late_by_s(write.stamp_ns)) is not None:
                    self._find("late", write.stamp_ns, **_told(write), late_s=late_s)
            else:
                waiting.append(write)
        self._unclaimed = waiting
        for journal in self._journals.values():
            journal.forget(now_ns - REMEMBERED_NS)

    def _tell_breaches(self) -> None:
        for breach in self.mixtures.breaches[self._told_breaches :]:
            kind = "drop_window_breach" if self.mixtures.excused(breach) else "sum_rule_violation"
            told = {
                "domain": breach.domain,
                "sum_w": round(breach.sum_w, 1),
                "hard_w": round(breach.hard_w, 1),
            }
            self._write_line({"kind": kind, "stamp_ns": breach.begin_ns} | told)
        self._told_breaches = len(self.mixtures.breaches)

    def _find(self, kind: str, stamp_ns: int, **more: Any) -> None:
        self._findings.append(Finding(kind, stamp_ns))
        self._write_line({"kind": kind, "stamp_ns": stamp_ns} | more)

    def _write_line(self, line: dict[str, Any]) -> None:
        counted = self.from_ns is not None and line["stamp_ns"] >= self.from_ns
        with self._out.open("a") as file:
            file.write(json.dumps(line | {"counting": counted}) + "\n")

    def _count(self, kind: str, *, since_start: bool = False) -> int:
        from_ns = 0 if since_start or self.from_ns is None else self.from_ns
        return sum(finding.kind == kind and finding.stamp_ns >= from_ns for finding in self._findings)

    def _worst_excess_w(self) -> float:
        if self.from_ns is None:
            return 0.0
        counted = [
            b for b in self.mixtures.breaches if b.counts_from(self.from_ns) and not self.mixtures.excused(b)
        ]
        return round(max((b.sum_w - b.hard_w for b in counted), default=0.0), 1)


def _told(write: Write) -> dict[str, Any]:
    return {
        "node": write.node,
        "gpu": write.gpu,
        "requested_w": write.requested_w,
        "counted_w": write.counted_w,
        "answer": write.answer,
        "pid": write.pid,
    }
