"""Children of a stack: started, watched, ended by their own id and no other."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from easyrider_cli.process import Child, ChildFailed, end_all, last_lines, wait_for

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
MEEK = "print('up', flush=True); import time; time.sleep(60)"


def child(tmp_path: Path, code: str, name: str = "c") -> Child:
    return Child(name, [sys.executable, "-c", code], tmp_path / f"{name}.log")


def up(started: Child) -> bool:
    return "up" in started.log.read_text()


def test_a_child_ends_when_asked(tmp_path: Path) -> None:
    one = child(tmp_path, MEEK)
    one.start()
    wait_for(one, lambda: up(one), 20)

    assert one.end() == -signal.SIGTERM
    assert not one.running()


def test_a_frozen_child_ends_too(tmp_path: Path) -> None:
    one = child(tmp_path, MEEK)
    one.start()
    wait_for(one, lambda: up(one), 20)
    one.signal(signal.SIGSTOP)

    assert one.end() == -signal.SIGTERM


def test_children_that_will_not_end_are_killed_side_by_side(tmp_path: Path) -> None:
    several = [child(tmp_path, STUBBORN, f"c{number}") for number in range(3)]
    for each in several:
        each.start()
    for each in several:
        wait_for(each, lambda each=each: up(each), 20)
    began_s = time.monotonic()

    end_all(several, patience_s=1.0)

    assert time.monotonic() - began_s < 2.5
    assert [each.process.returncode for each in several if each.process] == [-signal.SIGKILL] * 3


def test_only_own_processes_are_ended(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", MEEK], stdout=subprocess.DEVNULL)
    one = child(tmp_path, MEEK)
    one.start()

    end_all([one, child(tmp_path, MEEK, "never-started")])

    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_setting_of_the_user_does_not_reach_a_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EASYRIDER_POLICY_TREE", "other")
    monkeypatch.setenv("LANG", "C")
    shows = "import os; print(*sorted(n for n in os.environ if n.startswith(('EASYRIDER_', 'LANG'))))"
    one = Child("c", [sys.executable, "-c", shows], tmp_path / "c.log", {"EASYRIDER_POLICY_REGION": "local"})
    one.start()
    assert one.process is not None

    assert one.process.wait(20) == 0

    assert one.log.read_text() == "EASYRIDER_POLICY_REGION LANG\n"


def test_an_ended_child_is_sent_no_signal_that_its_successor_could_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = child(tmp_path, "pass")
    one.start()
    assert one.process is not None
    one.process.wait(20)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a signal was sent"))

    one.ask_to_end()

    assert one.end() == 0


def test_children_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from easyrider_cli.process import Child\n"
        f"c = Child('c', [sys.executable, '-c', {MEEK!r}], Path(sys.argv[1])); c.start()\n"
        "print(c.pid, flush=True); import time; time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "c.log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())

    parent.kill()
    parent.wait()

    await_end(pid)
    parent.stdout.close()


def test_a_frozen_child_ends_with_its_parent_where_that_is_asked_for(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from easyrider_cli.process import Child\n"
        f"c = Child('c', [sys.executable, '-c', {MEEK!r}], Path(sys.argv[1]), orphaned=signal.SIGKILL)\n"
        "c.start(); c.signal(signal.SIGSTOP); print(c.pid, flush=True); import time; time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "c.log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())

    parent.kill()
    parent.wait()

    await_end(pid)
    parent.stdout.close()


def await_end(pid: int, within_s: float = 10.0) -> None:
    end_s = time.monotonic() + within_s
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_a_child_that_ends_before_it_is_ready_is_told_with_its_last_words(tmp_path: Path) -> None:
    one = child(tmp_path, "import sys; sys.exit('no board here')")
    one.start()

    with pytest.raises(ChildFailed, match=r"ended with code 1 before it was ready.*no board here"):
        wait_for(one, lambda: False, 20)


def test_a_child_that_is_never_ready_is_told_with_the_time(tmp_path: Path) -> None:
    one = child(tmp_path, MEEK)
    one.start()

    with pytest.raises(ChildFailed, match="was not ready within 0 s"):
        wait_for(one, lambda: False, 0.2)
    one.end()


def test_a_log_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "none") == "(no log: No such file or directory)"
