"""What is remembered of types of jobs, over the API."""

from inner_house import Inner
from site_rules import TREE

from easyrider import fingerprints
from easyrider.fingerprints import BINS, Fingerprint
from easyrider.job_types import JobType


def one(name: str = "llm", updated_unix_s: float = 1.8e9) -> Fingerprint:
    return Fingerprint(
        type=JobType(name=name, gpu_model="H100", gpu_count=8), revision=3, seconds=600, learned_unix_s=1.7e9,
        updated_unix_s=updated_unix_s, max_w=700.0, idle_w=75.0, mean_w=510.5, spread_w=12.0, p99_w=655.0,
        peak_w=None, hidden=0.25, period_s=3.2, shape_w=(400.0,) * BINS,
    )  # fmt: skip


async def keep(api: Inner, *kept: Fingerprint) -> None:
    for each in kept:
        await api.store.save_fingerprint(TREE, each.id, each.revision, fingerprints.encode(each))


async def test_types_of_jobs_are_listed_newest_first_and_the_rest_counted(api: Inner) -> None:
    await keep(api, one("a", 1.0), one("b", 3.0), one("c", 2.0))
    await api.store.save_fingerprint(TREE, "0" * 32 + "-0", 1, b"junk")

    told = (await api.ask("GET", "/fingerprints?limit=2", "viewer")).json()

    assert [row["type"]["name"] for row in told["fingerprints"]] == ["b", "c"]
    assert (told["left_out"], told["unreadable"]) == (1, 1)
    assert told["fingerprints"][0]["peak_w"] is None
    assert "shape_w" not in told["fingerprints"][0]


async def test_one_fingerprint_is_told_whole(api: Inner) -> None:
    await keep(api, one())

    told = (await api.ask("GET", f"/fingerprints/{one().id}", "viewer")).json()

    assert (told["id"], told["mean_w"], len(told["shape_w"])) == (one().id, 510.5, BINS)


async def test_what_is_not_kept_or_no_fingerprint_is_not_there_and_says_why(api: Inner) -> None:
    await api.store.save_fingerprint(TREE, "0" * 32 + "-0", 1, b"junk")

    spoiled = await api.ask("GET", f"/fingerprints/{'0' * 32}-0", "viewer")
    missing = await api.ask("GET", f"/fingerprints/{'0' * 32}-1", "viewer")
    no_id = await api.ask("GET", "/fingerprints/x", "viewer")

    assert (spoiled.status_code, missing.status_code, no_id.status_code) == (404, 404, 422)
    assert spoiled.json()["type"].endswith("fingerprint-unreadable")
    assert missing.json()["type"].endswith("no-fingerprint")


async def test_types_of_all_tenants_are_nothing_for_one_tenant(api: Inner) -> None:
    await keep(api, one())

    listed = await api.ask("GET", "/fingerprints", "tenant")
    single = await api.ask("GET", f"/fingerprints/{one().id}", "tenant")

    assert (listed.status_code, single.status_code) == (403, 403)


async def test_a_silent_store_is_said_so(api: Inner) -> None:
    tokens_known = await api.ask("GET", "/fingerprints", "viewer")  # the token is remembered a while
    api.store.silent = "away"

    answer = await api.ask("GET", "/fingerprints", "viewer")

    assert (tokens_known.status_code, answer.status_code) == (200, 503)
