"""The red button of the command line at a real API with a real coordinator behind it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from live_api import LiveApi, live_api

from easyrider.tree import HoldRule
from easyrider_cli.api_door import ApiDoor
from easyrider_cli.doors import NoAnswer, Refused

pytestmark = pytest.mark.system
EASYRIDER = str(Path(sys.executable).parent / "easyrider")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    with live_api(tmp_path_factory.mktemp("front")) as found:
        (found.folder / "token").write_text(found.token("front-door", "operator") + "\n")
        yield found


def says(live: LiveApi, *words: str, exit_code: int = 0) -> dict[str, Any]:
    at = ["--api", live.url, "--token-file", str(live.folder / "token"), "--json"]
    done = subprocess.run([EASYRIDER, *words, *at], capture_output=True, text=True, timeout=60)
    assert done.returncode == exit_code, (done.returncode, done.stderr, done.stdout)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_hold_and_clear_over_the_api_are_in_force_and_name_the_token(live: LiveApi) -> None:
    held = says(live, "hold", "--domain", "pdu", "--reason", "a smell of burning")
    (known,) = live.ask("GET", "/holds").json()["holds"]
    cleared = says(live, "hold", "--clear")

    assert held["in_force"]
    assert (known["id"], known["domains"], known["by"]) == (held["id"], ["pdu"], "front-door")
    assert cleared["cleared"] == [held["id"]]
    assert live.ask("GET", "/holds").json()["holds"] == []


def test_a_release_with_nothing_limited_says_so_and_changes_nothing(live: LiveApi) -> None:
    before = live.ask("GET", "/tree").json()["tree"]["version"]

    found = says(live, "release", "node=n1")

    assert (found["done"], found["gpus"]) == (True, 0)
    assert live.ask("GET", "/tree").json()["tree"]["version"] == before


def test_what_the_api_refuses_is_told_in_its_words(live: LiveApi) -> None:
    door = ApiDoor(live.url, live.folder / "token")

    with pytest.raises(Refused, match="attic"):
        door.hold(HoldRule(id="x", domains=("attic",)))
    (live.folder / "wrong").write_text("erk_wrong")
    with pytest.raises(Refused):
        ApiDoor(live.url, live.folder / "wrong").state()


def test_an_api_that_is_not_there_is_told_with_what_still_works(live: LiveApi) -> None:
    with pytest.raises(NoAnswer, match="hold --socket"):
        ApiDoor("http://127.0.0.1:9", live.folder / "token").state()


def test_a_token_does_not_follow_to_another_address(live: LiveApi) -> None:
    seen: list[str | None] = []

    class Sly(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Sly)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(Refused, match="302"):
            ApiDoor(f"http://127.0.0.1:{server.server_port}", live.folder / "token").state()
    finally:
        server.shutdown()
        server.server_close()
    assert len(seen) == 1
