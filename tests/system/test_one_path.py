"""The whole path with every service as a process: sample, forecast, plan, command, read-back, ack; then trouble."""

import math
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
from live_bus import Ear, ear, voice
from live_site import (
    FALLBACK_W,
    MAX_W,
    METERS,
    MIN_W,
    Site,
    boot_ns,
    holds,
    restless,
    site_up,
    small_world,
    training,
    until,
)

from easyrider import subjects, wire
from easyrider.messages import (
    JobEvent,
    LimitAck,
    MeterReading,
    NodeFrame,
    NodeState,
    Plan,
    PowerForecast,
    SetLimits,
)
from easyrider_cli import journal_count
from easyrider_cli.stack import begin_counting, start_referee
from easyrider_twin.world import Job

pytestmark = [pytest.mark.system, pytest.mark.slow]

NODES = ("node-1", "node-2")
LEFT_WITHOUT_GRANT = 3
UNDER_WAY_NS = 500_000_000
"""What was said before lands within so long."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    steady = Job(id="steady", type_key="steady", gpus={"node-1": (0, 1)}, program=training(1))
    moving = Job(id="moving", type_key="moving", gpus={"node-2": (0, 1)}, program=restless(2, 8.0, 3.0, 5.0))
    world = small_world(meters=METERS, jobs=(steady, moving))
    with site_up(Path(tmp_path_factory.mktemp("w")), world) as running:
        start_referee(running.stack)
        until(lambda: journal_count.verified(running.folder.journal), 10, "a verified plan")
        begin_counting(running.stack)
        yield running


@pytest.fixture(scope="module")
def bus(site: Site) -> Iterator[Ear]:
    with ear(site.stack.servers) as heard:
        yield heard


def dropped(site: Site, service: str) -> int:
    """Messages that a service dropped as malformed, by its own count."""
    address = site.folder.health(service).read_text().strip()
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        told = answer.read().decode().splitlines()
    counters = ("easyrider_bus_dropped_total", "easyrider_actuator_commands_total")
    wanted = [
        line for line in told if line.startswith(counters) and "accepted" not in line and "ack" not in line
    ]
    return sum(round(float(line.rsplit(" ", 1)[1])) for line in wanted)


SAID_BY = {
    "frame": ("telemetry-node-1", subjects.frame("local", "node-1"), ("policy", "forecaster")),
    "job": ("telemetry-node-1", subjects.job("local", "steady"), ("policy", "forecaster")),
    "phase": ("telemetry-node-1", subjects.phase("local", "node-1"), ()),
    "state": ("actuator-node-1", subjects.state("local", "node-1"), ("policy",)),
    "ack": ("actuator-node-1", subjects.ack("local", "node-1"), ("policy",)),
    "meter": ("infra-bridge", subjects.meter("local", "rack-meter"), ("policy",)),
    "forecast": ("forecaster", subjects.forecast("local"), ("policy",)),
    "plan": ("policy", subjects.plan("local"), ()),
    "command": ("policy", subjects.command("local", "node-1"), ("actuator-node-1",)),
}
"""Who may say each kind of subject, one such subject, and who must count what is malformed there."""


def malformed(good: bytes) -> list[bytes]:
    """Ways in which a message can be wrong, made from a good one."""
    fields = msgpack.unpackb(good)
    name = next(name for name, value in fields.items() if isinstance(value, int) and name != "v")
    body, count = msgpack.packb, len(fields) + 1
    twice = bytes([0x80 | count]) if count < 16 else b"\xde" + count.to_bytes(2, "big")
    pairs = b"".join(body(key) + body(value) for key, value in fields.items())
    return [
        b"",
        b"\xc1 no message at all",
        good[: len(good) // 2],
        good + b"\x00",
        body([1, 2, 3]),
        body({**fields, "kind": "surprise"}),
        body({**fields, "v": 2}),
        body({**fields, "colour": "red"}),
        body({**fields, name: True}),
        body({**fields, name: math.nan}),
        body({key: value for key, value in fields.items() if key != name}),
        twice + pairs + body(name) + body(fields[name]),
        body({**fields, "padding": b"x" * 70_000}),
    ]


GOOD = {
    "frame": NodeFrame, "job": JobEvent, "state": NodeState, "ack": LimitAck, "meter": MeterReading,
    "forecast": PowerForecast, "plan": Plan, "command": SetLimits,
}  # fmt: skip


def test_malformed_messages_on_every_subject_are_counted_and_change_nothing(site: Site, bus: Ear):
    until(lambda: all(bus.of(kind) for name, kind in GOOD.items() if name not in ("job", "forecast")), 15)
    before_w, writes = site.limits_w(), site.writes()
    receivers = sorted({name for _, _, heard in SAID_BY.values() for name in heard})
    counted = {name: dropped(site, name) for name in receivers}
    said = dict.fromkeys(receivers, 0)

    for kind, (user, subject, heard) in SAID_BY.items():
        known = bus.of(GOOD[kind]) if kind in GOOD else []
        bodies = malformed(
            wire.encode(known[-1].message) if known else wire.encode(bus.of(NodeState)[-1].message)
        )
        with voice(site.stack.servers, user) as speaking:
            for body in bodies:
                speaking.say_raw(subject, body)
        for name in heard:
            said[name] += len(bodies)

    for name in receivers:
        until(
            lambda name=name: dropped(site, name) - counted[name] >= said[name],
            10,
            f"{name} to count {said[name]} malformed messages",
        )
    assert site.stack.dead() == []
    until(lambda: site.stack.unready() == [], 5, "every service to be ready still")
    assert site.limits_w() == before_w
    assert site.writes() == writes
    site.clean_so_far()


def test_a_job_start_becomes_frames_a_plan_a_command_limits_and_an_ack(
    site: Site, bus: Ear, record_property: pytest.FixtureRequest
):
    until(lambda: any(ack.message.accepted for ack in bus.of(LimitAck)), 10)
    begun_s = time.monotonic()
    site.tell_twin("start")

    draws = until(lambda: [f for f in bus.of(NodeFrame, begun_s) if _drawn_w(f.message) > 150.0], 10)[0]
    said = until(lambda: bus.of(JobEvent, begun_s, job="steady", change="started"), 10)[0]
    plan = until(
        lambda: [p for p in bus.of(Plan, begun_s) if any(j.job == "steady" for j in p.message.jobs)], 10
    )[0]
    raised = until(
        lambda: [
            c
            for c in bus.of(SetLimits, plan.at_s - 0.5, node="node-1")
            if all((limit.limit_w or 0.0) > MIN_W for limit in c.message.limits)
        ],
        10,
    )[0]
    command = raised.message
    answered = until(
        lambda: bus.of(LimitAck, raised.at_s - 0.5, node="node-1", epoch=command.epoch, seq=command.seq), 5
    )[0]

    ack = answered.message
    asked_w = {limit.uuid: limit.limit_w for limit in command.limits}
    assert ack.accepted
    assert {gpu.uuid: gpu.enforced_w for gpu in ack.gpus} == asked_w
    written = [
        w for w in site.guardian_writes("node-1") if (w["epoch"], w["seq"]) == (command.epoch, command.seq)
    ]
    assert {w["uuid"]: w["requested_w"] for w in written} == asked_w
    until(lambda: bus.of(PowerForecast, begun_s), 10, "a forecast")
    ack_line = until(
        lambda: [
            line
            for line in site.journal("ack")
            if (line["node"], line["epoch"], line["seq"]) == ("node-1", command.epoch, command.seq)
        ],
        5,
    )
    assert ack_line
    steps = {"job event": said, "frame with load": draws, "plan": plan, "command": raised, "ack": answered}
    figures = {name: round((step.at_s - begun_s) * 1e3) for name, step in steps.items()}
    record_property("milliseconds_since_the_job_start", figures)  # type: ignore[operator]
    print(f"\nms since the job start: {figures}")
    site.clean_so_far()


def _drawn_w(frame: NodeFrame) -> float:
    """The largest instant power in a frame's last row."""
    import numpy as np

    rows = np.frombuffer(frame.power_w, dtype="<f4").reshape(frame.samples, frame.gpu_count)
    return float(rows[-1].max()) if frame.samples else 0.0


