"""docs/api.md: its commands are run as they stand there, against a real API."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from live_api import live_api

from easyrider_policy_api.app import build

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.system
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH")
def test_the_tour_can_be_walked(tmp_path: Path) -> None:
    assert len(BLOCKS) >= 6
    with live_api(tmp_path) as live:
        token = tmp_path / "api.token"
        token.write_text(live.admin + "\n")
        walk = tmp_path / "walk"
        walk.mkdir()

        done = subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", "\n".join(BLOCKS)],
            cwd=walk,
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", "API": live.url, "TOKEN_FILE": str(token)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        acts = [record["act"] for record in live.ask("GET", "/audit").json()["records"]]
        assert acts == [
            "delete /tokens/{token_id}",
            "post /tokens",
            "delete /targets/{target_id}",
            "post /targets",
            "post /release",
            "delete /holds/{hold_id}",
            "post /holds",
            "put /modes",
        ]
        assert {record["result"] for record in live.ask("GET", "/audit").json()["records"]} == {"done"}


def test_every_status_that_a_route_may_answer_stands_on_the_page() -> None:
    told = {
        status
        for item in build(None).openapi()["paths"].values()
        for route in item.values()
        for status in route["responses"]
        if status.startswith(("4", "5"))
    }

    table = PAGE.read_text().split("## Problems")[1]
    assert {status for status in told if not re.search(rf"\b{status}\b", table)} == set()
