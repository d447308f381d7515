"""Advice over the API: what the leader answers, for whoever may read the whole site."""

import json

import pytest
from inner_house import Inner


async def test_offsets_are_told_by_domain_with_the_watts_that_they_avoid(api: Inner) -> None:
    told = (await api.ask("GET", "/advice/offsets", "viewer")).json()

    (domain,) = told["domains"]
    assert (domain["domain"], domain["avoided_w"]) == ("pdu", 400.0)
    assert [job["offset_s"] for job in domain["groups"][0]["jobs"]] == [0.0, 3.0]
    assert told["age_s"] >= 0


async def test_a_job_that_is_asked_about_reaches_the_leader(api: Inner) -> None:
    told = (await api.ask("GET", "/advice/fragmentation?gpus=8&peak_w=650", "viewer")).json()

    assert (told["largest"], told["in_sum"], told["branches"][0]["binds"]) == (2, 3, "target:pdu")
    assert json.loads(api.leader.asked[-1].name) == {"gpus": 8, "peak_w": 650.0}


async def test_nodes_that_heat_slows_are_told_with_where_their_work_could_go(api: Inner) -> None:
    told = (await api.ask("GET", "/advice/cooling", "viewer")).json()

    assert told["nodes"] == [{"node": "a", "boards": 2, "hottest_c": 88.0, "to": ["b"]}]


async def test_with_no_job_the_branches_alone_are_asked_for(api: Inner) -> None:
    assert (await api.ask("GET", "/advice/fragmentation", "viewer")).status_code == 200

    assert (api.leader.asked[-1].what, api.leader.asked[-1].name) == ("advice_fragmentation", "")


@pytest.mark.parametrize(
    "query", ["gpus=0", "gpus=many", "peak_w=0", "peak_w=-5", "peak_w=nan", "peak_w=inf"]
)
async def test_a_job_that_cannot_be_is_refused_with_its_field(api: Inner, query: str) -> None:
    answer = await api.ask("GET", f"/advice/fragmentation?{query}", "viewer")

    assert answer.status_code == 422
    assert answer.json()["fields"][0]["field"].endswith(query.split("=")[0])


@pytest.mark.parametrize("path", ["offsets", "fragmentation", "cooling"])
async def test_advice_tells_of_the_whole_site_and_so_of_no_tenant_alone(api: Inner, path: str) -> None:
    assert (await api.ask("GET", f"/advice/{path}", "tenant")).status_code == 403
