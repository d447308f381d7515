"""The red button on a running stack: a limit that would rise does not, and once the hold is cleared it does."""

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_up import KeptUp, kept_up

from easyrider.guardian_link import GuardianLink
from easyrider.tree import Rules
from easyrider_cli.local_door import opened

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]


class Stack(KeptUp):
    """A stack in a folder that is named to each command."""

    def __init__(self, runtime: Path) -> None:
        self.folder = runtime / "run"
        super().__init__(runtime, "--run", str(self.folder))

    def says(self, *words: str, exit_code: int = 0) -> dict[str, Any]:
        """What a command says to machines."""
        done = self.run(*words, "--run", str(self.folder), "--json", within_s=90)
        assert done.returncode == exit_code, (done.returncode, done.stderr, done.stdout)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def sockets(self) -> list[Path]:
        return sorted(self.folder.glob("*/guardian.sock"))

    def limits_w(self) -> list[float]:
        """What every board enforces, by its guardian."""
        found: list[float] = []
        for place in self.sockets():
            with GuardianLink.open(place) as guardian:
                found += [gpu.enforced_w or 0.0 for gpu in guardian.state().gpus]
        return found

    def targets(self, share: float) -> None:
        """New rules: every domain aims at this share of what it aimed at first."""
        with opened(self.folder, "test") as door:

            def edit(rules: Rules) -> Rules:
                domains = tuple(dataclasses.replace(d, target_w=share * d.hard_w) for d in rules.domains)
                return dataclasses.replace(rules, domains=domains)

            assert door._edited(edit).in_force

    def still(self, for_s: float = 2.5) -> list[float]:
        """Limits once they have not moved for a while."""
        last_w, since_s = self.limits_w(), time.monotonic()
        end_s = since_s + 40.0
        while time.monotonic() - since_s < for_s and time.monotonic() < end_s:
            time.sleep(0.2)
            if (now_w := self.limits_w()) != last_w:
                last_w, since_s = now_w, time.monotonic()
        return last_w


@pytest.fixture
def stack() -> Iterator[Stack]:
    with kept_up(Stack) as running:
        yield running


def test_hold_and_clear_and_release_from_the_command_line(stack: Stack) -> None:
    boards = len(stack.limits_w())
    stack.until(lambda: sum(stack.limits_w()) > boards * 300, 40, "jobs that are given watts")
    stack.targets(0.5)
    stack.until(lambda: sum(stack.limits_w()) < boards * 250, 40, "limits to come down")

    held = stack.says("hold", "--reason", "a smell of burning")
    stack.targets(0.95)
    low_w = stack.limits_w()
    end_s = time.monotonic() + 8.0
    while time.monotonic() < end_s:
        now_w = stack.limits_w()
        assert all(now <= low + 0.01 for now, low in zip(now_w, low_w, strict=True)), (low_w, now_w)
        low_w = now_w
        time.sleep(0.2)
    assert held["in_force"]

    refused = stack.says("release", "node=node-1", exit_code=1)
    assert held["id"] in refused["why"]
    assert not refused["done"]

    cleared = stack.says("hold", "--clear")
    assert cleared["cleared"] == [held["id"]]
    stack.until(lambda: sum(stack.limits_w()) > sum(low_w) + 100, 30, "limits to rise again")

    forbidden = stack.says("release", "all", exit_code=1)
    assert forbidden["forbidden_w"]["pdu"] > 1000
    freed = stack.says("release", "--node", "node-1")
    assert (freed["done"], freed["gpus"], freed["nodes"]) == (True, 8, ["node-1"])
    with GuardianLink.open(stack.sockets()[0]) as guardian:
        assert {gpu.enforced_w for gpu in guardian.state().gpus} == {700.0}

    node_hold = stack.sockets()[0]
    on_node = stack.run("hold", "--socket", str(node_hold), "--json")
    assert json.loads(on_node.stdout)["held"]
    with GuardianLink.open(node_hold) as guardian:
        assert guardian.state().held
        guardian.clear()
