"""Why something is limited, over the API: the leader's answer for whoever may see it, and nothing for others."""

import pytest
from inner_house import Inner


async def test_a_job_is_explained_beside_its_row_and_its_owners_sentence(api: Inner) -> None:
    told = (await api.ask("GET", "/explain/jobs/job-a", "viewer")).json()

    assert (told["job"], told["binds"][0]["domain"], told["frees"][0]["by_w"]) == ("job-a", "pdu", 640.0)
    assert told["owner"]["sentence"].startswith("Capped at 520 W of the 650 W per GPU")


async def test_a_gpu_is_explained_with_its_job_and_an_idle_one_without(api: Inner) -> None:
    busy = (await api.ask("GET", "/explain/gpus/GPU-n1-0", "viewer")).json()
    idle = (await api.ask("GET", "/explain/gpus/GPU-n2-9", "viewer")).json()

    assert (busy["job"]["job"], busy["job"]["owner"]["reason"]) == ("job-a", "target:pdu")
    assert (idle["job"], idle["reason"]) == (None, "idle")


async def test_a_domain_is_explained(api: Inner) -> None:
    told = (await api.ask("GET", "/explain/domains/pdu", "viewer")).json()

    assert (told["domain"], told["binds"]["price"]) == ("pdu", 0.001)


async def test_a_tenant_is_told_of_its_own_jobs_and_their_gpus_alone(api: Inner) -> None:
    statuses = {
        path: (await api.ask("GET", f"/explain/{path}", "tenant")).status_code
        for path in (
            "jobs/job-a",
            "jobs/job-b",
            "gpus/GPU-n1-0",
            "gpus/GPU-n2-0",
            "gpus/GPU-n2-9",
            "domains/pdu",
        )
    }

    assert statuses == {
        "jobs/job-a": 200,
        "jobs/job-b": 404,
        "gpus/GPU-n1-0": 200,
        "gpus/GPU-n2-0": 404,
        "gpus/GPU-n2-9": 404,
        "domains/pdu": 403,
    }


@pytest.mark.parametrize(("kind", "others"), [("jobs", "job-b"), ("gpus", "GPU-n2-0")])
async def test_a_tenant_cannot_tell_what_is_not_its_own_from_what_is_not_there(
    api: Inner, kind: str, others: str
) -> None:
    theirs = (await api.ask("GET", f"/explain/{kind}/{others}", "tenant")).json()
    nowhere = (await api.ask("GET", f"/explain/{kind}/nowhere", "tenant")).json()

    assert theirs["type"] == nowhere["type"]
    assert theirs["detail"].replace(others, "nowhere") == nowhere["detail"]


@pytest.mark.parametrize("kind", ["gpus", "jobs", "domains"])
async def test_what_the_coordinator_does_not_know_is_404_with_its_name(api: Inner, kind: str) -> None:
    answer = await api.ask("GET", f"/explain/{kind}/nowhere", "viewer")

    assert answer.status_code == 404
    assert "'nowhere'" in answer.json()["detail"]
