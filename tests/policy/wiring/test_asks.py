"""What the admin API asks, the leader answers; nobody else does, and control does not wait for it."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wired_box import REGION, TREE
from wired_site import Wired, rules

from easyrider.messages import Answer, Ask
from easyrider.tree import HoldRule, LoadTarget
from easyrider.tree_reader import digest, dump
from easyrider_policy.adapters.rules_folder import RulesFolder
from easyrider_policy.asks import AskDesk
from easyrider_policy.dark_regions import DarkRegions
from easyrider_policy.rulebook import Rulebook


class Asker:
    """Asks the coordinator of a wired site."""

    def __init__(self, wired: Wired, folder: Path) -> None:
        self.wired = wired
        kept = RulesFolder(folder)
        kept.open()
        book = Rulebook(
            wired.store, kept, wired.picture, TREE, wired.scribe.note, wired.news.say, lambda: None
        )
        dark = DarkRegions(wired.store, wired.picture, TREE, wired.scribe.note, wired.clock.now_s)
        self.desk = AskDesk(
            wired.coordinator, book, wired.scribe.note, lambda: wired.clock.at_s, lambda: 7, dark
        )

    async def says(self, what: Any, name: str = "", region: str = REGION, tree: str = TREE) -> Answer | None:
        return await self.desk.answer(Ask(tree=tree, region=region, what=what, name=name, who="ann"))

    async def body(self, what: Any, name: str = "") -> Any:
        answer = await self.says(what, name)
        assert answer is not None
        assert answer.ok, answer.reason
        return json.loads(answer.body)


@pytest.fixture
def asker(led: Wired, tmp_path: Path) -> Asker:
    return Asker(led, tmp_path)


async def test_the_state_tells_every_board_node_domain_meter_and_who_leads(asker: Asker) -> None:
    state = await asker.body("state")

    assert state["lead"]["phase"] == "leading"
    assert state["rules"] == {"id": TREE, "version": 1, "unfit": []}
    assert [d["domain"] for d in state["domains"]] == ["ups", "pdu"]
    pdu = state["domains"][1]
    assert (pdu["hard_limit_w"], pdu["closed"], pdu["sum_rule"]) == (2400.0, True, "proved")
    assert pdu["counted_w"] + pdu["room_w"] == pytest.approx(2400.0, abs=0.1)
    assert [(n["node"], n["boards"], n["epoch"], n["silent"], n["place"]) for n in state["nodes"]] == [
        ("a", 2, 1, False, "here"),
        ("b", 2, 1, False, "here"),
    ]
    board = state["boards"][0]
    assert (board["uuid"], board["node"], board["mode"], board["job"]) == ("a0", "a", "enforce", "job-a")
    limit_w = asker.wired.boxes["a"].limit_w[0]
    assert board["limit_w"] == board["enforced_w"] == board["requested_w"] == pytest.approx(limit_w, abs=0.1)
    assert board["power_w"] == pytest.approx(min(600.0, limit_w), abs=0.1)
    (meter,) = state["meters"]
    assert (meter["domain"], meter["silent"], meter["gated"]) == ("pdu", False, True)
    assert [job["job"] for job in state["jobs"]] == ["job-a", "job-b"]
    assert state["left_out"] == {"boards": 0, "jobs": 0}


async def test_a_domain_with_boards_that_nobody_limits_says_how_many(tmp_path: Path) -> None:
    wired = Wired(rules(mode="observe"))
    await wired.seconds(4)

    pdu = (await Asker(wired, tmp_path).body("state"))["domains"][1]

    assert not pdu["closed"]
    assert pdu["sum_rule"] == "sum rule not provable here: 4 GPUs not controlled"


async def test_what_is_not_known_is_null_and_never_zero(tmp_path: Path) -> None:
    wired = Wired()
    await wired.seconds(0.2)
    await wired.leadership.once(wired.now_s)
    for box in wired.boxes.values():
        box.dumb = True
    await wired.seconds(5)
    state = await Asker(wired, tmp_path).body("state")

    assert all(board["power_w"] is None for board in state["boards"])
    assert state["meters"][0]["age_s"] is None
    assert {node["silent"] for node in state["nodes"]} == {True}


async def test_a_job_is_told_by_how_much_it_is_capped_why_and_at_what_cost(asker: Asker) -> None:
    (job,) = (await asker.body("jobs", "job-a"))["jobs"]

    assert (job["gpu_count"], job["gpus"], job["nodes"]) == (2, ["a0", "a1"], ["a"])
    assert job["capped_by_w"] == pytest.approx(max(0.0, job["demand_w"] - job["limit_w"]), abs=0.1)
    assert job["capped_by_w"] > 0
    assert 0.0 < job["duty_ratio"] <= 1.0
    assert 0 < job["slowdown"] < 1
    assert job["reason"] == "target:pdu"


async def test_an_unknown_job_or_node_is_said_to_be_unknown(asker: Asker) -> None:
    job, node = await asker.says("jobs", "nobody's"), await asker.says("state", "attic")

    assert job is not None
    assert (job.ok, job.body) == (False, b"")
    assert "no job" in job.reason
    assert node is not None
    assert "no node" in node.reason


async def test_holds_targets_and_what_cannot_be_met_are_told(led: Wired, asker: Asker) -> None:
    wish = LoadTarget(
        id="low", domain="pdu", begins="2020-01-01T00:00:00Z", ends="2120-01-01T00:00:00Z", target_w=700
    )
    led.picture.accept(
        replace(rules(2), holds=(HoldRule(id="red", domains=("ups",), by="ann"),), targets=(wish,))
    )
    await led.seconds(8)

    state = await asker.body("state")

    assert state["holds"][0]["by"] == "ann"
    assert [domain["held"] for domain in state["domains"]] == [["red"], ["red"]]
    assert state["targets"][0]["id"] == "low"
    assert state["infeasible"]["pdu"] == state["targets"][0]["missing_w"] > 100
    assert [(d["target_w"], d["own_target_w"]) for d in state["domains"]] == [
        (4800.0, 4800.0),
        (700.0, 2280.0),
    ]


async def test_rules_are_looked_for_when_asked_and_faults_are_named(led: Wired, asker: Asker) -> None:
    await led.store.save_rules(TREE, 2, dump(rules(2, pdu_w=2300.0)))
    judged = await asker.says("rules")
    again = await asker.body("rules")
    await led.store.save_rules(TREE, 3, dump(rules(3, pdu_w=900.0)))
    refused = await asker.says("rules")

    held = digest(dump(rules(2, pdu_w=2300.0)))
    assert judged is not None
    assert (judged.version, json.loads(judged.body)) == (2, {"version": 2, "adopted": True, "sha256": held})
    assert again == {"version": 2, "adopted": False, "sha256": held}
    assert refused is not None
    assert (refused.ok, refused.version, refused.body) == (False, 2, b"")
    assert "pdu" in refused.reason
    assert "version 2 stays in force" in refused.reason


async def test_of_two_documents_with_one_version_the_answer_tells_which_is_in_force(
    led: Wired, asker: Asker
) -> None:
    led.picture.accept(rules(2, pdu_w=2300.0))
    await led.seconds(1)
    saved = dump(replace(rules(2), holds=(HoldRule(id="red"),)))
    await led.store.save_rules(TREE, 2, saved)

    told = await asker.body("rules")

    assert led.picture.rules == rules(3, pdu_w=2300.0)
    assert told["version"] == 3
    assert told["sha256"] == digest(dump(rules(3, pdu_w=2300.0))) != digest(saved)


async def test_a_store_that_does_not_answer_is_told(led: Wired, asker: Asker) -> None:
    led.store.silent = True
    answer = await asker.says("rules")

    assert answer is not None
    assert not answer.ok
    assert "could not be read" in answer.reason


async def test_who_does_not_lead_is_silent_and_so_is_who_is_asked_about_another_place(
    led: Wired, asker: Asker
) -> None:
    assert await asker.says("state", region="elsewhere") is None
    assert await asker.says("state", tree="another") is None
    led.picture.safety.not_ours()
    assert await asker.says("state") is None


async def test_a_node_that_speaks_is_not_freed_and_one_that_is_dark_is(led: Wired, asker: Asker) -> None:
    speaks = await asker.says("free", "a")
    led.boxes["a"].dumb = True
    led.running.clear()
    await led.seconds(25)
    rows = led.picture.fleet.gpus_of(0)
    before_w = led.picture.safety.ledger.counted_w(led.now_s)[rows].sum()
    freed = await asker.body("free", "a")
    after_w = led.picture.safety.ledger.counted_w(led.now_s)[rows].sum()

    assert speaks is not None
    assert not speaks.ok
    assert "was heard" in speaks.reason
    # No boot guard: silent, it counts device maximum, and what boards may draw above a limit.
    assert (before_w, after_w) == (pytest.approx(1.03 * 1400.0), 0.0)
    assert freed == {"node": "a", "freed_w": pytest.approx(1.03 * 1400.0)}
    await led.seconds(0.2)
    assert led.journal.of("node_freed")[0]["who"] == "ann"

    led.boxes["a"].dumb = False
    await led.seconds(1.2)
    assert led.picture.safety.ledger.counted_w(led.now_s)[rows].sum() > 0


async def test_of_a_node_that_left_the_booking_ends_when_it_is_freed(led: Wired, asker: Asker) -> None:
    ledger = led.picture.safety.ledger
    ledger.booked(np.array([0, 1]), np.array([700.0, 700.0]))
    led.boxes["a"].dumb = True
    await led.seconds(25)
    await asker.body("free", "a")

    assert led.picture.safety.ledger.counted_w(led.now_s)[:2].sum() == 0.0
    assert (await asker.says("free", "a")).reason.startswith("a counts nothing already")  # type: ignore[union-attr]


async def test_a_board_on_its_way_back_is_told_with_what_it_lacks(led: Wired, asker: Asker) -> None:
    for box in led.boxes.values():
        box.baseline_w = 700.0
    led.picture.accept(replace(led.picture.rules, version=2, holds=(HoldRule(id="red"),), modes=()))
    await led.seconds(3)

    releases = (await asker.body("state"))["releases"]

    assert [(r["node"], r["why"], r["baseline_w"], r["whole"]) for r in releases] == [
        ("a", "hold:red", 1400.0, False),
        ("b", "hold:red", 1400.0, False),
    ]
    assert releases[0]["missing_w"]["pdu"] > 0


async def test_one_document_serves_all_who_ask_within_a_moment(asker: Asker) -> None:
    first = await asker.says("state")
    second = await asker.says("state")
    asker.wired.clock.at_s += 0.3
    third = await asker.says("state")

    assert first is not None and second is not None and third is not None  # noqa: PT018
    assert first.body is second.body
    assert third.body is not first.body


async def test_an_answer_lets_the_loop_have_its_turn_between_its_parts(led: Wired, asker: Asker) -> None:
    turns = 0

    async def loop() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(loop())
    await asker.says("state")
    beside.cancel()

    assert turns >= 4


async def test_what_changes_while_an_answer_is_made_breaks_none(led: Wired, asker: Asker) -> None:
    asked = asyncio.create_task(asker.body("state"))
    await asyncio.sleep(0)
    led.starts("job-c", "b")
    await led.look()

    assert (await asked)["lead"]["phase"] == "leading"
