"""A guardian, then the store, frozen where it stands while limits have to move: nothing stale lands, all heal alone."""

import signal
import time

import pytest
from live_bus import Ear, Supply
from live_site import FALLBACK_W, Site, boot_ns, holds, until
from standing_still import still

from easyrider.messages import LimitAck, NodeState, SetLimits
from easyrider_cli.process import Child

pytestmark = [pytest.mark.system, pytest.mark.slow]

NODES = ("node-1", "node-2")
LOW_W = 330.0
"""Per board, with two of five modules out."""
DEAD_MAN_S = 10.0
LEASE_S = 5.0


def supply(site: Site, bridge: Supply, modules_ok: int) -> None:
    """The UPS itself carries so many of its five modules, and the bus is told."""
    site.tell_twin("fail_module", domain="ups", modules=5 - modules_ok)
    bridge.say(modules_ok)


def lowered(site: Site, *nodes: str) -> bool:
    limits_w = site.limits_w()
    return all(max(limits_w[node]) < LOW_W for node in nodes)


def raise_said(bus: Ear, node: str, since_s: float, above_w: float) -> list[SetLimits]:
    """Commands of this node that ask for more than so many watts."""
    found = [each.message for each in bus.of(SetLimits, since_s, node=node)]
    return [c for c in found if any((limit.limit_w or 0.0) > above_w for limit in c.limits)]


def fallen_after_s(site: Site, node: str, since_ns: int) -> dict[int, float]:
    """By board, how long after a moment its hardware was first set to the fallback or less; empty until all were.

    Fresh commands may lift a woken node again within milliseconds: what the hardware remembers shows both.
    """
    file, found = site.boards(node), dict[int, float]()
    for entry in file.ring[: int(file.header["ring_head"])]:
        if entry["stamp_ns"] >= since_ns and entry["enforced_mw"] <= FALLBACK_W * 1e3:
            found.setdefault(int(entry["gpu"]), (int(entry["stamp_ns"]) - since_ns) / 1e9)
    return found if len(found) == len(file.gpus) else {}


def under_command(bus: Ear, since_s: float, within_s: float = 15.0) -> None:
    """Every guardian accepts commands said after a moment, and is in no stage."""
    for node in NODES:
        until(
            lambda node=node: bus.of(LimitAck, since_s, node=node, accepted=True, refused=None),
            within_s,
            f"an ack of {node}",
        )
        until(
            lambda node=node: [s for s in bus.of(NodeState, since_s, node=node) if s.message.stage == 0],
            within_s,
            f"{node} without a stage",
        )


def same_processes(site: Site) -> dict[str, int]:
    """Process ids by name: a restart of anything shows."""
    return {name: child.pid for name, child in site.stack.children.items() if child.running()}


def test_a_frozen_guardian_wakes_to_its_dead_man_and_applies_no_raise_of_before(
    site: Site, bus: Ear, bridge: Supply
):
    still(site, 0.5, above_w=LOW_W)
    supply(site, bridge, 3)
    until(lambda: lowered(site, *NODES), 5, "limits under a UPS with two modules out")
    time.sleep(1.0)  # past the window that the referee keeps apart
    guardian, before, low_w = site.child("guardian-node-1"), same_processes(site), site.limits_w()["node-1"]
    guardian.signal(signal.SIGSTOP)
    frozen_s = time.monotonic()

    supply(site, bridge, 5)  # room: raises are said, and one waits before the frozen guardian
    stale = until(lambda: raise_said(bus, "node-1", frozen_s, max(low_w)), 5, "a raise said to the frozen")
    supply(site, bridge, 3)
    holds(
        lambda: site.limits_w()["node-1"] == low_w,
        DEAD_MAN_S + 2.0 - (time.monotonic() - frozen_s),  # the freeze itself: longer than the dead-man
        "limits of boards whose guardian stands still",
    )
    assert lowered(site, "node-2"), "the reachable node follows the supply"
    woken_ns, woken_s = boot_ns(), time.monotonic()
    guardian.signal(signal.SIGCONT)

    refused = until(lambda: bus.of(LimitAck, woken_s, node="node-1", accepted=False), 5, "stale ones refused")
    assert {each.message.refused for each in refused} <= {"stale_nonce", "stale_seq"}
    until(lambda: fallen_after_s(site, "node-1", woken_ns), 2, "stage 1 on every board")
    assert max(fallen_after_s(site, "node-1", woken_ns).values()) < 1.0, "within a second of waking"
    under_command(bus, time.monotonic())
    written = site.guardian_writes("node-1", woken_ns)
    assert [w["cause"] for w in written if w["cause"] != "command"][:1] == ["dead_man_1"]
    stale_seqs = {(command.epoch, command.seq) for command in stale}
    assert not [w for w in written if (w["epoch"], w["seq"]) in stale_seqs and w["cause"] == "command"]
    assert lowered(site, *NODES)
    site.clean_so_far()
    supply(site, bridge, 5)
    until(lambda: min(site.limits_w()["node-1"]) > LOW_W, 15, "raises of the woken node")
    assert same_processes(site) == before, "nobody was started again"
    site.clean_so_far()


def contender(site: Site) -> Child:
    """Another coordinator of the same scope, with a folder of its own, started."""
    first, name = site.child("policy"), "policy-e"
    own = {
        "EASYRIDER_POLICY_STATE_DIR": str(site.folder.state(name)),
        "EASYRIDER_POLICY_HEALTH_FILE": str(site.folder.health(name)),
        "EASYRIDER_POLICY_INSTANCE": name,
    }
    child = Child(
        name, first.command, site.folder.log(name), {**first.environ, **own}, orphaned=signal.SIGKILL
    )
    child.start()
    return child


def test_a_frozen_store_stops_no_lower_and_wakes_to_one_leader(site: Site, bus: Ear, bridge: Supply):
    still(site, 0.5, above_w=LOW_W)
    before = same_processes(site)
    frozen_s, store = time.monotonic(), site.stack.servers.redis
    epoch = max(each.message.epoch for each in bus.of(SetLimits))
    store.freeze()
    other = contender(site)
    try:
        supply(site, bridge, 3)
        until(lambda: lowered(site, *NODES), 2.5, "limits under what is left, the store or not")

        def led() -> bool:
            fresh = bus.of(SetLimits, time.monotonic() - 3.0)
            return {each.message.node for each in fresh} == set(NODES)

        # the freeze itself: longer than the lease, which ends inside the store
        holds(led, LEASE_S + 2.0 - (time.monotonic() - frozen_s), "grants of the running leader")
        assert {each.message.epoch for each in bus.of(SetLimits, frozen_s)} == {epoch}
        assert "took the lead" not in other.log.read_text(), "nobody new starts"
        low_w, writes, woken_s = site.limits_w(), site.writes(), time.monotonic()
        store.thaw()

        holds(lambda: site.limits_w() == low_w, 2.0, "limits while the store wakes")
        under_command(bus, woken_s + 2.0)
        assert site.writes() == writes, "whoever leads now moved 0 W"
        leaders = {each.message.epoch for each in bus.of(SetLimits, time.monotonic() - 1.5)}
        assert len(leaders) == 1
        assert all(state.message.stage == 0 for state in bus.of(NodeState, frozen_s))
        assert same_processes(site) == before, "nobody was started again"
    finally:
        other.signal(signal.SIGKILL)  # whether it leads or not, the site goes on with the one it had
        until(lambda: not other.running(), 5)
    supply(site, bridge, 5)
    until(lambda: min(map(min, site.limits_w().values())) > LOW_W, 30, "raises after the wake-up")
    site.clean_so_far()
