"""An API of a scope that lends: questions reach the region that knows, edits are in force when all have them."""

import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from inner_house import Inner
from site_rules import REGION, STATE, TREE, Leader, document

from easyrider.bus_port import Arrival
from easyrider.messages import Answer, Ask, Plan
from easyrider.messages.plans import RegionPlan
from easyrider.tree_reader import digest, dump, read_document
from easyrider_policy_api import regional
from easyrider_policy_api.rules_desk import RulesDesk

REGIONS = [
    {"id": REGION},
    {"id": "hall", "parent": REGION, "domain": "pdu", "guaranteed_w": 3000.0},
]
LENT = RegionPlan(
    region="hall", domain="pdu", granted_w=6000.0, target_w=5000.0, guaranteed_w=3000.0, counted_w=6000.0,
    observed_w=None, silent=False,
)  # fmt: skip
JOB = {
    "job": "far",
    "tenant": "",
    "queue": "",
    "gpus": [],
    "reason": "natural",
    "limit_w": 500.0,
    "demand_w": 600.0,
}


def row(domain: str, hard_w: float, room_w: float, **other: Any) -> dict[str, Any]:
    return {
        "domain": domain,
        "hard_limit_w": hard_w,
        "room_w": room_w,
        "held": [],
        "governed_by": "",
        "regions": [],
    } | other


class Scopes:
    """Leaders of both scopes. `deaf`: the region's answers to nothing; `stuck`: its rules are those of before."""

    def __init__(self, api: Inner) -> None:
        self.api, self.deaf, self.stuck, self.asked = api, False, False, list[tuple[str, str]]()
        self.room_w = 5000.0

    def state(self, region: str) -> dict[str, Any]:
        whole = {"region": region, "jobs": [], "boards": [], "nodes": [], "left_out": {"boards": 0}}
        if region == REGION:
            return whole | {
                "domains": [
                    row("feed", 20000.0, self.room_w, regions=["hall"]),
                    row("pdu", 9000.0, 3000.0, governed_by="hall", regions=["hall"]),
                ],
                "regions": [{"region": "hall", "domain": "pdu"}],
            }
        boards = copy.deepcopy(STATE["boards"])
        for board in boards:
            board |= {"controlled": True, "counted_w": 520.0, "baseline_w": 700.0, "overshoot": 1.0}
        return whole | {
            "boards": boards,
            "nodes": [{"node": name, "held": False} for name in ("n1", "n2")],
            "domains": [row("pdu", 6000.0, 0.0)],
        }

    async def answer(self, ask: Ask) -> Answer | None:
        self.asked.append((ask.region, ask.what))
        here = ask.region == "hall"
        if here and self.deaf:
            return self.say(ask, None)
        if ask.what == "rules":
            version, body = await self.api.store.load_rules(TREE) or (0, b"")
            if here and self.stuck:
                return self.say(ask, {"sha256": ""}, version - 1)
            return self.say(ask, {"sha256": digest(dump(read_document(json.loads(body), "store")))}, version)
        if ask.what == "state":
            return self.say(ask, self.state(ask.region))
        if ask.what == "jobs":
            return self.say(
                ask, {"jobs": [JOB] if here else [], "left_out": 0} | ({} if here else {"regions": ["hall"]})
            )
        if ask.what == "explain_domain" and ask.name == "pdu":
            frees: list[object] = []
            return self.say(
                ask, {"domain": "pdu", "binds": None, "frees": frees, "governed_by": "" if here else "hall"}
            )
        if ask.what == "explain_job" and ask.name == "far" and here:
            return self.say(ask, JOB | {"binds": [], "cost": None, "frees": []})
        return self.say(ask, None)

    def say(self, ask: Ask, body: Any, version: int = 2) -> Answer:
        return Answer(
            tree=TREE,
            region=ask.region,
            ok=body is not None,
            reason="" if body is not None else f"{ask.name!r} is not known here",
            epoch=3,
            version=version,
            t_ns=1,
            body=b"" if body is None else json.dumps(body).encode(),
        )


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inner]:
    """The API of the top, with coordinators of both scopes."""
    found: list[Scopes] = []

    async def answer(_leader: Leader, ask: Ask) -> Answer | None:
        return await found[0].answer(ask)

    monkeypatch.setattr(Leader, "answer", answer)
    async with Inner.open(tmp_path) as inner:
        found.append(Scopes(inner))
        await inner.bus.answer("hall", found[0].answer)
        await inner.store.save_rules(TREE, 2, dump(read_document(document(regions=REGIONS), "test")))
        inner.scopes = found[0]  # type: ignore[attr-defined]
        yield inner


@pytest.fixture
def scopes(api: Inner) -> Scopes:
    return api.scopes  # type: ignore[attr-defined, no-any-return]


async def test_a_job_of_a_region_is_found_and_listed_with_its_region(api: Inner, scopes: Scopes) -> None:
    listed, one = await api.ask("GET", "/jobs"), await api.ask("GET", "/jobs/far")

    assert [(job["job"], job["region"]) for job in listed.json()["jobs"]] == [("far", "hall")]
    assert one.status_code == 200, one.text
    assert (await api.ask("GET", "/explain/jobs/far")).json()["region"] == "hall"


async def test_an_explanation_of_a_domain_comes_from_the_region_that_has_it(
    api: Inner, scopes: Scopes
) -> None:
    told = (await api.ask("GET", "/explain/domains/pdu")).json()

    assert (told["region"], told["governed_by"]) == ("hall", "")


