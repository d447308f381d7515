"""Actuator, guardian, bus and store killed or frozen, one at a time: limits stay right, and everything heals."""

import signal
import time

import pytest
from live_bus import Ear, Supply
from live_site import Site, boot_ns, holds, until
from standing_still import still

from easyrider.messages import LimitAck, NodeState, SetLimits
from easyrider_cli.process import Child

pytestmark = [pytest.mark.system, pytest.mark.slow]


LOW_W = 330.0
"""Per board, with two of five modules out."""


def granted_again(bus: Ear, node: str, within_s: float = 10.0) -> None:
    """Wait for a command to this node that its guardian accepts, said after now."""
    now_s = time.monotonic()
    until(
        lambda: bus.of(LimitAck, now_s, node=node, accepted=True, refused=None), within_s, f"an ack of {node}"
    )


def test_a_killed_actuator_only_delays_commands(site: Site, bus: Ear, bridge: Supply):
    before_w = still(site, 0.5, above_w=LOW_W)
    site.child("actuator-node-1").signal(signal.SIGKILL)
    until(lambda: not site.child("actuator-node-1").running(), 5)

    bridge.say(3)
    until(lambda: max(site.limits_w()["node-2"]) < LOW_W, 5, "the reachable node to be lowered")
    assert site.limits_w()["node-1"] == before_w["node-1"]
    site.stack.start("actuator-node-1")

    until(lambda: max(site.limits_w()["node-1"]) < LOW_W, 10, "the other to follow")
    granted_again(bus, "node-1")
    assert bus.of(NodeState)[-1].message.stage == 0
    bridge.say(5)
    site.clean_so_far()


def test_a_frozen_actuator_that_wakes_relays_nothing_late(site: Site, bus: Ear, bridge: Supply):
    still(site, 0.5, above_w=LOW_W)
    site.child("actuator-node-1").signal(signal.SIGSTOP)

    bridge.say(3)  # commands pile up before it
    time.sleep(6.5)  # the freeze itself: longer than a command lives
    woken_s = time.monotonic()
    site.child("actuator-node-1").signal(signal.SIGCONT)

    until(lambda: bus.of(LimitAck, woken_s, node="node-1", refused="stale_nonce"), 5, "late ones refused")
    granted_again(bus, "node-1")
    bridge.say(5)
    site.clean_so_far()


def test_a_killed_guardian_goes_on_where_it_was(site: Site, bus: Ear):
    before_w, begun_ns = still(site), boot_ns()
    stood = bus.of(NodeState, node="node-2")[-1].message
    site.child("guardian-node-2").signal(signal.SIGKILL)
    until(lambda: not site.child("guardian-node-2").running(), 5)
    assert site.limits_w()["node-2"] == before_w["node-2"], "the hardware keeps its limits"

    site.stack.start("guardian-node-2")

    again_s = time.monotonic()
    state = until(lambda: bus.of(NodeState, again_s, node="node-2"), 10, "its word")[0].message
    assert state.armed
    assert (state.highest_epoch, state.highest_seq) >= (stood.highest_epoch, stood.highest_seq)
    assert state.nonce > stood.nonce
    granted_again(bus, "node-2")
    assert {line["cause"] for line in site.guardian_writes("node-2", begun_ns)} <= {"command"}
    site.clean_so_far()


def test_a_killed_store_stops_nobody_who_leads_and_lets_nobody_start(site: Site, bus: Ear):
    first = site.child("policy")
    site.stack.servers.redis.kill()
    other = {
        "EASYRIDER_POLICY_STATE_DIR": str(site.folder.state("policy-d")),
        "EASYRIDER_POLICY_HEALTH_FILE": str(site.folder.health("policy-d")),
        "EASYRIDER_POLICY_INSTANCE": "policy-d",
    }
    child = Child(
        "policy-d",
        first.command,
        site.folder.log("policy-d"),
        {**first.environ, **other},
        orphaned=signal.SIGKILL,
    )
    site.stack.children["policy-d"] = child
    child.start()
    lost_s, epoch = time.monotonic(), bus_epoch(bus)

    def still_led() -> bool:
        now_s = time.monotonic()
        fresh = bus.of(SetLimits, now_s - 3.0)
        return now_s - lost_s < 3.0 or {each.message.node for each in fresh} == {"node-1", "node-2"}

    holds(still_led, 8.0, "grants of the running leader")  # its lease, and 3 s more
    assert {each.message.epoch for each in bus.of(SetLimits, lost_s)} == {epoch}
    assert "took the lead" not in child.log.read_text()

    child.signal(signal.SIGKILL)
    site.stack.servers.redis.start()
    now_s = time.monotonic()
    until(lambda: bus.of(SetLimits, now_s + 2.0), 20, "somebody who leads with the store back")
    granted_again(bus, "node-1", 20)
    site.clean_so_far()


def bus_epoch(bus: Ear) -> int:
    return int(until(lambda: bus.of(SetLimits), 5)[-1].message.epoch)


def test_a_bus_frozen_for_six_seconds_has_nothing_late_applied(site: Site, bus: Ear, bridge: Supply):
    still(site, 0.5, above_w=LOW_W)
    server = site.stack.servers.nats
    bridge.say(3)
    server.freeze()  # with the commands of that drop inside, or before it
    time.sleep(6.0)  # the freeze itself
    thawed_ns, thawed_s = boot_ns(), time.monotonic()
    server.thaw()

    until(lambda: bus.of(NodeState, thawed_s), 10, "the bus")
    granted_again(bus, "node-1")
    granted_again(bus, "node-2")
    for node in ("node-1", "node-2"):
        for line in site.guardian_writes(node, thawed_ns):
            if line["cause"] == "command":
                assert line["stamp_ns"] <= line["mint_ns"] + line["ttl_s"] * 1e9
    bridge.say(5)
    site.clean_so_far()


def test_with_every_process_of_ours_killed_the_hardware_goes_on_with_its_limits(site: Site):
    before_w = still(site)
    ours = [name for name in site.stack.children if name not in ("twin", "referee")]
    for name in ours:
        site.child(name).signal(signal.SIGKILL)
    until(lambda: not any(site.child(name).running() for name in ours), 5)
    writes, begun = site.writes(), site.tell_twin("status")

    holds(lambda: site.limits_w() == before_w, 3.0, "limits")
    later = site.tell_twin("status")

    assert later["t_s"] > begun["t_s"] + 2.0, "the jobs go on"
    assert later["jobs"] == begun["jobs"]
    assert later["trips"] == []
    assert later["wall_w"]["pdu"] <= later["hard_w"]["pdu"]
    assert site.writes() == writes
    site.judged_clean()
