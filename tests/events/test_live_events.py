"""Each kind of event on a running site: something happens, its owner says so, the stream keeps it for a stranger."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from live_bus import Supply, voice
from live_site import METERS, Site, site_up, small_world, start_jobs, training, until
from stream_reader import assert_cloudevent, kept, promised

from easyrider import event_kinds, subjects
from easyrider.event_kinds import KINDS
from easyrider.messages import HorizonForecast, PowerForecast, SeriesForecast
from easyrider.store import Store
from easyrider.store_port import Login
from easyrider.tree import HoldRule, LoadTarget, ModeRule, Rules
from easyrider.tree_reader import dump, read
from easyrider_twin import library
from easyrider_twin.world import Job

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

SAID_ELSEWHERE = {"audit", "demand_interval", "policy_refused", "gate_met", "trust_lost"}
"""By the admin API, at the quarter of an hour of a billed domain, of a plug-in policy, and after days or minutes in
one mode; their own tests hold them."""
ROGUE = """
import sys
from pynvml import *
nvmlInit()
for index in range(nvmlDeviceGetCount()):
    nvmlDeviceSetPowerManagementLimit(nvmlDeviceGetHandleByIndex(index), 700000)
"""
Data = dict[str, Any]


class Stream:
    """The events of a site, asked for again until one is there."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        servers = self.site.stack.servers
        return kept(servers.nats.url, servers.seed("integration"))

    def of(self, kind: str) -> list[Data]:
        return [event["data"] for subject, event in self.events() if subject.split(".")[3] == kind]

    def wait(self, kind: str, such: Callable[[Data], bool], within_s: float = 20.0) -> Data:
        def found() -> list[Data]:
            return [data for data in self.of(kind) if such(data)]

        first: Data = until(found, within_s, f"event {kind}", every_s=0.3)[0]
        return first


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    jobs = tuple(
        Job(id=f"job-{k}", type_key="llm", gpus={f"node-{k}": (0, 1)}, program=training(k)) for k in (1, 2)
    )
    world = small_world(meters=METERS, jobs=jobs)
    with site_up(Path(tmp_path_factory.mktemp("w")), world) as running:
        start_jobs(running)
        yield running


@pytest.fixture(scope="module")
def stream(site: Site) -> Stream:
    return Stream(site)


def test_a_lead_that_is_taken(stream: Stream) -> None:
    assert stream.wait("leader_change", lambda data: data["epoch"] >= 1)


def test_a_meter_that_falls_silent(site: Site, stream: Stream) -> None:
    site.tell_twin("silence_meter", meter="rack-meter", silent=True)

    stream.wait("meter", lambda data: data["meter"] == "rack-meter" and data["condition"] == "silent")
    stream.wait("meter_silent", lambda data: data == {"domain": "pdu", "silent": True})
    site.tell_twin("silence_meter", meter="rack-meter", silent=False)
    stream.wait("meter_silent", lambda data: data == {"domain": "pdu", "silent": False})


def test_a_supply_module_that_fails_and_comes_back(site: Site, stream: Stream) -> None:
    site.tell_twin("fail_module", domain="ups", modules=1)

    lost = stream.wait("facility", lambda data: data["what"] == "module_lost")
    assert (lost["modules_ok"], lost["modules_before"], lost["modules_total"]) == (4, 5, 5)
    stream.wait("limit_drop", lambda data: data["domain"] == "ups" and data["share"] == pytest.approx(0.8))
    site.tell_twin("restore_module", domain="ups")
    stream.wait("facility", lambda data: data["what"] == "module_back")
    stream.wait("limit_back", lambda data: data["domain"] == "ups" and data["share"] == 1.0)