def test_limits_drop_in_time_when_a_ups_module_fails_and_nothing_trips(site: Site, bus: Ear):
    until(lambda: min(site.limits_w()["node-1"]) > FALLBACK_W + 50, 15, "room to fall")
    failed_ns = boot_ns()

    site.tell_twin("fail_module", domain="ups", modules=2)

    hard_w = site.tell_twin("status")["hard_w"]["ups"]
    moved = until(lambda: site.journal("limit_moved", failed_ns), 5, "the coordinator to hear of it")[0]
    until(lambda: allowed_w(site) <= hard_w, 2.5, "limits under what is left")
    assert moved["after"] < moved["before"] == 1.0
    assert site.tell_twin("status")["trips"] == []
    print(f"\nheard {(moved['boottime_ns'] - failed_ns) / 1e9:.2f} s after the failure")
    time.sleep(1.0)  # past the window that the referee keeps apart
    site.clean_so_far()
    site.tell_twin("restore_module", domain="ups")
    until(
        lambda: site.journal("limit_moved", moved["boottime_ns"] + 1),
        10,
        "the coordinator to hear of the repair",
    )


def allowed_w(site: Site) -> float:
    """Wall watts that the enforced limits allow together, by the world's own numbers."""
    world, limits_w = site.stack.world, site.limits_w()
    fixed_w = sum(domain.fixed_w for domain in world.domains)
    return fixed_w + sum(n.overhead_w + n.overhead_slope * sum(limits_w[n.id]) for n in world.nodes)


