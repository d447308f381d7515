"""What one coordinator's own work costs at fleet scale, in CPU time: no server, no socket, time is handed in.

`python bench/fleet_core.py [NODES] [SECONDS]` feeds frames at 10 Hz, states, acks and jobs of made nodes to the
coordinator's own handlers and looks every 50 ms, as the service does. It prints what a look, a frame, a state and an
ack cost in the first 20 s, and after. `PROFILE=1` adds where the time went.
"""

import asyncio
import cProfile
import json
import os
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import yaml

from easyrider import log, subjects, wire
from easyrider.bus_crowds import CrowdParser
from easyrider.bus_port import Arrival, Crowd
from easyrider.journal import Journal
from easyrider.messages import ExitGrant, Hold, SetLimits
from easyrider.tree_reader import read
from easyrider_policy.clocks import Clocks
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.heap import settle_collector
from easyrider_policy.intake import Intake
from easyrider_policy.loop import Loop
from easyrider_policy.news import News
from easyrider_policy.picture import Picture
from easyrider_policy.scribe import Scribe
from easyrider_policy.words import Words
from fleet import rules
from fleet_frames import REGION, frame, node_name
from fleet_nodes import HZ, JOBS_EVERY_S, SETTLE_S, Nodes

TICK_S = 0.05
CHUNK_BYTES = 32768
"""As the client library reads."""
ANSWERED_AFTER = 1
"""Looks between a command and its ack."""


class HandClock(Clocks):
    """Shows what the bench says."""

    at_s = 1000.0

    def now_s(self) -> float:
        return self.at_s

    def boot_ns(self) -> int:
        return int(self.at_s * 1e9)

    def stamps_ns(self) -> tuple[int, int]:
        return time.time_ns(), int(self.at_s * 1e9)


class Deaf:
    """A bus that takes everything: what is said is encoded, and commands are kept for the nodes."""

    connected = True

    def __init__(self) -> None:
        self.commands: list[Any] = []
        self.events: defaultdict[str, int] = defaultdict(int)

    def publish_together(self, words: Sequence[tuple[str, Any]]) -> bool:
        """Encodes them, as the real one does."""
        for _, message in words:
            wire.encode(message)
            self.commands.append(message)
        return True

    async def publish(self, _subject: str, message: Any) -> None:
        """Encodes it, as the real one does."""
        wire.encode(message)
        if isinstance(message, SetLimits | Hold | ExitGrant):
            self.commands.append(message)

    async def publish_event(self, kind: str, *_: Any, **_how: Any) -> None:
        """Counts it."""
        self.events[kind] += 1


class Spent:
    """CPU seconds and counts by what they were spent on; `profile` runs meanwhile if it is there."""

    def __init__(self, profile: cProfile.Profile | None) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.profile = profile

    def on(self, what: str, count: int, work: Callable[[], Any]) -> None:
        """Do it and remember what it took."""
        if self.profile:
            self.profile.enable()
        begun_s = time.thread_time()
        work()
        self.seconds[what].append(time.thread_time() - begun_s)
        self.counts[what] += count
        if self.profile:
            self.profile.disable()

    def figures(self) -> dict[str, dict[str, float]]:
        """CPU: microseconds for each, milliseconds of a beat."""
        return {
            what: {
                "count": self.counts[what],
                "each_us": round(1e6 * sum(beats) / max(1, self.counts[what]), 1),
                "beat_p50_ms": round(1e3 * float(np.median(beats)), 2),
                "beat_p99_ms": round(1e3 * float(np.quantile(beats, 0.99)), 2),
                "beat_max_ms": round(1e3 * max(beats), 2),
            }
            for what, beats in self.seconds.items()
        }


