"""The stack kept up with three coordinators: a site that lends watts to its two rows."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = [pytest.mark.system, pytest.mark.slow]

EASYRIDER = str(Path(sys.executable).parent / "easyrider")


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    """The runtime folder of a user whose stack of three coordinators is up."""
    folder = Path(tempfile.mkdtemp(prefix="u-"))
    with (folder / "up.log").open("w") as log:
        up = subprocess.Popen(
            [EASYRIDER, "up", "--regions"],
            env=environ(folder),
            stdout=log,
            stderr=log,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        until(lambda: "up in enforce" in (folder / "up.log").read_text() or up.poll() is not None, 90, "up")
        assert up.poll() is None, (folder / "up.log").read_text()
        yield folder
        assert up.poll() is None, (folder / "up.log").read_text()
    finally:
        up.send_signal(signal.SIGINT)
        try:
            assert up.wait(40) == 0
        finally:
            up.kill()
            shutil.rmtree(folder, ignore_errors=True)


def environ(folder: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("EASYRIDER_")}
    return {**known, "XDG_RUNTIME_DIR": str(folder)}


def until(true: Callable[[], Any], within_s: float, what: str) -> Any:
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
        time.sleep(0.2)
    return found


def plan(runtime: Path, region: str) -> dict[str, Any]:
    """The next plan of one coordinator."""
    shown = subprocess.run(
        [EASYRIDER, "plan", "--json", "--count", "1", "--region", region],
        env=environ(runtime), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def test_both_rows_get_watts_beyond_their_guaranteed_share_and_limit_their_own_nodes(runtime: Path) -> None:
    def lent() -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = plan(runtime, "local")["regions"]
        return told if all(row["granted_w"] > row["guaranteed_w"] + 100.0 for row in told) else []

    rows = until(lent, 40, "watts lent to both rows")
    assert [row["region"] for row in rows] == ["row-a", "row-b"]
    assert not any(row["silent"] for row in rows)
    for row in ("row-a", "row-b"):
        own = until(lambda row=row: found if (found := plan(runtime, row))["jobs"] else None, 40, "its jobs")
        assert own["leading"]
        assert [domain["domain"] for domain in own["domains"]] == [row]
        assert all(job["limit_w"] > 0 for job in own["jobs"])


def test_what_the_meters_above_them_show_is_the_rows_own(runtime: Path) -> None:
    site = plan(runtime, "local")
    pdu = next(domain for domain in site["domains"] if domain["domain"] == "pdu")

    assert pdu["observed_w"] > 5_000.0
    assert pdu["unmanaged_w"] < 0.2 * pdu["observed_w"]


def test_the_api_of_the_site_has_the_plans_of_both_rows(runtime: Path) -> None:
    url, token = re.findall(
        r"  api +(\S+) +an administrator's token (\S+)", (runtime / "up.log").read_text()
    )[0]
    key = {"Authorization": f"Bearer {Path(token).read_text().strip()}"}

    def gathered() -> dict[str, Any]:
        told: dict[str, Any] = httpx.get(f"{url}/plan", headers=key, timeout=10.0).json()
        return told if len(told.get("below", [])) == 2 else {}

    told = until(gathered, 20, "plans of both rows")

    assert told["plan"]["region"] == "local"
    assert [(row["region"], row["plan"]["region"]) for row in told["below"]] == [
        ("row-a", "row-a"),
        ("row-b", "row-b"),
    ]
    assert told["silent_regions"] == []
