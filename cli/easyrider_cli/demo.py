"""The demonstration: one rack, three runs of the same seed: without control, with a static cap, with EasyRider."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easyrider.errors import EasyRiderError
from easyrider_cli import journal_count, limit_tracks, truth
from easyrider_cli.process import ChildFailed, last_lines
from easyrider_cli.receipts import tell_receipts
from easyrider_cli.rundir import RunFolder
from easyrider_cli.stack import Stack, begin_counting, stack_up, start_referee
from easyrider_twin.control import ask
from easyrider_twin.outcome import FloatArray, Outcome
from easyrider_twin.rack import static_cap_w
from easyrider_twin.simulate import simulate
from easyrider_twin.statefile import attach
from easyrider_twin.world import World

_VERIFIED_S = 5.0
_LOOK_S = 0.1


class NeverVerified(EasyRiderError):
    """The services were ready, but no plan was verified by read-back in time; nothing was judged."""

    def __init__(self, waited_s: float, log: Path) -> None:
        self.waited_s = waited_s
        super().__init__(
            f"no verified plan within {waited_s:.0f} s of every service being ready; "
            f"the coordinator's log {log} ends: {last_lines(log)}"
        )


class DiedDuringTheRun(EasyRiderError):
    """A process of the demonstration ended before it was over; nothing was judged and everything was stopped."""

    def __init__(self, last: str, log: Path) -> None:
        self.log = log
        super().__init__(
            f"{last} during the run; everything was stopped; its log {log} ends: {last_lines(log)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A run in virtual time, which needs no services."""

    cap_w: float | None
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The run in real time with every service as a process."""

    outcome: dict[str, Any]  # the twin's
    referee: dict[str, Any]
    journal: dict[str, int]
    power: truth.PowerHistory
    work: dict[str, truth.WorkHistory]  # by job
    limits: dict[str, tuple[FloatArray, FloatArray]]  # by job: seconds, mean limit of its boards


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """All three runs and the world they share."""

    seconds: float
    world: World
    without: Reference
    static: Reference
    live: Live


Watch = Callable[[dict[str, Any], dict[str, int]], None]
"""Told the newest sample of the rack and the journal's counts so far, up to ten times a second."""


def demonstrate(
    *,
    world: World,
    seconds: float,
    folder: RunFolder,
    say: Callable[[str], None],
    watch: Watch,
    insecure: bool = False,
) -> Demonstration:
    """The three runs.

    Raises `ServerMissing`, `ServerNotStarted`, `ChildFailed`, `NeverVerified`, `DiedDuringTheRun`.
    """
    say("without control, in virtual time")
    without = Reference(cap_w=None, outcome=simulate(world, seconds))
    cap_w = static_cap_w(world)
    say(f"with one static cap of {cap_w:.0f} W for every GPU, in virtual time")
    static = Reference(cap_w=cap_w, outcome=simulate(world, seconds, caps_w=cap_w))
    with stack_up(folder, world, mode="enforce", say=say, insecure=insecure) as stack:
        live = _live(stack, seconds, say, watch)
    return Demonstration(seconds=seconds, world=world, without=without, static=static, live=live)


def _live(stack: Stack, seconds: float, say: Callable[[str], None], watch: Watch) -> Live:
    folder, control = stack.folder, stack.folder.twin / "control.sock"
    referee = start_referee(stack)
    ready_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    _await_verified(folder)
    begin_counting(stack)
    ask(control, {"do": "start", "seconds": seconds})
    say(f"with EasyRider in enforce, in real time: {seconds:.0f} s")
    _watch_until_final(stack, seconds, watch)
    referee.end()
    stack.children.pop("referee")
    outcome = ask(control, {"do": "outcome"})["outcome"]
    happened = folder.twin / "truth.jsonl"
    return Live(
        outcome=outcome,
        referee=json.loads((folder.twin / "referee.json").read_text()),
        journal=dict(journal_count.counts(folder.journal, ready_ns)),
        power=truth.power_history(happened, seconds),
        work=truth.work_histories(happened, seconds),
        limits=_limits(stack, truth.start_ns(happened), seconds),
    )


def _limits(stack: Stack, start_ns: int, seconds: float) -> dict[str, tuple[FloatArray, FloatArray]]:
    world, folder = stack.world, stack.folder
    uuids = {
        node.id: [bytes(uuid).decode() for uuid in attach(folder.gpu_state(node.id)).gpus["uuid"]]
        for node in world.nodes
    }
    models = {node.id: world.models[node.model] for node in world.nodes}
    return {
        job.id: limit_tracks.limit_track(
            [folder.read_backs(node) for node in job.gpus],
            frozenset(uuids[node][board] for node, boards in job.gpus.items() for board in boards),
            max(models[node].default_limit_w for node in job.gpus),
            start_ns,
            seconds,
        )
        for job in world.jobs
    }


def _await_verified(folder: RunFolder) -> None:
    deadline_s = time.monotonic() + _VERIFIED_S
    while not journal_count.verified(folder.journal):
        if time.monotonic() > deadline_s:
            raise NeverVerified(_VERIFIED_S, folder.log("policy"))
        time.sleep(0.05)


def _watch_until_final(stack: Stack, seconds: float, watch: Watch) -> None:
    tail = truth.TruthTail(stack.folder.twin / "truth.jsonl")
    journal = journal_count.JournalTail(stack.folder.journal)
    deadline_s = time.monotonic() + seconds + 30.0
    while time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
        tell_receipts(journal.poll(), stack.folder.twin / "received.jsonl")
        sample = tail.poll()
        if sample is not None and not sample["held"]:
            watch(sample, dict(journal.counts))
            if sample["t_s"] >= seconds:
                return
        for name in stack.dead():
            raise DiedDuringTheRun(stack.last_of(name), stack.folder.log(name))
    raise ChildFailed("twin", f"did not reach {seconds:.0f} s", stack.folder.log("twin"))