class Site:
    """The coordinator of a made fleet, and its nodes; the same loads and answers as in `fleet.py`."""

    def __init__(self, count: int, folder: Path) -> None:
        document = rules(count)
        document["nodes"], document["domains"] = document["nodes"][:-1], document["domains"][:-1]
        self.clock, self.bus = HandClock(), Deaf()
        self.picture = Picture(read(yaml.safe_dump(document), "bench"), REGION, self.clock.at_s)
        self.coordinator = Coordinator(self.picture)
        scribe = Scribe(Journal(folder), self.clock.boot_ns)
        news = News(self.bus, self.coordinator, REGION, scribe.note)  # type: ignore[arg-type]
        self.loop = Loop(self.coordinator, self.bus, scribe, news, tick_s=TICK_S, clocks=self.clock)  # type: ignore[arg-type]
        self.desk = Desk(self.picture, self.coordinator, scribe.note, scribe.meant)
        self.words = Words(self.desk)
        self.intake = Intake(self.desk, self.loop.frames_taken)
        self.nodes = Nodes(range(count), 1)
        self.fast = [frame(node, slow=False, says_gpus=False) for node in range(count)]
        self.slow = [frame(node, slow=True, says_gpus=False) for node in range(count)]
        self.mono_ns = 0
        self.parser = CrowdParser(SimpleNamespace(stats={"in_msgs": 0, "in_bytes": 0}))
        self.parser.hear(1, self.hear_crowd)
        self.on_frame = [subjects.frame(REGION, node_name(node)).encode() for node in range(count)]
        names = [node_name(node) for node in range(count)]
        self.on_state = {name: subjects.state(REGION, name).encode() for name in names}
        self.on_ack = {name: subjects.ack(REGION, name).encode() for name in names}
        self.aio = asyncio.new_event_loop()
        self.beats = 0
        self.answers: list[list[Any]] = [[] for _ in range(ANSWERED_AFTER)]

    def lead(self) -> None:
        """The store gives us the lead, or renews it."""
        safety, now_s = self.picture.safety, self.clock.at_s
        if safety.lead.phase == "contending":
            safety.taken(max(0, safety.lead.highest_epoch) + 1, now_s, now_s)
        else:
            safety.renewed(now_s)

    def beat(self, spent: Spent) -> None:
        """50 ms: half of the nodes say a frame, a twentieth a state; one look; nodes answer what it said."""
        self.clock.at_s += TICK_S
        now_s, beat, count = self.clock.at_s, self.beats, len(self.fast)
        self.beats += 1
        if beat % 20 == 0:
            self.lead()
        half = count // 2 if count > 1 else count
        some = slice(0, half) if beat % 2 == 0 else slice(half, count)
        mono_ns = int(now_s * 1e9)
        watts, limit_mw = self.nodes.sample(now_s - 1000.0, some, mono_ns, False)
        rows = self.slow if beat // 2 % HZ == 0 else self.fast
        frames = [
            msgspec.structs.replace(
                rows[row], mono_ns=mono_ns, mean_w=w.tobytes(), power_w=w.tobytes(), limit_mw=mw.tobytes()
            )
            for row, w, mw in zip(range(some.start, some.stop), watts, limit_mw, strict=True)
        ]
        if beat < 4 * HZ:
            frames = [
                msgspec.structs.replace(one, gpus=",".join(self.nodes.ids[row]))
                for one, row in zip(frames, range(some.start, some.stop), strict=True)
            ]
        bodies = [wire.encode(one) for one in frames]
        heads = [
            b"MSG %s 1 %d" % (self.on_frame[row], len(body))
            for row, body in zip(range(some.start, some.stop), bodies, strict=True)
        ]
        stream = b"".join(b"%s\r\n%s\r\n" % both for both in zip(heads, bodies, strict=True))
        self.mono_ns = mono_ns

        def hear_frames() -> None:
            # As the server says them, but for the socket and the timer.
            for at in range(0, len(stream), CHUNK_BYTES):
                self.aio.run_until_complete(self.parser.parse(stream[at : at + CHUNK_BYTES]))
            self.intake.take(now_s)

        states = [
            msgspec.structs.replace(self.nodes.state(row), mono_ns=mono_ns)
            for row in range(beat % 20, count, 20)
        ]
        state_bytes = [wire.encode(state) for state in states]
        jobs = []
        if (beat // 20) % round(JOBS_EVERY_S) == 0:
            jobs = [job for row in range(beat % 20, count, 20) for job in self.nodes.jobs(row)]
            jobs = [msgspec.structs.replace(job, mono_ns=mono_ns) for job in jobs]
        acks = self.answers.pop(0)
        ack_bytes = [wire.encode(ack) for ack in acks]
        spent.on("frame", len(frames), hear_frames)
        spent.on("state", len(states), lambda: self.hear_words(self.on_state, states, state_bytes, mono_ns))
        spent.on("ack", len(acks), lambda: self.hear_words(self.on_ack, acks, ack_bytes, mono_ns))
        spent.on("job", len(jobs), lambda: self.hear_jobs(jobs, mono_ns))
        if self.loop.hurried:
            spent.on("glance", 1, lambda: self.aio.run_until_complete(self.loop.glance(now_s)))
        spent.on("look", 1, lambda: self.aio.run_until_complete(self.loop.once(now_s)))
        self.loop.looked_s = now_s
        told, self.bus.commands = self.bus.commands, []
        answers = [ack for command in told if (ack := self.nodes.obey(command)) is not None]
        self.answers.append([msgspec.structs.replace(ack, mono_ns=mono_ns) for ack in answers])
        self.nodes.answered_ns[:] = 0
        spent.counts["commands"] += len(told)

    def hear_crowd(self, crowd: Crowd, _now_ns: int) -> None:
        """As the bus hands it over, at the bench's own time and without the timer."""
        self.intake._waiting += [(subject, data, self.mono_ns) for subject, data in crowd]

    def hear_words(self, on: dict[str, bytes], words: list[Any], bodies: list[bytes], mono_ns: int) -> None:
        """As the bus hands them over."""
        self.words._waiting += [
            (on[word.node], body, mono_ns) for word, body in zip(words, bodies, strict=True)
        ]
        self.words.take()

    def hear_jobs(self, jobs: list[Any], mono_ns: int) -> None:
        """As the bus hands them over."""
        for job in jobs:
            self.desk.on_job(job, Arrival(subjects.job(REGION, job.job), mono_ns))


def main() -> int:
    """Prints what it measured."""
    log.configure("policy", level="error")
    settle_collector()
    count, seconds = (int(word) for word in (sys.argv[1:] + ["1000", "10"][len(sys.argv) - 1 :])[:2])
    with tempfile.TemporaryDirectory(prefix="easyrider-core-") as name:
        site, start = Site(count, Path(name)), Spent(None)
        for _ in range(round(float(os.environ.get("SETTLE", SETTLE_S)) / TICK_S)):
            site.beat(start)
        profile = cProfile.Profile() if os.environ.get("PROFILE") else None
        spent = Spent(profile)
        for _ in range(round(seconds / TICK_S)):
            site.beat(spent)
    print(json.dumps({"nodes": count, "gpus": 8 * count, "events": dict(site.bus.events)}))
    print(json.dumps({"start": start.figures(), "steady": spent.figures()}, indent=1))
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        pstats.Stats(profile).sort_stats("cumtime").print_stats(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
