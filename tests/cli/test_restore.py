"""What a person is told of limits given back, and why some were not."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from easyrider.messages import NodeState
from easyrider.messages.nodes import GpuState
from easyrider_cli import restore_command
from easyrider_cli.restore_command import restore

BOARD = GpuState(
    uuid="GPU-1", min_w=200.0, max_w=700.0, default_w=700.0, baseline_w=650.0, requested_w=300.0, enforced_w=300.0,
    fallback_w=250.0, settable=True, controlled=True,
)  # fmt: skip
LIMITED = NodeState(
    tree="site", region="local", node="node-1", boot_id="b", nonce=1, highest_epoch=4, highest_seq=7, armed=True,
    stage=0, leaving=False, gpus=(BOARD, BOARD), t_ns=1, mono_ns=1,
)  # fmt: skip


@dataclass
class Guardian:
    """A guardian that asks once and is answered by `becomes`."""

    becomes: NodeState
    state_now: NodeState = LIMITED

    def __enter__(self) -> "Guardian":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def state(self) -> NodeState:
        return self.state_now

    def leave(self) -> None:
        self.state_now = self.becomes


Told = Callable[[NodeState], tuple[int, str]]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Exit code and words of a restore whose guardian ends as given."""

    def run(becomes: NodeState) -> tuple[int, str]:
        (tmp_path / "guardian.sock").touch()
        link = type("Link", (), {"open": staticmethod(lambda _place: Guardian(becomes))})
        monkeypatch.setattr(restore_command, "GuardianLink", link)
        code = restore(run=tmp_path, socket=tmp_path / "guardian.sock", now=False, console=Console(width=300))
        return code, capsys.readouterr().out

    return run


def test_where_no_command_came_meanwhile_no_coordinator_answered(told: Told) -> None:
    code, words = told(LIMITED)

    assert code == 1
    assert "node-1: 2 GPUs still limited: no coordinator answered" in words
    assert "no room" not in words


def test_where_commands_came_it_was_the_sums_that_forbid_it(told: Told) -> None:
    code, words = told(msgspec.structs.replace(LIMITED, highest_seq=10))

    assert code == 1
    assert "2 GPUs still limited: no room now: the sums forbid the 1300 W it was found with" in words
    assert "no coordinator" not in words


def test_what_was_given_back_comes_with_a_word_on_what_follows(told: Told) -> None:
    code, words = told(msgspec.structs.replace(LIMITED, armed=False))

    assert code == 0
    assert "node-1: restored, 2 GPUs as they were found" in words
    assert "limits a node again" in words
