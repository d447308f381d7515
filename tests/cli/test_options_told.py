"""Options that would be passed over, make no sense or lead nowhere: one line that names them, and nothing done."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_jobs import jobs

from easyrider.testing.servers import redis_server
from easyrider_cli import api_door, hold_command, train_source
from easyrider_cli.__main__ import app
from easyrider_cli.api_door import ApiDoor
from easyrider_cli.doors import NoAnswer
from easyrider_estimator.adapters.fingerprint_files import save

Said = Callable[..., tuple[int, list[str]]]
JOB = ("--gpu-model", "SYNTHETIC-700", "--gpu-count", "8")
STORE = ("--redis-url", "redis://127.0.0.1:9")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("estimate", *JOB, "--model", "m.json", "--api", "http://127.0.0.1:9"),
            "--model and --api go two ways",
        ),
        (
            ("estimate", *JOB, "--model", "m.json", "--token-file", "t"),
            "--model and --token-file go two ways",
        ),
        (("estimate", *JOB, "--token-file", "t"), "--token-file says nothing without --api"),
        (
            ("estimate", *JOB, "--api", "http://127.0.0.1:9"),
            "--api needs a token that may read: --token-file",
        ),
        (("estimate", *JOB), "name a model file, --model FILE, or an admin API"),
        (("estimate", *JOB, "--gpu-max-w", "1e-300"), "--gpu-max-w 1e-300: from 10 to 100000"),
        (("estimate", *JOB, "--gpu-max-w", "nan"), "--gpu-max-w nan: from 10 to 100000"),
        (("estimate", *JOB, "--name", "a\x07"), "--name: it holds characters that are never shown"),
        (("estimate", *JOB, "--image", 257 * "x"), "--image: at most 256 characters"),
        (("train", "some.jsonl", *STORE), "the file or folder some.jsonl and --redis-url go two ways"),
        (("fingerprints", "some.jsonl", "--tree", "x"), "some.jsonl and --tree go two ways"),
        (("train", "--redis-url", "foo"), "--redis-url is no address such as redis://host:6379"),
        (("fingerprints", *STORE, "--tree", "*"), "--tree '*' cannot be part of a key"),
        (("token", "list", *STORE, "--tree", "*"), "--tree '*' cannot be part of a key"),
        (("token", "list", *STORE, "--run", "x"), "--redis-url and --run go two ways"),
        (("token", "list", "--installation", "y", "--run", "x"), "--installation and --run go two ways"),
        (("hold", "--clear", "--socket", "s", "--domain", "pdu"), "--socket and --domain go two ways"),
        (("hold", "--id", "h"), "--id says nothing without --clear"),
        (("hold", "--clear", "--reason", "r"), "--clear and --reason go two ways"),
        (("hold", "--api", "http://127.0.0.1:9", "--run", "x"), "--api and --run go two ways"),
        (("status", "--token-file", "t"), "--token-file says nothing without --api"),
        (("restore", "--api", "http://127.0.0.1:9", "--now"), "--api and --now go two ways"),
        (("restore", "--socket", "s", "--run", "x"), "--socket and --run go two ways"),
        (("plan", "--nats-url", "nats://127.0.0.1:9", "--run", "x"), "--nats-url and --run go two ways"),
    ],
)
def test_it_is_refused_with_its_name(said: Said, words: tuple[str, ...], told: str) -> None:
    code, lines = said(*words)

    assert code == 2
    assert told in lines[-1]
    assert "regex" not in lines[-1]


def test_a_file_in_place_of_a_folder_for_pictures_is_named_with_its_option(
    said: Said, tmp_path: Path
) -> None:
    save(tmp_path / "some.jsonl", jobs(1, seed=1))

    code, lines = said("fingerprints", str(tmp_path / "some.jsonl"), "--plots", str(tmp_path / "some.jsonl"))

    assert code == 2
    assert lines[-1].startswith("easyrider: --plots ")


def test_an_api_that_does_not_answer_an_estimate_is_told_without_advice_on_limits(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")

    with pytest.raises(NoAnswer, match=r"nothing was estimated.*--model FILE") as fault:
        ApiDoor("http://127.0.0.1:9", tmp_path / "token").estimate({})
    with pytest.raises(NoAnswer, match="hold --socket"):
        ApiDoor("http://127.0.0.1:9", tmp_path / "token").state()

    assert "guardian" not in str(fault.value)


def test_what_still_holds_is_told_once_also_where_an_api_has_said_it() -> None:
    told = "The state store does not answer, so nothing was changed; limits in force stay as they are (why)."

    for why in (told, "Connection refused"):
        line = str(NoAnswer("http://127.0.0.1:9", why))
        assert line.count("limits in force stay as they are") == 1
        assert "hold --socket" in line
        assert ".)" not in line


def test_a_fault_that_the_detail_tells_is_not_told_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"field": "gpu_count", "fault": "is missing"}
    other = {"field": "name", "fault": "is no field here"}
    told = {"detail": "gpu_count is missing", "fields": [row, other]}

    assert api_door._problem(json.loads(json.dumps(told))) == "gpu_count is missing; name is no field here"


def test_a_store_that_is_frozen_is_told_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_source, "_ANSWER_S", 0.3)
    with redis_server() as server:
        server.freeze()
        began_s = time.monotonic()
        try:
            with pytest.raises(Exception, match="the store is silent"):
                app(["fingerprints", "--redis-url", server.url, "--tree", "hall"], standalone_mode=False)
        finally:
            server.thaw()

    assert time.monotonic() - began_s < 10.0


def test_a_hold_on_a_node_is_not_kept_waiting_for_options_that_say_nothing_there(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []

    def on_node(socket: Path, reason: str | None) -> dict[str, object]:
        held.append((socket.name, reason))
        return {"node": "n1", "held": True, "armed": True}

    monkeypatch.setattr(hold_command, "on_node", on_node)

    code, lines = said("hold", "--socket", "s", "--domain", "pdu", "--reason", "smoke")

    assert (code, held) == (0, [("s", "smoke")])
    assert any(line.startswith("--socket holds every board of this node") for line in lines)
