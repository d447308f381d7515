"""A small site whose every part is a process of its own: real servers, the twin, our services, and the referee."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from easyrider_cli import journal_count
from easyrider_cli.process import Child
from easyrider_cli.rundir import RunFolder
from easyrider_cli.site import rules_of
from easyrider_cli.stack import TREE, Stack, begin_counting, stack_up, start_referee
from easyrider_twin.control import ask
from easyrider_twin.programs import Synthetic
from easyrider_twin.statefile import StateFile, attach, enforced_limits_mw
from easyrider_twin.world import PDU_CURVE, UPS_CURVE, Domain, Job, Meter, Node, World

MIN_W, MAX_W, FALLBACK_W = 200.0, 700.0, 250.0
METERS = (Meter(id="rack-meter", domain="pdu"), Meter(id="ups-1", domain="ups", kind="ups"))


def until(true: Callable[[], Any], within_s: float, what: str = "", every_s: float = 0.02) -> Any:
    """What `true` returned once it was true; an assertion error after `within_s`."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s} s: {what or true}"
        time.sleep(every_s)
    return found


def holds(true: Callable[[], Any], for_s: float, what: str = "", every_s: float = 0.05) -> None:
    """Nothing if `true` held all the time; an assertion error at the first look where it did not."""
    end_s = time.monotonic() + for_s
    while time.monotonic() < end_s:
        assert true(), f"did not hold: {what or true}"
        time.sleep(every_s)


def training(seed: int, **program: Any) -> Synthetic:
    """A synthetic job of 2 s iterations that is at work within half a second of its start."""
    own: dict[str, Any] = {"setup_s": 0.5, "period_s": 2.0, "checkpoint_every_s": None}
    return Synthetic(**{"seed": seed, **own, **program})


def restless(seed: int, first_s: float, off_s: float, on_s: float) -> Synthetic:
    """A job that leaves its boards again and again: every return is a raise after somebody else's lower."""
    off = tuple((first_s + k * (off_s + on_s), off_s) for k in range(40))
    return training(seed, preemptions=off)


def small_world(
    *, nodes: int = 2, gpus: int = 2, meters: tuple[Meter, ...] = (), jobs: tuple[Job, ...] | None = None
) -> World:
    """Boards that want more than their PDU gives, whose hard limit is its target; a UPS of five modules above.

    With one module out the UPS carries less than the PDU, and that binds. By default node 1 trains all the
    time, and the others leave their boards for 4 s of every 10.
    """
    boards, fixed_w, overhead_w = nodes * gpus, 50.0, 200.0 * nodes
    pdu_w = fixed_w + overhead_w + 1.23 * 490.0 * boards
    if jobs is None:
        steady = Job(id="steady", type_key="steady", gpus={"node-1": tuple(range(gpus))}, program=training(1))
        others = {f"node-{k}": tuple(range(gpus)) for k in range(2, nodes + 1)}
        moving = Job(id="moving", type_key="moving", gpus=others, program=restless(2, 6.0, 4.0, 6.0))
        jobs = (steady, moving) if others else (steady,)
    return World(
        name="small-site",
        seed=1,
        nodes=tuple(
            Node(id=f"node-{k}", domain="pdu", gpus=gpus, overhead_w=200.0) for k in range(1, nodes + 1)
        ),
        domains=(
            Domain(
                id="ups",
                kind="ups",
                rating_w=pdu_w * 1.14,
                hard_limit_w=pdu_w * 1.14,
                target_w=pdu_w * 1.14,
                curve=UPS_CURVE,
                modules=5,
            ),
            Domain(
                id="pdu",
                kind="pdu",
                parent="ups",
                rating_w=pdu_w,
                hard_limit_w=pdu_w,
                target_w=pdu_w,
                curve=PDU_CURVE,
                fixed_w=fixed_w,
            ),
        ),
        meters=meters,
        jobs=jobs,
    )


def calm_world(*, nodes: int = 2, gpus: int = 2) -> World:
    """One job on every board that draws steadily less than its limits allow: nothing gives a reason to move them."""
    everywhere = {f"node-{k}": tuple(range(gpus)) for k in range(1, nodes + 1)}
    program = training(3, plateau_ratio=0.55, communication_share=0.0, period_jitter=0.0)
    return small_world(
        nodes=nodes, gpus=gpus, jobs=(Job(id="calm", type_key="calm", gpus=everywhere, program=program),)
    )


QUICK_LEASES = {"ttl_s": 2.0, "leader_lease_s": 3.0}
"""For rules where leases are not what is watched: a coordinator is ready after its take-over's hold, 3 s and not 6."""
LEAN = ("infra-bridge", "forecaster")
"""What a site can do without where neither meters nor forecasts matter."""


