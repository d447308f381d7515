"""Emulated nodes: frames at 10 Hz, states, fenced commands and acks of many nodes in one process.

`python bench/fleet_nodes.py URL FIRST LAST SECONDS SEED` prints one JSON document when it is over. A node is what
the bus sees of it: the product's frames and codec, the guardian's own fence and nonces; its boards are a column.
"""

import asyncio
import json
import sys
import time
from dataclasses import replace

import numpy as np

from easyrider import subjects, wire
from easyrider.messages import ExitGrant, GpuAck, GpuState, Hold, JobEvent, LimitAck, NodeState, SetLimits
from easyrider_guardian.core.fence import Refusal, judge
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Standing, Terms
from fleet_frames import GPUS, REGION, TREE, Frames, boot_id, check, node_name, published, uuids
from fleet_link import Link
from fleet_loads import Loads

HZ, SLICES = 10, 20
MIN_W, MAX_W, FALLBACK_W = 200.0, 700.0, 200.0
OVERHEAD_W, SLOPE = 800.0, 1.2
TARGET_W, HARD_W = 5360.0, 6700.0
"""Of a node's own domain: both jobs at 475 W a board; and all boards at 614 W."""
LENT_W = 20.0
"""A board that may draw so much more than its even share has it from a job that waits."""
LOST_AFTER_S = 2.0
SETTLE_S = 20.0
JOBS_EVERY_S = 10.0


class Nodes:
    """Every emulated node's truth, and the crossings that wait for their ack."""

    def __init__(self, nodes: range, seed: int) -> None:
        count = len(nodes)
        self.nodes, self.loads = nodes, Loads(count, seed)
        self.limit_w = np.full((count, GPUS), MAX_W)
        self.armed = np.zeros(count, dtype=np.bool_)
        self.wanted_w = np.zeros(count)
        self.ids = [uuids(node) for node in nodes]
        self.index = {node_name(node): row for row, node in enumerate(nodes)}
        self.terms = [Terms(tree=TREE, region=REGION, node=node_name(node)) for node in nodes]
        self.minters = [Minter(boot_id(node), TREE, node_name(node)) for node in nodes]
        self.standing = [Standing(boot_id=boot_id(n), tree=TREE, node=node_name(n)) for n in nodes]
        self.crossed_ns = np.zeros(count, dtype=np.int64)  # sample that pushed the domain over; 0: none open
        self.answered_ns = np.zeros(count, dtype=np.int64)  # when the first lowering after it was acked
        self.latencies_ms: list[float] = []
        self.lost = self.refused = self.commands = self.frames = 0

    def sample(self, t_s: float, some: slice, now_ns: int, counts: bool) -> tuple[np.ndarray, np.ndarray]:
        """Watts and limits of these nodes now; notes where, with this sample, more is wanted than the target allows.

        Only where watts are lent: else nobody has to give way.
        """
        demand_w = self.loads.demand_w(t_s, some)
        watts = np.minimum(demand_w, self.limit_w[some])
        wanted_w = OVERHEAD_W + SLOPE * demand_w.sum(axis=1)
        lent = self.limit_w[some].max(axis=1) > (TARGET_W - OVERHEAD_W) / SLOPE / GPUS + LENT_W
        crosses = (wanted_w > TARGET_W) & (self.wanted_w[some] <= TARGET_W) & self.armed[some] & lent
        self.wanted_w[some] = wanted_w
        if counts:
            rows = np.flatnonzero(crosses & (self.crossed_ns[some] == 0)) + (some.start or 0)
            self.crossed_ns[rows] = now_ns
        self.frames += len(watts)
        return watts.astype(np.float32), (self.limit_w[some] * 1000).astype(np.uint32)

    def expire(self, now_ns: int) -> None:
        """Crossings without an ack in time are lost."""
        late = (self.crossed_ns > 0) & (now_ns - self.crossed_ns > LOST_AFTER_S * 1e9)
        self.lost += int(late.sum())
        self.crossed_ns[late] = 0

    def obey(self, command: SetLimits | Hold | ExitGrant) -> LimitAck | None:
        """The answer of a node's guardian; the limits change at once, as in the library."""
        row = self.index.get(command.node)
        if row is None:
            return None
        self.commands += 1
        standing, now_ns = self.standing[row], time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        lease = judge(command, standing, self.terms[row], self.minters[row], now_ns)
        lowered = False
        if isinstance(lease, Refusal):
            self.refused += 1
        else:
            self.standing[row] = replace(
                standing, epoch=command.epoch, seq=command.seq, grant_ns=lease.mint_ns, ttl_s=command.ttl_s
            )
            if isinstance(command, SetLimits):
                told = [limit.limit_w for limit in command.limits]
                limit_w = np.array([MAX_W if watts is None else watts for watts in told])
                lowered = bool((limit_w < self.limit_w[row] - 0.5).any())
                self.limit_w[row], self.armed[row] = limit_w, True
        if lowered and self.crossed_ns[row]:
            self.answered_ns[row] = self.crossed_ns[row]
            self.crossed_ns[row] = 0
        return self._ack(row, command, lease)

    def _ack(self, row: int, command: SetLimits | Hold | ExitGrant, lease: object) -> LimitAck:
        standing, armed = self.standing[row], bool(self.armed[row])
        fallback_w = FALLBACK_W if armed else None
        refused = lease.reason if isinstance(lease, Refusal) else None
        limit_w = self.limit_w[row].tolist()
        kind = "set_limits" if isinstance(command, SetLimits) else "hold"
        return LimitAck(
            tree=TREE,
            region=REGION,
            node=command.node,
            boot_id=standing.boot_id,
            answers=kind,  # type: ignore[arg-type]
            epoch=command.epoch,
            seq=command.seq,
            highest_epoch=standing.epoch,
            highest_seq=standing.seq,
            accepted=refused is None,
            refused=refused,
            gpus=tuple(
                GpuAck(uuid=uuid, requested_w=watts, enforced_w=watts, fallback_w=fallback_w)
                for uuid, watts in zip(self.ids[row], limit_w, strict=True)
            ),
            t_ns=time.time_ns(),
            mono_ns=time.monotonic_ns(),
        )

    def state(self, row: int) -> NodeState:
        """The node's word of this second, with a fresh nonce."""
        standing, armed = self.standing[row], bool(self.armed[row])
        return NodeState(
            tree=TREE,
            region=REGION,
            node=node_name(self.nodes[row]),
            boot_id=standing.boot_id,
            nonce=self.minters[row].mint(time.clock_gettime_ns(time.CLOCK_BOOTTIME)),
            highest_epoch=standing.epoch,
            highest_seq=standing.seq,
            armed=armed,
            stage=0,
            leaving=False,
            gpus=tuple(
                GpuState(
                    uuid=uuid,
                    min_w=MIN_W,
                    max_w=MAX_W,
                    default_w=MAX_W,
                    baseline_w=MAX_W if armed else None,
                    requested_w=watts,
                    enforced_w=watts,
                    fallback_w=FALLBACK_W if armed else None,
                    settable=True,
                    controlled=armed,
                )
                for uuid, watts in zip(self.ids[row], self.limit_w[row].tolist(), strict=True)
            ),
            t_ns=time.time_ns(),
            mono_ns=time.monotonic_ns(),
        )

    def jobs(self, row: int) -> list[JobEvent]:
        """The two jobs of a node, as telemetry says them again every ten seconds."""
        half = GPUS // 2
        return [
            JobEvent(
                region=REGION,
                node=node_name(self.nodes[row]),
                boot_id=boot_id(self.nodes[row]),
                job=f"{node_name(self.nodes[row])}-{name}",
                change="running",
                type_key="synthetic",
                priority_class="normal",
                tenant="bench",
                queue="bench",
                gpus=tuple(boards),
                started_ns=1,
                t_ns=time.time_ns(),
                mono_ns=time.monotonic_ns(),
            )
            for name, boards in (("a", self.ids[row][:half]), ("b", self.ids[row][half:]))
        ]


