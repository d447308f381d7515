"""What a job will draw before it starts, over the API: by a model of SYNTHETIC jobs, else the nameplate and why."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inner_house import Inner
from live_api import api_process, first_token, up
from site_rules import TREE
from synthetic_jobs import NOTE, jobs, model_file

from easyrider.fingerprints import encode
from easyrider.testing.servers import nats_server, redis_server
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_estimator.adapters.plain_files import write

ASKED: dict[str, Any] = {
    "name": "train-llama-7001",
    "image": "registry.example/llama:1.4",
    "configuration": "batch=32,precision=bf16",
    "gpu_model": "SYNTHETIC-700",
    "gpu_count": 16,
}


@pytest.fixture
def model(api: Inner, tmp_path: Path) -> Path:
    """The model file that this API looks at; not there yet."""
    path = tmp_path / "estimator.json"
    state = api.app._app.state  # type: ignore[attr-defined]
    state.house = dataclasses.replace(state.house, model_file=ModelFile(path))
    return path


async def test_a_scheduler_is_told_watts_with_intervals_and_the_model_they_rest_on(
    api: Inner, model: Path
) -> None:
    write(model, model_file())

    told = (await api.ask("POST", "/estimate", "viewer", json=ASKED)).json()

    assert told["basis"] == "model"
    assert (
        0 < told["gpu"]["mean_w"]["low"] < told["gpu"]["mean_w"]["expected"] < told["gpu"]["mean_w"]["high"]
    )
    assert (
        told["reserve_w"] == told["job"]["p99_w"]["high"] == pytest.approx(16 * told["gpu"]["p99_w"]["high"])
    )
    assert told["reserve_w"] < 16 * 700
    assert [step["to_s"] for step in told["startup"]["steps"]] == [10, 30, 60, 120]
    assert (told["coverage"], told["model"]["fingerprints"], told["model"]["note"]) == (0.9, 300, NOTE)


async def test_a_tenant_may_ask_is_named_nobody_elses_job_and_nothing_is_audited(
    api: Inner, model: Path
) -> None:
    write(model, model_file())

    told = await api.ask("POST", "/estimate", "tenant", json=ASKED | {"image": "own/secret"})

    assert told.status_code == 200
    assert told.json()["basis"] == "nameplate"
    assert "own/secret" in told.text
    assert "llama" not in told.text
    assert api.audit() == []


async def test_without_a_model_or_with_a_damaged_one_it_is_the_nameplate_and_the_reason(
    api: Inner, model: Path
) -> None:
    missing = (await api.ask("POST", "/estimate", json=ASKED | {"gpu_max_w": 700})).json()
    write(model, model_file()[:-9])
    damaged = (await api.ask("POST", "/estimate", json=ASKED)).json()

    assert (missing["basis"], missing["reserve_w"], missing["model"]) == ("nameplate", 11_200.0, None)
    assert "No such file" in missing["why"][0]
    assert (damaged["basis"], damaged["reserve_w"]) == ("nameplate", None)
    assert "estimator.json" in damaged["why"][0]
    assert "say gpu_max_w" in damaged["why"][-1]


async def test_without_a_model_runs_of_the_very_type_are_told_and_no_coverage_is_claimed(api: Inner) -> None:
    [one] = jobs(1, seed=3)
    job = msgspec.to_builtins(one.type)
    capped = msgspec.structs.replace(one, variant=1, hidden=0.9, mean_w=100.0)
    await api.store.save_fingerprint(TREE, one.id, 1, encode(one))
    await api.store.save_fingerprint(TREE, capped.id, 1, encode(capped))
    await api.store.save_fingerprint(TREE, f"{one.type.id}-2", 1, b"damaged")

    told = (await api.ask("POST", "/estimate", json=job)).json()
    other = (await api.ask("POST", "/estimate", json=job | {"gpu_count": job["gpu_count"] + 1})).json()
    tenants = (await api.ask("POST", "/estimate", "tenant", json=job)).json()

    assert tenants["basis"] == "nameplate"  # nobody knows whose runs they were
    assert (told["basis"], told["coverage"], told["model"]) == ("fingerprint", None, None)
    assert "1 run of this very type" in told["why"][0]
    assert any("cannot be read" in why for why in told["why"])
    assert told["gpu"]["mean_w"] == {"expected": one.mean_w, "low": one.mean_w, "high": one.mean_w}
    assert told["reserve_w"] == pytest.approx((one.peak_w or 0.0) * one.type.gpu_count)
    assert other["basis"] == "nameplate"


async def test_a_type_whose_peak_was_never_seen_free_is_reserved_its_nameplate(api: Inner) -> None:
    [one] = jobs(1, seed=3)
    unseen = msgspec.structs.replace(one, peak_w=None)
    await api.store.save_fingerprint(TREE, one.id, 1, encode(unseen))

    told = (await api.ask("POST", "/estimate", json=msgspec.to_builtins(one.type))).json()

    assert told["reserve_w"] == one.max_w * one.type.gpu_count


async def test_a_silent_store_is_told_and_refused_where_nothing_else_is_left_to_answer_from(
    api: Inner,
) -> None:
    [one] = jobs(1, seed=3)
    job = msgspec.to_builtins(one.type)
    asked = (await api.ask("POST", "/estimate", json=job)).json()
    await api.ask("POST", "/estimate", "tenant", json=job)
    api.store.silent = "no answer in 2 s"

    told = (await api.ask("POST", "/estimate", json=job | {"gpu_max_w": 700})).json()
    nothing = await api.ask("POST", "/estimate", json=job)
    tenants = (await api.ask("POST", "/estimate", "tenant", json=job | {"gpu_max_w": 700})).json()

    assert (asked["basis"], asked["store"], asked["reserve_w"]) == ("nameplate", "asked", None)
    assert (told["basis"], told["store"]) == ("nameplate", "silent")
    assert told["why"][-1].startswith("whether this very type ran before is not known: ")
    assert (nothing.status_code, nothing.json()["type"]) == (503, "urn:easyrider:problem:store-silent")
    assert "Retry-After" in nothing.headers
    assert tenants["store"] == "not-asked"


async def test_an_api_that_was_given_no_model_says_so(api: Inner) -> None:
    told = (await api.ask("POST", "/estimate", json=ASKED | {"gpu_max_w": 700.0})).json()

    assert told["basis"] == "nameplate"
    assert "ESTIMATOR_FILE" in told["why"][0]


@pytest.mark.parametrize(
    ("field", "raw"),
    [
        ("gpu_count", "0"),
        ("gpu_count", "8.5"),
        ("gpu_count", "true"),
        ("gpu_count", '"8"'),
        ("gpu_count", "1000001"),
        ("gpu_count", "9" * 25),
        ("gpu_max_w", "NaN"),
        ("gpu_max_w", "Infinity"),
        ("gpu_max_w", "1e400"),
        ("gpu_max_w", "0"),
        ("gpu_max_w", "1e-300"),
        ("gpu_max_w", "9.9"),
        ("gpu_max_w", "100001"),
        ("gpu_max_w", "-700"),
        ("gpu_model", "null"),
        ("name", '"' + "x" * 257 + '"'),
        ("image", '"a\\u0000b"'),
        ("configuration", '"\\u202e"'),
        ("configuration", '{"batch": 32}'),
        ("surprise", "1"),
    ],
)
async def test_a_wrong_field_is_refused_with_the_field(api: Inner, field: str, raw: str) -> None:
    body = json.dumps(ASKED | {field: "@@"}).replace('"@@"', raw).encode()

    answer = await api.ask("POST", "/estimate", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert any(field in each["field"] for each in answer.json()["fields"]), answer.text


async def test_who_shows_no_token_is_told_nothing(api: Inner) -> None:
    assert (await api.ask("POST", "/estimate", None, json=ASKED)).status_code == 401


ODD = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["SYNTHETIC-700", "batch=nan", 16, 700.0]) | st.lists(st.integers(), max_size=2)
)  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.dictionaries(st.sampled_from([*ASKED, "gpu_max_w", "x"]), ODD), whole=st.booleans())
async def test_whatever_is_sent_is_answered_or_refused_and_never_fails_inside(
    api: Inner, model: Path, body: dict[str, Any], whole: bool
) -> None:
    if not model.exists():
        write(model, model_file())
    sent = json.dumps(ASKED | body if whole else body).encode("utf-8", "surrogatepass")

    answer = await api.ask("POST", "/estimate", content=sent, headers={"Content-Type": "application/json"})

    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        assert answer.json()["reserve_w"] != 0


def test_an_api_imports_no_library_that_grows_trees_and_reads_no_model_at_start() -> None:
    script = (
        "import sys, easyrider_policy_api.__main__\n"
        "sys.exit('lightgbm' in sys.modules or 'easyrider_estimator.adapters.lightgbm_trees' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


@pytest.mark.system
def test_a_running_api_answers_from_a_model_that_came_after_it_started(tmp_path: Path) -> None:
    admin, path = first_token(tmp_path), tmp_path / "estimator.json"
    with nats_server() as bus, redis_server() as store:
        process = api_process(tmp_path, "api", bus.url, store.url, estimator_file=path)
        try:
            live = up(process, tmp_path, "api", admin)
            before = live.ask("POST", "/estimate", json=ASKED).json()
            write(path, model_file())
            after = live.ask("POST", "/estimate", json=ASKED).json()
        finally:
            if process.process is not None:
                process.end()

    assert (before["basis"], before["reserve_w"]) == ("nameplate", None)
    assert (after["basis"], after["model"]["fingerprints"]) == ("model", 300)