def test_a_domain_that_cannot_be_kept_draws_too_much_and_its_jobs_yield_beyond_their_class(
    site: Site, stream: Stream
) -> None:
    until(lambda: max(map(max, site.limits_w().values())) > 300.0, 60, "limits with room to fall")
    site.child("infra-bridge").end()

    with voice(site.stack.servers, "infra-bridge") as speaking:
        supply = Supply(speaking)
        end_s = time.monotonic() + 25.0
        while time.monotonic() < end_s and not (stream.of("infeasible") and stream.of("slowed")):
            supply.say(1)  # one module of five, as told: the rack itself is fed by all of them
            time.sleep(0.5)
        infeasible = stream.wait("infeasible", lambda data: data["missing_w"] > 0)
        slowed = stream.wait("slowed", lambda data: data["beyond"])
        above = stream.wait("excursion", lambda data: data["above"])
        for _ in range(3):
            supply.say(5)
            time.sleep(0.5)

    site.stack.start("infra-bridge")
    assert infeasible["domain"] == "ups"
    assert slowed["slowdown"] > slowed["max_slowdown"]
    assert above["observed_w"] > above["target_w"]


def forecast(seq: int) -> PowerForecast:
    """A forecast that is sure of itself, of both jobs."""
    sure = HorizonForecast(horizon_s=10.0, mean_w=800.0, peak_w=900.0, peak_q90_w=910.0, peak_q99_w=950.0)
    series = tuple(
        SeriesForecast(
            scope="job", id=f"job-{k}", gpu_count=2, draw=(sure,), demand=(sure,), period_s=2.0, confidence=1.0,
            reasons=(), model="test", censored=0.0, basis="observed",
        )
        for k in (1, 2)
    )  # fmt: skip
    return PowerForecast(
        region="local", boot_id="forecaster", seq=seq, t_ns=0, mono_ns=time.monotonic_ns(), series=series
    )


def test_forecasts_that_earn_trust_and_lose_it(site: Site, stream: Stream) -> None:
    site.stack.children.pop("forecaster").end()

    with voice(site.stack.servers, "forecaster") as speaking:

        def earned() -> bool:
            for _ in range(4):
                speaking.say(subjects.forecast("local"), forecast(time.monotonic_ns()))
                time.sleep(0.25)
            return any(not data["reactive"] for data in stream.of("reactive"))

        until(earned, 60, "trust")

    lost = stream.wait("reactive", lambda data: data["reactive"], 30.0)
    assert lost["why"]


def test_limits_that_somebody_else_writes_and_the_demotion_that_follows_a_quarrel(
    site: Site, stream: Stream
) -> None:
    environ = {
        **os.environ,
        "EASYRIDER_TWIN_STATE": str(site.folder.gpu_state("node-1")),
        "EASYRIDER_TWIN_PRIVILEGED": "1",
        "LD_LIBRARY_PATH": str(library.folder()),
    }
    before_w = site.limits_w()["node-1"]

    end_s = time.monotonic() + 60.0
    while not stream.of("demotion"):  # one alone demotes nobody
        assert time.monotonic() < end_s, "nobody noticed who else sets limits"
        subprocess.run([sys.executable, "-c", ROGUE], env=environ, check=True, timeout=30)
        until(lambda: max(site.limits_w()["node-1"]) < 700.0 or stream.of("demotion"), 10, "it taken back")

    drift = stream.wait("drift", lambda data: data["node"] == "node-1")
    assert drift["cause"] == "reverted_to_default", "700 W is this board's default"
    assert drift["requested_before_w"] < 700.0 == drift["requested_w"]
    demotion = stream.wait("demotion", lambda data: data["node"] == "node-1")
    assert (demotion["cause"], len(demotion["gpus"])) == ("drift", 2)
    assert min(before_w) < 700.0


def test_an_error_of_a_board_and_the_demotion_of_its_node(site: Site, stream: Stream) -> None:
    site.tell_twin("gpu_fault", node="node-2", gpu=0, xid=79)

    assert stream.wait("xid", lambda data: data["node"] == "node-2")["xid"] == 79
    demotion = stream.wait("demotion", lambda data: data["node"] == "node-2")
    assert (demotion["cause"], demotion["until_version"]) == ("xid", 1)


