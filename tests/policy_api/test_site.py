"""The API beside a running site: real jobs on simulated boards, a real plan, and what an operator and an owner see."""

import signal
from pathlib import Path
from typing import Any

import pytest
from live_api import LiveApi, Process, first_token, until
from live_site import LEAN, QUICK_LEASES, site_up, small_world, start_jobs

from easyrider_cli.stack import REGION, TREE

pytestmark = [pytest.mark.system, pytest.mark.slow]


def test_an_owner_learns_why_and_an_operator_what_other_rules_would_cost(tmp_path: Path) -> None:
    with site_up(tmp_path / "site", small_world(), without=LEAN, rules={"leases": QUICK_LEASES}) as site:
        start_jobs(site)
        admin = first_token(tmp_path)
        servers = site.stack.servers
        settings = {
            "region": REGION,
            "tree": TREE,
            "address": "127.0.0.1:0",
            "address_file": tmp_path / "api.address",
            "bootstrap_file": tmp_path / "first-token.json",
            "state_dir": tmp_path / "api",
            **servers.bus("api"),
            **servers.store("api"),
        }
        process = Process(
            "easyrider_policy_api",
            {f"EASYRIDER_POLICY_API_{name.upper()}": str(value) for name, value in settings.items()},
            tmp_path / "api.log",
        ).start()
        try:
            file = tmp_path / "api.address"
            address = until(
                lambda: file.exists() and file.read_text(), 30, f"the API to listen: {process.said()}"
            )
            api = LiveApi(process, address, admin, tmp_path)

            told: list[str] = []
            found: list[dict[str, Any]] = []

            def capped() -> bool:
                answer = api.ask("GET", "/jobs/steady")
                told[:] = [answer.text[:600]]
                if answer.status_code != 200:
                    return False
                found.append(answer.json()["owner"])
                # a limit that a job just touches takes less than is told in four places
                return found[-1]["slowdown"] not in (None, 0.0)

            try:
                until(capped, 60, "the job to be capped")
            except AssertionError as late:
                raise AssertionError(f"{late}; the last answer: {told}") from late
            owner = found[-1]
            assert owner["capped"] is True
            assert owner["capped_by_w"] > 0
            assert 0 < owner["slowdown"] < 1
            assert any(word in owner["sentence"] for word in ("ups ", "pdu ", "small steps"))

            until(lambda: api.ask("GET", "/plan").status_code == 200, 10, "a plan since the API started")
            plan = api.ask("GET", "/plan").json()
            assert {job["job"] for job in plan["plan"]["jobs"]} >= {"steady"}
            assert plan["age_s"] < 5.0

            then = api.ask("GET", "/tree").json()
            pdu = next(domain for domain in then["domains"] if domain["id"] == "pdu")
            pdu["target_w"] = 0.7 * pdu["rating_w"]
            dry = api.ask("POST", "/tree/dry-run", json=then)
            assert dry.status_code == 200, dry.text
            row = next(each for each in dry.json()["domains"] if each["domain"] == "pdu")
            job = next(each for each in dry.json()["jobs"] if each["job"] == "steady")
            assert row["difference_w"] < 0
            assert job["slowdown"][1] > job["slowdown"][0]

            held = api.ask("POST", "/holds", json={"id": "smoke", "reason": "test"})
            assert held.json()["adoption"] == "adopted", held.text
            assert api.ask("GET", "/state").json()["holds"] is not None
            assert api.ask("DELETE", "/holds/smoke").json()["adoption"] == "adopted"
            site.clean_so_far()
        finally:
            assert process.end(signal.SIGTERM) == 0, process.said()
