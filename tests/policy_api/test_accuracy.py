"""How right forecasts were, over the API."""

from accuracy_records import one as record
from inner_house import Inner
from site_rules import REGION, TREE

from easyrider import accuracy
from easyrider.accuracy import Accuracy


def one(job: str, tenant: str = "team-a", updated_unix_s: float = 1.8e9) -> Accuracy:
    return record(job, region=REGION, tenant=tenant, updated_unix_s=updated_unix_s)


async def keep(api: Inner, *kept: Accuracy) -> None:
    await api.store.save_accuracy(TREE, 5, {each.id: accuracy.encode(each) for each in kept})


async def test_jobs_are_listed_newest_first_and_the_rest_counted(api: Inner) -> None:
    await keep(
        api, one("a", updated_unix_s=1.0), one("b", updated_unix_s=3.0), one("c/x", updated_unix_s=2.0)
    )
    await api.store.save_accuracy(TREE, 5, {f"{REGION} junk": b"junk"})

    told = (await api.ask("GET", "/accuracy?limit=2", "viewer")).json()

    assert [row["job"] for row in told["jobs"]] == ["b", "c/x"]
    assert (told["left_out"], told["unreadable"]) == (1, 1)
    assert told["jobs"][0]["demand"][1]["run"]["mase"] == 0.5
    assert told["jobs"][0]["draw"][0]["lately"]["mae_w"] is None
    assert "trail" not in told["jobs"][0]


async def test_one_job_is_told_with_its_last_minutes(api: Inner) -> None:
    await keep(api, one("c/x"))

    told = (await api.ask("GET", "/accuracy/c/x", "viewer")).json()

    assert told["rises"] == {"seen": 9, "foretold": 7, "lead_s": 4.5, "false": 1, "withdrawn": 2}
    assert told["trail"] == [{"mean_w": 500.0, "q99_w": 650.0, "seen_mean_w": 505.0, "seen_peak_w": None}]


async def test_a_tenant_sees_its_own_jobs_and_nothing_of_others(api: Inner) -> None:
    await keep(api, one("mine"), one("theirs", "team-b"), one("nobodys", ""))
    await api.store.save_accuracy(TREE, 5, {f"{REGION} junk": b"junk"})

    listed = (await api.ask("GET", "/accuracy", "tenant")).json()
    own = await api.ask("GET", "/accuracy/mine", "tenant")
    others = [
        await api.ask("GET", f"/accuracy/{job}", "tenant") for job in ("theirs", "nobodys", "never-was")
    ]

    assert [row["job"] for row in listed["jobs"]] == ["mine"]
    assert (listed["left_out"], listed["unreadable"]) == (0, 0)
    assert own.status_code == 200
    assert {each.status_code for each in others} == {404}
    assert [each.json()["type"].rpartition(":")[2] for each in others] == ["no-accuracy"] * 3


async def test_a_region_that_is_not_there_is_said_so_and_a_silent_store_too(api: Inner) -> None:
    await keep(api, one("a"))
    nowhere = await api.ask("GET", "/accuracy/a?region=elsewhere", "viewer")
    api.store.silent = "away"

    answers = [await api.ask("GET", path, "viewer") for path in ("/accuracy", "/accuracy/a")]

    assert nowhere.status_code == 404
    assert nowhere.json()["type"].endswith("no-region")
    assert [answer.status_code for answer in answers] == [503, 503]