def put_rules(site: Site, change: Callable[[Rules], Rules]) -> None:
    """Newer rules into the store, as the admin API does."""
    shown = site.stack.servers.store("admin")

    async def put() -> None:
        login = Login(str(shown["redis_user"]), Path(str(shown["redis_password_file"])))
        async with Store.connect(str(shown["redis_url"]), login=login, deadline_s=5.0) as store:
            held = await store.load_rules("site")
            assert held is not None
            rules = change(read(held[1].decode(), "the store"))
            await store.save_rules("site", held[0] + 1, dump(dataclasses.replace(rules, version=held[0] + 1)))

    asyncio.run(put())


def test_newer_rules_that_change_modes_hold_raises_and_set_a_target(site: Site, stream: Stream) -> None:
    now = datetime.now(UTC)
    hold = HoldRule(id="work", domains=("pdu",), reason="work on the feed", by="ada")
    target = LoadTarget(
        id="evening",
        domain="pdu",
        begins=(now - timedelta(seconds=1)).isoformat(timespec="seconds"),
        ends=(now + timedelta(seconds=20)).isoformat(timespec="seconds"),
        target_w=2600.0,
        reason="the grid asked",
        by="ada",
    )

    put_rules(site, lambda rules: dataclasses.replace(
        rules, holds=(hold,), targets=(target,), modes=(ModeRule(selector={"node": ("*",)}, mode="pilot"),)
    ))  # fmt: skip

    moved = stream.wait("mode_change", lambda data: data["to"] == "pilot")
    assert (moved["from"], moved["gpus"], moved["version"]) == ("enforce", 4, 2)
    held = stream.wait("hold", lambda data: data["id"] == "work")
    assert (held["held"], held["domains"], held["by"]) == (True, ["pdu"], "ada")
    begun = stream.wait("target", lambda data: data["id"] == "evening")
    assert (begun["domain"], begun["target_w"]) == ("pdu", 2600.0)
    enforce = (ModeRule(selector={"node": ("*",)}, mode="enforce", override="as it was before"),)
    put_rules(site, lambda rules: dataclasses.replace(rules, holds=(), targets=(), modes=enforce))
    stream.wait("hold", lambda data: data["id"] == "work" and not data["held"])
    back = stream.wait("mode_change", lambda data: data["to"] == "enforce")
    assert (back["gate"], back["override"]) == ("overridden", "as it was before")


def test_a_node_that_falls_silent_and_speaks_again(site: Site, stream: Stream) -> None:
    site.child("actuator-node-1").signal(signal.SIGSTOP)

    stream.wait("node_silent", lambda data: data == {"node": "node-1", "silent": True}, 30.0)
    site.child("actuator-node-1").signal(signal.SIGCONT)
    stream.wait("node_silent", lambda data: data == {"node": "node-1", "silent": False})


def test_a_node_that_leaves(site: Site, stream: Stream) -> None:
    site.child("guardian-node-2").signal(signal.SIGTERM)

    stream.wait("leaving", lambda data: data["node"] == "node-2")


def test_a_lead_that_changes_hands(site: Site, stream: Stream) -> None:
    epochs = [data["epoch"] for data in stream.of("leader_change")]
    site.child("policy").signal(signal.SIGKILL)
    until(lambda: not site.child("policy").running(), 5)

    site.stack.start("policy")

    stream.wait("leader_change", lambda data: data["epoch"] > max(epochs), 30.0)


def test_every_kept_event_is_a_cloudevent_of_a_catalogued_kind_and_every_kind_was_said(
    stream: Stream,
) -> None:
    seen: set[str] = set()
    told = stream.events()

    for subject, event in told:
        assert_cloudevent(subject, event, seen)
        event_kinds.check(subject.split(".")[3], event["data"])
        promised(subject.split(".")[3]).validate(event)
        owner = KINDS[subject.split(".")[3]].said_by
        assert event["source"].split("/")[0] == owner

    said = {subject.split(".")[3] for subject, _event in told}
    assert said == KINDS.keys() - SAID_ELSEWHERE
    epochs = [event["data"]["epoch"] for subject, event in told if ".leader_change." in subject]
    assert len(epochs) == len(set(epochs)), "each lead once"
    assert len(told) < 120, "changes are told, not states"