def test_while_a_meter_is_silent_nothing_is_raised(site: Site, bus: Ear):
    asked_ns = boot_ns()
    until(lambda: site.raises_since(asked_ns), 20, "raises as long as it speaks")
    muted_ns = boot_ns()
    site.tell_twin("silence_meter", meter="rack-meter", silent=True)
    found = until(
        lambda: [line for line in site.journal("meter_silent", muted_ns) if line["domain"] == "pdu"], 10
    )
    silent_ns = found[0]["boottime_ns"] + UNDER_WAY_NS

    until(
        lambda: [w for w in site.journal("raise_waited", silent_ns) if "meter" in w["why"]],
        20,
        "a raise to wait",
    )
    holds(lambda: site.raises_since(silent_ns) == [], 2.0, "no raise")

    spoken_ns = boot_ns()
    site.tell_twin("silence_meter", meter="rack-meter", silent=False)
    until(lambda: site.raises_since(spoken_ns), 20, "raises with the meter back")
    site.clean_so_far()


def test_all_nodes_leave_together_where_not_all_may_be_restored_and_nothing_trips(site: Site, bus: Ear):
    names = [f"{service}-{node}" for node in NODES for service in ("actuator", "guardian")]
    begun_s = time.monotonic()

    for name in names:
        site.child(name).signal(signal.SIGTERM)
    codes = {name: site.child(name).process.wait(10) for name in names}  # type: ignore[union-attr]

    assert time.monotonic() - begun_s < 10.0
    assert {codes[f"actuator-{node}"] for node in NODES} == {0}
    left = {node: codes[f"guardian-{node}"] for node in NODES}
    assert set(left.values()) <= {0, LEFT_WITHOUT_GRANT}
    assert LEFT_WITHOUT_GRANT in left.values(), "both baselines together do not fit"
    for node, code in left.items():
        limits_w = site.limits_w()[node]
        assert limits_w == [MAX_W] * 2 if code == 0 else max(limits_w) <= FALLBACK_W
    assert {each["node"] for each in site.journal("leaving")} == set(NODES)
    assert site.tell_twin("status")["trips"] == []
    site.judged_clean()
