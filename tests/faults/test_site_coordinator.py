"""Coordinators that are killed, frozen and replaced while limits stand: nothing moves that should not."""

import signal
import sys
import time
from pathlib import Path

import pytest
from live_bus import Ear, Supply
from live_site import Site, boot_ns, holds, until
from standing_still import still

from easyrider.messages import Hold, JobEvent, LimitAck, NodeState, SetLimits
from easyrider_cli.process import Child

pytestmark = [pytest.mark.system, pytest.mark.slow]

NODES = ("node-1", "node-2")
TAKE_OVER_S, FROM_NOTHING_S = 5.7, 6.7
LOADED_S = 1.0
"""What a machine shared with other work may add."""
FREEZE_S = 10.0
"""Longer than its lease, and than the other takes to lead from nothing."""
LOW_W = 330.0
"""Per board, with two of five modules out."""

STOPS_ITSELF = """
import os, pathlib, signal, sys
from easyrider.bus import Bus
from easyrider.messages import SetLimits
trigger = pathlib.Path(os.environ["STOP_BEFORE_A_RAISE"])
together, said = Bus.publish_together, {}
def publish_together(self, words):
    if trigger.exists() and any(raises(command) for _, command in words):
        trigger.rename(trigger.with_suffix(".done"))
        os.kill(os.getpid(), signal.SIGSTOP)
    said.update({command.node: command for _, command in words})
    return together(self, words)
def raises(command):
    before = said.get(command.node)
    if not isinstance(before, SetLimits) or not isinstance(command, SetLimits):
        return False
    held = {limit.uuid: limit.limit_w for limit in before.limits}
    return any(limit.limit_w > held[limit.uuid] for limit in command.limits)
Bus.publish_together = publish_together
from easyrider_policy.__main__ import main
sys.exit(main())
"""
"""A coordinator that freezes itself at the worst moment: between its last question and the publish of a raise."""