@dataclass(slots=True)
class Site:
    """A running site: its processes, what its hardware holds, what its coordinator wrote down."""

    stack: Stack
    rings: dict[str, StateFile] = field(default_factory=dict)

    @property
    def folder(self) -> RunFolder:
        return self.stack.folder

    def child(self, name: str) -> Child:
        return self.stack.child(name)

    def tell_twin(self, do: str, **words: Any) -> dict[str, Any]:
        return ask(self.folder.twin / "control.sock", {"do": do, **words})

    def boards(self, node: str) -> StateFile:
        """The hardware of one node, read from outside."""
        if node not in self.rings:
            self.rings[node] = attach(self.folder.gpu_state(node))
        return self.rings[node]

    def limits_w(self) -> dict[str, list[float]]:
        """Enforced limits by node, as the hardware holds them."""
        return {
            node.id: [float(w) / 1e3 for w in enforced_limits_mw(self.boards(node.id).gpus)]
            for node in self.stack.world.nodes
        }

    def writes(self) -> int:
        """Limit writes that the hardware of all nodes remembers."""
        return sum(int(self.boards(node.id).header["ring_head"]) for node in self.stack.world.nodes)

    def raises_since(self, stamp_ns: int) -> list[tuple[str, int, float]]:
        """(node, board, limit) of every write after that moment that lifted a board above what it held then."""
        found = []
        for node in self.stack.world.nodes:
            file = self.boards(node.id)
            last = {k: float(file.gpus["default_mw"][k]) for k in range(len(file.gpus))}
            for k in range(min(int(file.header["ring_head"]), len(file.ring))):
                entry = file.ring[k]
                gpu, limit_mw = int(entry["gpu"]), float(entry["enforced_mw"])
                if int(entry["stamp_ns"]) > stamp_ns and limit_mw > last[gpu]:
                    found.append((node.id, gpu, limit_mw / 1e3))
                last[gpu] = limit_mw
        return found

    def journal(self, what: str | None = None, since_ns: int = 0) -> list[dict[str, Any]]:
        """Lines of the coordinator's journal."""
        return lines(self.folder.journal, what, since_ns)

    def guardian_writes(self, node: str, since_ns: int = 0) -> list[dict[str, Any]]:
        path = self.folder.guardian_log(node)
        told = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in told if line["stamp_ns"] >= since_ns]

    def so_far(self) -> dict[str, Any]:
        """The referee's word on everything up to now, while it goes on watching."""
        path, now_s = self.folder.twin / "referee.json", time.time()

        def judged() -> dict[str, Any] | None:
            # what it calls foreign it has waited for, and a summary is written each second
            if not path.exists() or path.stat().st_mtime < now_s + 0.5:
                return None
            found: dict[str, Any] = json.loads(path.read_text())
            return found

        word: dict[str, Any] = until(judged, 8, "the referee's summary")
        return word

    def clean_so_far(self) -> None:
        """Nothing was broken up to now."""
        assert_clean(self.so_far(), self.findings())

    def verdict(self) -> dict[str, Any]:
        """The referee's last word; it is ended."""
        referee = self.stack.children.pop("referee")
        assert referee.end() == 0
        found: dict[str, Any] = json.loads((self.folder.twin / "referee.json").read_text())
        assert found["final"]
        return found

    def findings(self) -> list[dict[str, Any]]:
        """What the referee found, in its own words."""
        path = self.folder.twin / "referee.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def judged_clean(self) -> dict[str, Any]:
        """The verdict, after asserting that nothing was broken."""
        found = self.verdict()
        assert_clean(found, self.findings())
        return found


CLEAN = (
    "sum_rule_violations", "limit_out_of_range", "late_commands_applied", "trips", "foreign_writes", "ring_overruns",
    "journal_malformed",
)  # fmt: skip


def assert_clean(word: dict[str, Any], findings: list[dict[str, Any]]) -> None:
    """Nothing that the referee counts is above zero."""
    broken = {name: word[name] for name in CLEAN if word[name] != 0}
    assert not broken, (broken, findings[-10:])


def lines(path: Path, what: str | None = None, since_ns: int = 0) -> list[dict[str, Any]]:
    """Whole lines of a journal, of one kind and not older than `since_ns` (boot clock)."""
    if not path.exists():
        return []
    told = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    return [line for line in told if what in (None, line["what"]) and line.get("boottime_ns", 0) >= since_ns]


def boot_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@contextmanager
def site_up(
    root: Path,
    world: World,
    *,
    mode: str = "enforce",
    without: tuple[str, ...] = (),
    rules: dict[str, Any] | None = None,
    extra: dict[str, dict[str, str]] | None = None,
    keep_aside: dict[str, Child] | None = None,
) -> Iterator[Site]:
    """Every process started and ready, but those whose names begin with a word of `without`.

    `rules` replaces parts of the rules document, `extra` adds variables to processes by name;
    `keep_aside` is filled with every process, those left out too.
    """
    folder = RunFolder.fresh(root)
    nodes = [
        node | {"fallback_w_per_gpu": FALLBACK_W}  # above the minimum, so that both stages show
        for node in rules_of(world, tree=TREE, mode=mode)["nodes"]
    ]
    other = {"nodes": nodes} | (rules or {})
    with stack_up(
        folder,
        world,
        mode=mode,
        say=lambda _step: None,
        extra=extra,
        rules=other,
        without=without,
        orphaned=signal.SIGKILL,  # a test that is interrupted may leave one frozen
    ) as stack:
        if keep_aside is not None:
            keep_aside.update(stack.spare | stack.children)
        try:
            yield Site(stack)
        finally:
            for child in stack.children.values():
                if child.running():  # leaving in order takes seconds, and has tests of its own
                    child.signal(signal.SIGKILL)
            for server in (stack.servers.nats, stack.servers.redis):
                if server.running:
                    server.kill()


def start_jobs(site: Site, *, verified: bool = True) -> None:
    """The referee watches, counting begins at the first verified plan, the jobs run."""
    start_referee(site.stack)
    if verified:
        until(lambda: journal_count.verified(site.folder.journal), 10, "a verified plan")
    begin_counting(site.stack)
    site.tell_twin("start")
