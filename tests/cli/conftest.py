"""One demonstration without processes: two real virtual runs, and a live run as its files would tell it; and a command
line as a person types it."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pytest

from easyrider import log
from easyrider_cli.__main__ import main
from easyrider_cli.demo import Demonstration, Live, Reference
from easyrider_cli.truth import PowerHistory, WorkHistory
from easyrider_twin.rack import demo_world, static_cap_w
from easyrider_twin.simulate import simulate

SECONDS = 120.0
JUDGED: dict[str, Any] = {
    "trips": 0, "sum_rule_violations": 0, "limit_out_of_range": 0, "late_commands_applied": 0, "limits_changed": 12,
    "overload_joules": 1.5, "drop_window_joules": 700.0,
}  # fmt: skip


@pytest.fixture(scope="session")
def shown() -> Demonstration:
    world = demo_world(1, SECONDS)
    cap_w = static_cap_w(world)
    static = simulate(world, SECONDS, caps_w=cap_w)
    kept = simulate(world, SECONDS, caps_w=cap_w + 40)
    seconds = np.arange(0.0, SECONDS)
    live = Live(
        outcome=kept.summary(),
        referee=JUDGED,
        journal={"ack": 40, "raise_waited": 3, "verified": 1},
        power=PowerHistory(t_s=kept.t_s, wall_w=kept.wall_w, hard_w=kept.hard_w, target_w=kept.target_w),
        work={
            job.id: WorkHistory(t_s=seconds, work_s=0.8 * seconds, uncapped_work_s=seconds)
            for job in kept.jobs
        },
        limits={job.id: (np.array([0.0, SECONDS]), np.array([300.0, 300.0])) for job in kept.jobs},
    )
    return Demonstration(
        seconds=SECONDS,
        world=world,
        without=Reference(cap_w=None, outcome=simulate(world, SECONDS)),
        static=Reference(cap_w=cap_w, outcome=static),
        live=live,
    )


@pytest.fixture
def said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., tuple[int, list[str]]]]:
    """Runs a command line in an empty folder: its exit code and its lines on stderr."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    # it would keep this test's stderr for others
    monkeypatch.setattr(log, "configure", lambda *_, **__: None)

    def run(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["easyrider", *arguments])
        code = main()
        return code, capsys.readouterr().err.splitlines()

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)