async def run(url: str, nodes: range, seconds: float, seed: int) -> dict[str, object]:
    """The figures of a run: every node speaks from the start, crossings count after `SETTLE_S`."""
    check(nodes)
    fleet = Nodes(nodes, seed)
    fast, slow = Frames(nodes, slow=False), Frames(nodes, slow=True)
    telling = Frames(nodes, slow=True, says_gpus=True)
    acks: list[bytes] = []

    def take(_subject: bytes, data: bytes) -> None:
        ack = fleet.obey(wire.decode(data, (SetLimits, Hold, ExitGrant)))  # type: ignore[arg-type]
        if ack is None:
            return
        acks.append(published(subjects.ack(REGION, ack.node), wire.encode(ack)))
        if len(acks) == 1:
            asyncio.get_running_loop().call_soon(flush)

    def flush() -> None:
        link.write(b"".join(acks))
        acks.clear()
        now_ns = time.monotonic_ns()
        for row in np.flatnonzero(fleet.answered_ns):
            fleet.latencies_ms.append((now_ns - int(fleet.answered_ns[row])) / 1e6)
            fleet.answered_ns[row] = 0

    link = await Link.open(url, take, (subjects.commands_in(REGION),))
    begun_s, slice_s = time.monotonic(), 1 / HZ / SLICES
    edges = np.linspace(0, len(nodes), SLICES + 1).astype(int)
    beats = late = 0
    while (t_s := time.monotonic() - begun_s) < seconds and not link.lost:
        beat, part = divmod(beats, SLICES)
        some = slice(int(edges[part]), int(edges[part + 1]))
        if some.stop > some.start:
            now_ns = time.monotonic_ns()
            watts, limit_mw = fleet.sample(t_s, some, now_ns, SETTLE_S <= t_s < seconds - LOST_AFTER_S - 0.5)
            frames = telling if beat % (10 * HZ) == 0 else slow if beat % HZ == 0 else fast
            link.write(frames.lines(some, beat, (time.time_ns(), now_ns), watts, limit_mw))
            # states of a node come once a second, its beats numbered so that they spread over it
            spoken = np.arange(some.start, some.stop)
            for row in spoken[(spoken + beat) % HZ == 0].tolist():
                name = node_name(nodes[row])
                link.write(published(subjects.state(REGION, name), wire.encode(fleet.state(row))))
                if (beat // HZ + row) % round(JOBS_EVERY_S) == 0 or beat < HZ:
                    for job in fleet.jobs(row):
                        link.write(published(subjects.job(REGION, job.job), wire.encode(job)))
        fleet.expire(time.monotonic_ns())
        beats += 1
        due_s = begun_s + beats * slice_s
        if (wait_s := due_s - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        else:
            late += 1
            await asyncio.sleep(0)
    fleet.expire(time.monotonic_ns())
    return {
        "latencies_ms": [round(value, 3) for value in fleet.latencies_ms],
        "lost": fleet.lost,
        "frames": fleet.frames,
        "hz": round(fleet.frames / len(nodes) / t_s, 3),
        "commands": fleet.commands,
        "refused": fleet.refused,
        "late_share": round(late / max(1, beats), 4),
        "cut_off": link.lost,
    }


def main(arguments: list[str]) -> int:
    """Runs and prints."""
    url, first, last, seconds, seed = arguments
    figures = asyncio.run(run(url, range(int(first), int(last)), float(seconds), int(seed)))
    print(json.dumps(figures))
    return 1 if figures["cut_off"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
