"""Why a GPU, job or domain is limited, as the leader answers: from what it knows, for whoever asks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_asks import Asker
from wired_site import Wired, rules

from easyrider.tree import HoldRule, LoadTarget
from easyrider_policy.explain_answers import ExplainAnswers


def told(wired: Wired, kind: str, name: str) -> dict[str, Any]:
    body = ExplainAnswers(wired.coordinator, wired.clock.now_s).of(kind, name)
    assert body is not None
    found: dict[str, Any] = json.loads(body)
    return found


async def test_a_job_is_told_which_domain_binds_it_at_what_cost_and_what_would_free_it(led: Wired) -> None:
    found = told(led, "job", "job-a")

    (binds,) = found["binds"]
    assert (found["job"], found["reason"]) == ("job-a", "target:pdu")
    assert (binds["domain"], binds["limit"]) == ("pdu", "target")
    assert binds["price"] > 0
    assert found["cost"]["slowdown"] == pytest.approx(found["slowdown"], abs=1e-3)
    assert found["cost"]["taken_board_w"] == pytest.approx(2 * found["capped_by_w"], abs=0.3)
    raised = [way for way in found["frees"] if way["act"] == "raise_target"]
    assert [(way["place"], way["by_w"] > 0) for way in raised] == [("pdu", True)]


async def test_a_domain_is_told_whom_it_binds_and_one_that_binds_nobody_says_so(led: Wired) -> None:
    pdu, ups = told(led, "domain", "pdu"), told(led, "domain", "ups")

    assert {job["job"] for job in pdu["jobs"]} == {"job-a", "job-b"}
    assert pdu["bound_jobs"] == 2
    assert pdu["binds"]["price"] > 0
    assert (pdu["hard_limit_w"], pdu["target_w"]) == (2400.0, 2280.0)
    assert (ups["binds"], ups["bound_jobs"], ups["taken_wall_w"]) == (None, 0, 0.0)


async def test_a_gpu_is_told_its_own_state_and_the_answer_of_its_job(led: Wired) -> None:
    found = told(led, "gpu", "a0")

    assert (found["node"], found["domains"], found["mode"]) == ("a", ["pdu", "ups"], "enforce")
    assert (found["reason"], found["job"]["job"]) == ("target:pdu", "job-a")
    assert found["limit_w"] == found["enforced_w"] == pytest.approx(led.boxes["a"].limit_w[0], abs=0.1)
    assert any(way["act"] == "raise_target" for way in found["frees"])


async def test_a_gpu_that_nobody_limits_says_so_and_names_the_mode_as_what_to_change() -> None:
    wired = Wired(rules(mode="observe"))
    await wired.seconds(4)

    found = told(wired, "gpu", "a0")

    assert found["reason"] == "not_ours"
    assert "change_mode" in {way["act"] for way in found["frees"]}
    assert found["job"] is None


async def test_a_gpu_of_a_silent_node_names_the_node(led: Wired) -> None:
    led.boxes["a"].dumb = True
    await led.seconds(25)

    found = told(led, "gpu", "a0")

    assert found["reason"] == "silent:a"
    assert ("restore_node", "a") in {(way["act"], way["place"]) for way in found["frees"]}


async def test_a_hold_and_a_load_target_are_ways_out_of_the_domain_that_they_are_on(led: Wired) -> None:
    night = LoadTarget(
        id="night",
        domain="pdu",
        target_w=1500.0,
        begins="1970-01-01T00:00:00Z",
        ends="2100-01-01T00:00:00Z",
    )
    hold = HoldRule(id="hall-2", domains=("pdu",), reason="smoke", by="ann")
    led.picture.accept(replace(rules(2), holds=(hold,), targets=(night,)))
    await led.seconds(4)

    ways = {(way["act"], way["place"]) for way in told(led, "domain", "pdu")["frees"]}

    assert ("clear_hold", "hall-2") in ways
    assert ("end_load_target", "night") in ways


@pytest.mark.parametrize("kind", ["gpu", "job", "domain"])
async def test_what_is_not_known_is_refused_with_its_name(led: Wired, tmp_path: Path, kind: str) -> None:
    answer = await Asker(led, tmp_path).says(f"explain_{kind}", "nowhere")

    assert answer is not None
    assert not answer.ok
    assert answer.reason == f"no {kind} 'nowhere' is known here"


@pytest.mark.parametrize(("kind", "name"), [("gpu", "a0"), ("job", "job-a"), ("domain", "pdu")])
async def test_the_leader_answers_each_and_number_for_number_as_json(
    led: Wired, tmp_path: Path, kind: str, name: str
) -> None:
    body = await Asker(led, tmp_path).body(f"explain_{kind}", name)

    assert body[kind] == name or kind == "gpu"
    assert body["frees"] == told(led, kind, name)["frees"]