@pytest.fixture(scope="module")
def trigger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file whose presence makes the second coordinator stop itself."""
    return Path(tmp_path_factory.mktemp("trigger")) / "stop"


def second(site: Site, name: str, **environ: str) -> Child:
    """Another coordinator of the same scope, with a folder of its own."""
    first = site.child("policy")
    if name not in site.stack.children:
        own = {
            "EASYRIDER_POLICY_STATE_DIR": str(site.folder.state(name)),
            "EASYRIDER_POLICY_HEALTH_FILE": str(site.folder.health(name)),
            "EASYRIDER_POLICY_INSTANCE": name,
        }
        command = [sys.executable, "-c", STOPS_ITSELF] if environ else first.command
        log = site.folder.log(name)
        site.stack.children[name] = Child(
            name, command, log, {**first.environ, **own, **environ}, orphaned=signal.SIGKILL
        )
    return site.stack.start(name)


def commanded(bus: Ear, epoch: int, since_s: float) -> float:
    """Monotonic seconds when the last of all nodes had its first `Hold` of an epoch."""

    def first() -> list[float]:
        found = [bus.of(Hold, since_s, node=node, epoch=epoch) for node in NODES]
        return [each[0].at_s for each in found if each]

    until(lambda: len(first()) == len(NODES), TAKE_OVER_S + LOADED_S + 8, f"holds of epoch {epoch}")
    return max(first())


def epoch_now(bus: Ear) -> int:
    return max(each.message.highest_epoch for each in bus.of(NodeState)[-4:])


def contending(site: Site, name: str) -> None:
    """Wait until a coordinator listens and knows the boards."""
    until(lambda: site.folder.health(name).exists(), 15, f"{name} to be up")
    time.sleep(2.5)  # it says nothing while it contends: a heartbeat and two tries


def test_a_coordinator_killed_and_started_again_moves_no_limit(site: Site, bus: Ear):
    still(site)
    # right after the jobs were told: the new one has to lead for seconds before it hears of them again
    now_s = time.monotonic()
    until(
        lambda: {event.message.node for event in bus.of(JobEvent, now_s)} >= set(NODES), 12, "every job told"
    )
    before_w = still(site)
    epoch, writes, since_s = epoch_now(bus), site.writes(), time.monotonic()

    site.child("policy").signal(signal.SIGKILL)
    until(lambda: not site.child("policy").running(), 5)
    site.stack.start("policy")

    holds_s = commanded(bus, epoch + 1, since_s) - since_s
    holds(lambda: site.limits_w() == before_w, 5.0, "limits while the new leader may raise nothing")
    vectors = bus.of(SetLimits, since_s, epoch=epoch + 1)
    assert vectors, "it grants what stands"
    assert site.writes() == writes
    assert holds_s <= FROM_NOTHING_S + LOADED_S
    print(f"\nholds came {holds_s:.2f} s after the kill of a coordinator that was started again")
    site.clean_so_far()


def test_another_coordinator_takes_over_a_killed_one_and_moves_nothing(site: Site, bus: Ear, trigger: Path):
    second(site, "policy-b", STOP_BEFORE_A_RAISE=str(trigger))
    contending(site, "policy-b")
    before_w = still(site)
    epoch, writes, since_s = epoch_now(bus), site.writes(), time.monotonic()

    site.child("policy").signal(signal.SIGKILL)

    holds_s = commanded(bus, epoch + 1, since_s) - since_s
    holds(lambda: site.limits_w() == before_w, 5.0, "limits during a change of leader")
    assert site.writes() == writes
    assert holds_s <= TAKE_OVER_S + LOADED_S
    assert all(state.message.stage == 0 for state in bus.of(NodeState, since_s))
    print(f"\nholds came {holds_s:.2f} s after the kill")
    site.clean_so_far()


def test_a_coordinator_frozen_before_it_publishes_a_raise_wakes_up_fenced(
    site: Site, bus: Ear, bridge: Supply, trigger: Path
):
    frozen = site.child("policy-b")  # it leads since the take-over
    bridge.say(3)
    until(
        lambda: max(map(max, site.limits_w().values())) < LOW_W, 5, "limits under a UPS with two modules out"
    )
    old_epoch, since_s, since_ns = epoch_now(bus), time.monotonic(), boot_ns()
    trigger.touch()

    bridge.say(5)  # room again: it wants to raise
    until(lambda: state_of(frozen.pid) == "T", 15, "the coordinator to stop before its raise")
    stopped_s = time.monotonic()
    site.stack.start("policy")
    took_s = commanded(bus, old_epoch + 1, since_s) - stopped_s
    time.sleep(max(0.0, FREEZE_S - (time.monotonic() - stopped_s)))  # the freeze itself
    woken_s, woken_ns = time.monotonic(), boot_ns()
    frozen.signal(signal.SIGCONT)

    late = until(
        lambda: bus.of(SetLimits, woken_s, epoch=old_epoch), 5, "the stale raise to be said after all"
    )
    refused = until(
        lambda: [a.message for a in bus.of(LimitAck, woken_s, epoch=old_epoch) if not a.message.accepted], 5
    )
    assert {ack.refused for ack in refused} == {"stale_epoch"}
    assert (late[0].message.epoch, late[0].message.seq) in {(ack.epoch, ack.seq) for ack in refused}
    written = [line for node in NODES for line in site.guardian_writes(node, since_ns)]
    assert not [w for w in written if w["epoch"] == old_epoch and w["stamp_ns"] > woken_ns]
    assert took_s <= FROM_NOTHING_S + LOADED_S
    until(
        lambda: not bus.of(SetLimits, time.monotonic() - 2.0, epoch=old_epoch),
        8,
        "the woken one to step down",
    )
    assert frozen.running(), "it contends again instead of dying"
    print(f"\nholds came {took_s:.2f} s after the freeze")
    frozen.signal(signal.SIGKILL)
    site.clean_so_far()


def state_of(pid: int) -> str:
    """The kernel's letter for a process: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
