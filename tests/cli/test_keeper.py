"""A stack that is kept up: what died comes back, once a second later, and not for ever."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from easyrider_cli.keeper import MOST, Keeper, NotKeptUp
from easyrider_cli.process import how_it_ended
from easyrider_cli.rundir import RunFolder


@dataclass
class Stack:
    """As much of a stack as a keeper sees."""

    folder: RunFolder
    gone: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)

    def dead(self) -> list[str]:
        return sorted(self.gone)

    def last_of(self, name: str) -> str:
        return f"{name} (pid 7) was killed by SIGKILL"

    def again(self, name: str) -> int:
        self.gone.discard(name)
        self.started.append(name)
        return 8


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(RunFolder(tmp_path))


def keeper(stack: Stack, clock: Clock, said: list[str]) -> Keeper:
    return Keeper(stack, said.append, clock)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["policy", "nats-server", "valkey-server", "guardian-node-1"])
def test_what_died_is_started_again_after_a_second_and_told_in_one_line(stack: Stack, name: str) -> None:
    clock, said = Clock(), list[str]()
    kept = keeper(stack, clock, said)
    stack.gone.add(name)

    kept.look()
    clock.now_s += 0.9
    kept.look()
    assert stack.started == []
    clock.now_s += 0.2
    kept.look()
    kept.look()

    assert stack.started == [name]
    assert said == [f"{name} (pid 7) was killed by SIGKILL; started again as pid 8"]


def test_what_dies_again_and_again_ends_the_stack(stack: Stack) -> None:
    clock, said = Clock(), list[str]()
    kept = keeper(stack, clock, said)

    def dies() -> None:
        stack.gone.add("forecaster")
        kept.look()
        clock.now_s += 1.1
        kept.look()

    for _ in range(MOST):
        dies()
    with pytest.raises(NotKeptUp, match=r"forecaster .* after 5 starts in 60 s.*everything was stopped"):
        dies()

    assert stack.started == ["forecaster"] * MOST


def test_deaths_a_minute_apart_are_forgiven(stack: Stack) -> None:
    clock = Clock()
    kept = keeper(stack, clock, [])

    for _ in range(3 * MOST):
        stack.gone.add("policy")
        kept.look()
        clock.now_s += 20.0
        kept.look()

    assert len(stack.started) == 3 * MOST


def test_the_end_of_the_hardware_ends_the_stack(stack: Stack) -> None:
    kept = keeper(stack, Clock(), [])
    stack.gone.add("twin")

    with pytest.raises(NotKeptUp, match=r"twin \(pid 7\) was killed by SIGKILL.*everything was stopped"):
        kept.look()


def test_a_deleted_run_folder_ends_the_stack_also_with_another_in_its_place(tmp_path: Path) -> None:
    stack = Stack(RunFolder(tmp_path / "run"))
    stack.folder.root.mkdir()
    kept = keeper(stack, Clock(), [])
    stack.folder.root.rename(tmp_path / "away")
    stack.folder.root.mkdir()

    with pytest.raises(NotKeptUp, match=r"run folder .* was deleted; everything was stopped"):
        kept.look()


def test_an_exit_code_is_told_in_words() -> None:
    assert how_it_ended(-9) == "was killed by SIGKILL"
    assert how_it_ended(3) == "ended with code 3"