async def test_a_region_that_is_none_is_refused_with_those_there_are(api: Inner, scopes: Scopes) -> None:
    for path in ("/state", "/plan", "/jobs", "/explain/jobs/far", "/advice/offsets"):
        answer = await api.ask("GET", path, params={"region": "nope"})

        assert answer.status_code == 404, path
        assert "hall" in answer.json()["detail"]
    assert (await api.ask("GET", "/state", params={"region": "hall"})).json()["region"] == "hall"


async def test_a_release_is_foretold_from_the_boards_of_the_region(api: Inner, scopes: Scopes) -> None:
    scopes.room_w = -5000.0

    answer = await api.ask("POST", "/release", "operator", json={"scope": {}})

    assert answer.status_code == 409, answer.text
    assert answer.json()["type"].endswith("sums-forbid")
    # Of the feed's 20,000 W the parent counts 25,000, 6,000 of them for the hall, which counts those itself.
    assert answer.json()["missing_w"]["feed"] == pytest.approx(8 * 180 * 1.2 + 5000.0)


async def test_a_release_that_cannot_be_foretold_is_done_for_a_reason_only(
    api: Inner, scopes: Scopes
) -> None:
    scopes.deaf = True

    refused = await api.ask("POST", "/release", "operator", json={"scope": {}})
    done = await api.ask(
        "POST", "/release", "operator", json={"scope": {}, "override": "hall is being rebuilt"}
    )

    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (409, "not-foretold")
    assert "hall" in refused.json()["detail"]
    assert done.status_code in (200, 202), done.text


async def test_a_hold_is_in_force_when_every_region_has_it(api: Inner, scopes: Scopes) -> None:
    held = await api.ask("POST", "/holds", "operator", json={"reason": "smoke"})
    scopes.stuck = True
    waits = await api.ask("POST", "/holds", "operator", json={"reason": "more smoke"})

    assert ("hall", "rules") in scopes.asked
    assert (held.status_code, held.json()["adoption"]) == (201, "adopted")
    assert (waits.status_code, waits.json()["adoption"]) == (202, "pending")
    assert "hall" in waits.json()["why"]


async def test_a_node_of_a_region_is_freed_by_its_own_coordinator(api: Inner, scopes: Scopes) -> None:
    await api.ask("POST", "/nodes/n1/free", "operator")

    assert ("hall", "free") in scopes.asked
    assert (REGION, "free") not in scopes.asked


def said(api: Inner, region: str, seq: int, *, lends: bool = False, tree: str = TREE) -> None:
    """A plan as the bus brings it."""
    plan = Plan(
        region=region, tree=tree, tree_version=1, epoch=1, seq=seq, t_ns=0, mono_ns=0, cause="period", leading=True,
        domains=(), jobs=(), idle_gpus=0, lowers=0, raises=0, raises_waiting=0, silent_nodes=(), reactive=False,
        gap=None, plan_ms=1.0, regions=(LENT,) if lends else (),
    )  # fmt: skip
    api.link.on_plan(plan, Arrival("plan", 0))


async def test_plans_of_regions_are_gathered_beside_that_of_the_scope(api: Inner, scopes: Scopes) -> None:
    said(api, REGION, 7, lends=True)
    quiet = (await api.ask("GET", "/plan")).json()
    api.mono_s += 2.0
    said(api, "hall", 31)
    said(api, "hall", 99, tree="another")

    told = (await api.ask("GET", "/plan")).json()

    assert (quiet["below"], quiet["silent_regions"]) == ([], ["hall"])
    assert (told["plan"]["seq"], told["age_s"], told["silent_regions"]) == (7, 2.0, [])
    assert [(row["region"], row["age_s"], row["plan"]["seq"]) for row in told["below"]] == [("hall", 0.0, 31)]


async def test_a_region_that_said_no_plan_for_three_periods_is_told_as_silent_beside_its_last_word(
    api: Inner, scopes: Scopes
) -> None:
    said(api, "hall", 31)
    heard = {}
    for after_s in (2.9, 0.2):
        api.mono_s += after_s
        said(api, REGION, 7, lends=True)
        heard[after_s] = (await api.ask("GET", "/plan")).json()
    alone = (await api.ask("GET", "/plan", params={"region": "hall"})).json()
    api.mono_s += 35.0
    all_stopped = (await api.ask("GET", "/plan")).json()

    assert heard[2.9]["silent_regions"] == []
    assert heard[0.2]["silent_regions"] == ["hall"]
    assert [row["plan"]["seq"] for row in heard[0.2]["below"]] == [31]
    assert alone["silent_regions"] == ["hall"]
    assert all_stopped["silent_regions"] == sorted(["hall", REGION])


async def test_without_a_store_regions_are_those_that_the_last_plan_tells_of(
    api: Inner, scopes: Scopes
) -> None:
    said(api, "hall", 31)
    api.mono_s += 3.1
    said(api, REGION, 7, lends=True)
    api.store.silent = "no answer in 2 s"

    found = await regional.plans(RulesDesk(api.store, TREE, api.link, api.auditor, lambda: 0.0), api.link, "")

    assert (list(found.below), found.silent) == (["hall"], ["hall"])


async def test_the_plan_of_a_region_is_told_alone_and_its_silence_too(api: Inner, scopes: Scopes) -> None:
    said(api, REGION, 7, lends=True)
    silent = await api.ask("GET", "/plan", params={"region": "hall"})
    said(api, "hall", 31)

    told = await api.ask("GET", "/plan", params={"region": "hall"})

    assert (silent.status_code, told.status_code) == (503, 200)
    assert "hall" in silent.json()["detail"]
    assert told.json()["plan"]["seq"] == 31
    assert "below" not in told.json()
