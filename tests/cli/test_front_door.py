"""What goes wrong by name is one line on stderr and exit code 2, before anything was started."""

import subprocess
import sys
from pathlib import Path

import pytest

EASYRIDER = str(Path(sys.executable).parent / "easyrider")


def said(*arguments: str, cwd: Path) -> tuple[int, list[str]]:
    done = subprocess.run([EASYRIDER, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("demo", "--seconds", "10"), "10.0 s is too short: the failure needs 120 s"),
        (("demo", "--seconds", "nan"), "from 120 to 3600"),
        (("demo", "--seconds", "1e9"), "from 120 to 3600"),
        (("demo", "--seconds", "soon"), "--seconds"),
        (("demo", "--seed", "-1"), "--seed"),
        (("demo", "--traces", "nowhere"), "no such folder"),
        (("demo", "--traces", "."), "recording"),
        (("demo", "--json", "no/where/r.json"), "there is no folder"),
        (("demo", "--json", "."), "it is a folder"),
        (("demo", "--out", "/proc/nowhere"), "--out"),
        (("demo", "--run", "full"), "holds files that no stack wrote"),
        (("demo", "--run", "/" + 100 * "x"), "too long for sockets"),
        (("demo", "--fast"), "--fast"),
        (("up", "--mode", "try"), "'try' is not one of"),
        (("plan", "--run", "nowhere"), "no stack is up"),
        (("restore", "--run", "nowhere"), "no guardian listens"),
        (("check", "nowhere.yaml"), "No such file"),
        (("fly",), "No such command"),
        (("twin", "exec", "--run", "nowhere", "--node", "node-9", "--", "true"), "no node 'node-9'"),
    ],
)
def test_a_fault_is_told_in_one_line_with_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")

    code, lines = said(*arguments, cwd=tmp_path)

    assert code == 2
    assert lines[-1].startswith("easyrider: ")
    assert words in lines[-1]
    assert (tmp_path / "full" / "thesis.tex").exists()


def test_recordings_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "job.csv.gz").write_bytes(b"no gzip")

    code, lines = said("demo", "--traces", str(tmp_path), cwd=tmp_path)

    assert code == 2
    assert lines[-1].startswith("easyrider: ")


def test_without_a_compiler_there_is_one_line_of_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    code, lines = said("demo", cwd=tmp_path)

    assert code == 2
    assert lines[-1].endswith("there is no C compiler; install one (gcc or clang), or `pip install ziglang`")


def test_without_a_command_help_is_shown(tmp_path: Path) -> None:
    done = subprocess.run([EASYRIDER], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "demo" in done.stdout + done.stderr
