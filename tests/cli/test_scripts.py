"""Console scripts end by Ctrl-C without a word, also while they are still being imported."""

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
HANGS = "import pathlib, time\npathlib.Path(__file__).with_suffix('.begun').touch()\ntime.sleep(60)\n"


def called(name: str, **more: object) -> "subprocess.Popen[str]":
    """A console script as an installer writes it."""
    module, _, attribute = SCRIPTS[name].partition(":")
    code = f"import sys\nfrom {module} import {attribute}\nsys.exit({attribute}())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "--version" if name != "easyrider" else "version"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def listening() -> None:
    """Tests run in the background inherit a deaf one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("name", SCRIPTS)
def test_ctrl_c_during_imports_ends_without_a_word(name: str, tmp_path: Path) -> None:
    foreign = tmp_path / ("typer.py" if name == "easyrider" else "structlog.py")
    foreign.write_text(HANGS)
    script = called(name, cwd=tmp_path, preexec_fn=listening)
    end_s = time.monotonic() + 30
    while not foreign.with_suffix(".begun").exists():
        assert script.poll() is None, script.stderr.read()
        assert time.monotonic() < end_s
        time.sleep(0.01)

    script.send_signal(signal.SIGINT)

    said = script.communicate(timeout=20)
    assert (script.returncode, *said) == (130, "", "")


@pytest.mark.parametrize("name", ["easyrider", "easyrider-guardian"])
def test_a_script_runs_its_program(name: str) -> None:
    script = called(name)

    said, _ = script.communicate(timeout=30)

    assert script.returncode == 0
    assert "0." in said


def test_who_was_started_deaf_to_ctrl_c_stays_so(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(HANGS.replace("60", "1"))
    script = called(
        "easyrider", cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    while not (tmp_path / "typer.begun").exists():
        time.sleep(0.01)

    script.send_signal(signal.SIGINT)

    script.communicate(timeout=20)
    assert script.returncode == 1  # what stands in for the library is none
