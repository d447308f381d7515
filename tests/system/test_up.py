"""The stack kept up: found by the other commands of the front door, watched, given back, ended."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_up import KeptUp, kept_up

pytestmark = [pytest.mark.system, pytest.mark.slow]


class Up(KeptUp):
    """The stack as it is found by whoever looks for it."""

    def plan(self) -> dict[str, Any]:
        shown = self.run("plan", "--json", "--count", "1")
        assert shown.returncode == 0, shown.stderr
        found: dict[str, Any] = json.loads(shown.stdout)
        return found

    def pid_of(self, word: str) -> int:
        """The process of the stack whose command line holds this word."""
        found = []
        for pid in self.descendants():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_text()
            except OSError:
                continue  # it ended meanwhile
            found += [pid] if word in command else []
        assert len(found) == 1, (word, found)
        return found[0]

    def descendants(self) -> list[int]:
        return [
            int(place.name)
            for place in Path("/proc").glob("[0-9]*")
            if f"\0XDG_RUNTIME_DIR={self.environ['XDG_RUNTIME_DIR']}\0".encode() in b"\0" + environ_of(place)
        ]


def environ_of(place: Path) -> bytes:
    try:
        return (place / "environ").read_bytes()
    except OSError:
        return b""  # it ended, or is another user's


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with kept_up(Up) as stack:
        yield stack


def test_it_says_where_to_look(up: Up) -> None:
    said = up.log.read_text()

    for word in ("nats://", "redis://", "rules.yaml", "journal.jsonl", "/metrics", "easyrider plan"):
        assert word in said


def test_it_says_the_process_of_every_service_and_of_every_guardian(up: Up) -> None:
    said = dict(re.findall(r"^  ([a-z][a-z0-9-]+) .*   pid (\d+)$", up.log.read_text(), re.M))

    nodes = [f"node-{number}" for number in range(1, 5)]
    agents = [f"{role}-{node}" for role in ("telemetry", "actuator", "guardian") for node in nodes]
    assert set(said) == {"forecaster", "infra-bridge", "policy", "policy-api", *agents}
    for name, pid in said.items():
        module = f"easyrider_{name.partition('-node-')[0].replace('-', '_')}"
        assert module in Path(f"/proc/{pid}/cmdline").read_text().split("\0"), name


def test_plans_come_with_limits_and_reasons(up: Up) -> None:
    plan = up.until(lambda: found if (found := up.plan())["jobs"] else None, 30, "a plan with jobs")

    assert [domain["domain"] for domain in plan["domains"]] == ["ups", "pdu"]
    assert plan["leading"]
    assert all(job["limit_w"] > 0 and job["reason"] for job in plan["jobs"])


def test_plans_are_read_by_people_too(up: Up) -> None:
    shown = up.run("plan", "--count", "1")

    assert shown.returncode == 0, shown.stderr
    for word in ("hard limit", "because", "silent nodes: none"):
        assert word in shown.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on PATH")
def test_the_api_beside_it_opens_by_the_lines_of_its_page(up: Up) -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    (lines,) = re.findall(r"^```bash\n(.*?)^```", page, re.M | re.S)
    (run,) = re.findall(r"Everything it writes is in (.+)", up.log.read_text())
    ask = 'printf "Authorization: Bearer %s" "$(cat "$TOKEN_FILE")" | curl -sf -H @- "$API/v1/plan"; echo; echo "$API"'

    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", lines + ask],
        env=up.environ | {"RUN": run}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    plan, address = done.stdout.splitlines()
    assert {domain["domain"] for domain in json.loads(plan)["plan"]["domains"]} == {"ups", "pdu"}
    assert f"{address}/v1 " in up.log.read_text()
    assert (Path(run) / "api.token").stat().st_mode & 0o077 == 0


def test_an_nvml_program_runs_on_a_node_of_the_stack(up: Up) -> None:
    first = up.run("twin", "exec", "--", "nvidia-smi", "-L")
    other = up.run("twin", "exec", "--node", "node-3", "--", "nvidia-smi", "-L")

    assert (first.returncode, other.returncode) == (0, 0), first.stderr + other.stderr
    assert len(first.stdout.splitlines()) == 8
    assert first.stdout != other.stdout


def test_a_second_stack_in_the_same_place_is_refused(up: Up) -> None:
    second = up.run("up")

    assert second.returncode == 2
    assert "a stack is up there" in second.stderr.splitlines()[-1]
    assert up.process.poll() is None


def test_what_dies_is_started_again_and_the_stack_goes_on(up: Up) -> None:
    before = up.plan()
    killed = {
        "policy": up.pid_of("easyrider_policy\0"),
        **{name: int(pid) for name, pid in re.findall(r"([a-z]+-server), pid (\d+)", up.log.read_text())},
    }
    assert len(killed) == 3

    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)

    for name, pid in killed.items():
        told = f"{name} (pid {pid}) was killed by SIGKILL; started again as pid "
        up.until(lambda told=told: told in up.log.read_text(), 20, told)
        assert up.log.read_text().count(f"{name} (pid ") == 1
    after = up.until(lambda: found if (found := up.plan())["leading"] else None, 30, "a leading plan")
    assert after["epoch"] > before["epoch"]


def test_restore_gives_back_what_was_found(up: Up) -> None:
    restored = up.run("restore", "--now")

    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert restored.stderr.count("restored, 8 GPUs as they were found") == 4


def test_restore_asks_the_coordinator_and_says_where_it_had_no_room(up: Up) -> None:
    up.until(lambda: up.plan()["jobs"], 30, "a plan with jobs")

    restored = up.run("restore")

    lines = restored.stderr.splitlines()
    given = [line for line in lines if "restored, 8 GPUs as they were found" in line]
    refused = [
        line for line in lines if "8 GPUs still limited: no room now: the sums forbid the 5600 W" in line
    ]
    assert len(given) >= 1, restored.stderr
    assert len(given) + len(refused) == 4, restored.stderr
    assert restored.returncode == (1 if refused else 0)


def test_ctrl_c_ends_everything(up: Up) -> None:
    assert len(up.descendants()) > 15

    up.process.send_signal(signal.SIGINT)

    assert up.process.wait(30) == 0
    assert up.descendants() == []
    assert "Traceback" not in up.log.read_text()
    gone = up.run("plan")
    assert gone.returncode == 2
    assert "no stack is up" in gone.stderr
