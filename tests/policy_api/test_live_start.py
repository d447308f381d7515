"""How the process begins and ends: settings, ports, a bus that is not there yet, a kill."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from live_api import LiveApi, api_process, first_token, live_api, until, up
from site_rules import document

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    with live_api(tmp_path_factory.mktemp("live"), body_timeout_s=1.0, head_timeout_s=1.0) as found:
        yield found


def test_it_answers_before_bus_and_store_are_there(tmp_path: Path) -> None:
    first_token(tmp_path)
    process = api_process(tmp_path, "api", "nats://127.0.0.1:1", "redis://127.0.0.1:1/0")
    process.start()
    try:
        file = tmp_path / "api.address"
        address = until(lambda: file.exists() and file.read_text(), 30, "it to listen")

        def health() -> httpx.Response | None:
            try:
                return httpx.get(f"http://{address}/v1/health", timeout=5.0)
            except httpx.TransportError:
                return None

        answer = until(health, 20, "an answer")
        assert answer.status_code == 503
        assert answer.json()["checks"] == {"bus": False, "store": False, "audit": True}
    finally:
        assert process.end() == 0


def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    first_token(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = api_process(
            tmp_path,
            "api",
            "nats://127.0.0.1:1",
            "redis://127.0.0.1:1",
            address=f"127.0.0.1:{taken.getsockname()[1]}",
        )

        assert process.start().process is not None
        assert process.process is not None
        assert process.process.wait(20) == 2

    lines = [line for line in process.said().splitlines() if not line.startswith("{")]
    assert len(lines) == 1
    assert "cannot be listened on" in lines[0]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"address": "0.0.0.0:0"}, "PLAIN_HTTP"),
        ({"proxies": "somewhere"}, "PROXIES"),
        ({"bootstrap_file": "/nowhere/token"}, "BOOTSTRAP_FILE"),
        ({"server_key_file": "/dev/null"}, "SERVER_CERTIFICATE_FILE"),
        ({"token_requests_per_s": "0"}, "TOKEN_REQUESTS_PER_S"),
        ({"surprise": "1"}, "SURPRISE"),
    ],
)
def test_settings_that_make_no_sense_are_one_message_that_names_them(
    tmp_path: Path, settings: dict[str, object], word: str
) -> None:
    first_token(tmp_path)
    process = api_process(tmp_path, "api", "nats://127.0.0.1:1", "redis://127.0.0.1:1", **settings)

    done = subprocess.run(
        [sys.executable, "-m", process.module],
        env={**os.environ, **process.settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_it_stops_in_order_and_lets_answers_under_way_leave(live: LiveApi) -> None:
    nats, redis = live.servers["nats"].url, live.servers["redis"].url
    other = up(api_process(live.folder, "ends", nats, redis), live.folder, "ends", live.admin)
    assert other.ask("PUT", "/tree", json=document()).status_code == 428

    assert other.process.end() == 0
    assert "Traceback" not in other.process.said()


def test_the_journal_goes_on_after_a_kill(live: LiveApi) -> None:
    nats, redis = live.servers["nats"].url, live.servers["redis"].url
    other = up(api_process(live.folder, "killed", nats, redis), live.folder, "killed", live.admin)
    other.ask("POST", "/holds", json={"id": "before-kill"})
    assert other.process.end(signal.SIGKILL) == -signal.SIGKILL
    (live.folder / "killed.address").unlink()

    again = up(api_process(live.folder, "killed", nats, redis), live.folder, "killed", live.admin)
    try:
        (record,) = again.ask("GET", "/audit").json()["records"]
        assert json.loads(record["after"])["holds"][0]["id"] == "before-kill"
        assert again.ask("DELETE", "/holds/before-kill").status_code == 200
    finally:
        again.process.end()
