"""What goes wrong by name is one line on stderr and exit code 2, before anything was started."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EASYRIDER = str(Path(sys.executable).parent / "easyrider")


Said = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shorter than a test's name makes it: sockets of a stack in it must have room for their names."""
    return tmp_path_factory.mktemp("d")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("demo", "--seconds", "10"), "--seconds 10: from 120 to 3600"),
        (("demo", "--seconds", "nan"), "--seconds nan: from 120 to 3600"),
        (("demo", "--seconds", "1e9"), "from 120 to 3600"),
        (("demo", "--seconds", "soon"), "--seconds"),
        (("demo", "--seed", "-1"), "--seed"),
        (("demo", "--traces", "nowhere"), "no such folder"),
        (("demo", "--traces", "."), "recording"),
        (("demo", "--json", "no/where/r.json"), "there is no folder"),
        (("demo", "--json", "."), "it is a folder"),
        (("demo", "--out", "/proc/nowhere"), "--out"),
        (("demo", "--run", "full"), "--run full:"),
        (("demo", "--run", "full"), "holds files that no stack wrote"),
        (("demo", "--run", "/" + 100 * "x"), "too long for sockets"),
        (("demo", "--fast"), "--fast"),
        (("up", "--mode", "try"), "'try' is not one of"),
        (("plan", "--run", "nowhere"), "no stack is up"),
        (("plan", "--region", "a.b"), "--region: 'a.b' cannot stand in a subject"),
        (("plan", "--nats-url", "nats://127.0.0.1:9", "--seed-file", "none.nk"), "none.nk: No such file"),
        (("plan", "--nats-url", "nats://127.0.0.1:9", "--seed-file", "full/thesis.tex"), "no nkey seed"),
        (
            ("plan", "--nats-url", "nats://127.0.0.1:99999"),
            "--nats-url is no address such as nats://host:4222",
        ),
        (("plan", "--nats-url", "http://127.0.0.1"), "--nats-url is no address such as nats://host:4222"),
        (("hold", "--api", "http://[::1", "--token-file", "t"), "--api: its host or port makes no sense"),
        (
            ("hold", "--api", "http://[::1]:99999", "--token-file", "t"),
            "--api: its host or port makes no sense",
        ),
        (("hold", "--socket", "none", "--reason", 501 * "x"), "500 at most"),
        (("twin", "exec", "--run", "nowhere", "--", "true"), "no stack is up in nowhere"),
        (("restore", "--run", "nowhere"), "no guardian listens"),
        (("check", "nowhere.yaml"), "No such file"),
        (("fly",), "No such command"),
        (("twin", "exec", "--run", "nowhere", "--node", "node-9", "--", "true"), "no node 'node-9'"),
    ],
)
def test_a_fault_is_told_in_one_line_with_exit_code_2(
    tmp_path: Path, said: Said, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")

    code, lines = said(*arguments)

    assert code == 2
    assert lines[-1].startswith("easyrider: ")
    assert words in lines[-1]
    assert (tmp_path / "full" / "thesis.tex").exists()
    assert not any("sizing" in line for line in lines) or "recording" in words


WHOLE = gzip.compress(b"t_s,gpu,power_w\n" + b"".join(b"%d,0,600\n" % second for second in range(999)))


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        WHOLE[:200],
        WHOLE[:60] + b"????" + WHOLE[64:],
        gzip.compress(b"a,b\n1,2\n"),
        gzip.compress(b""),
    ],
    ids=["foreign", "cut", "damaged", "columns", "empty"],
)
def test_a_recording_that_cannot_be_read_is_refused_by_name(
    tmp_path: Path, said: Said, content: bytes
) -> None:
    (tmp_path / "job.csv.gz").write_bytes(content)

    code, lines = said("demo", "--traces", str(tmp_path))

    assert code == 2
    assert lines[-1].startswith("easyrider: ")
    assert str(tmp_path) in lines[-1]


@pytest.mark.parametrize(
    ("rows", "row", "words"),
    [
        (2_100_000, b"1,0,6\n", "more than 2000000 rows"),
        (70, b"1,0,600" + 1_000_000 * b"0" + b"\n", "64 MB unpacked"),
    ],
    ids=["rows", "bytes"],
)
def test_recordings_that_would_fill_the_memory_are_refused_before_anything_is_sized(
    tmp_path: Path, said: Said, rows: int, row: bytes, words: str
) -> None:
    (tmp_path / "job.csv.gz").write_bytes(gzip.compress(b"t_s,gpu,power_w\n" + rows * row, 1))

    code, lines = said("demo", "--traces", str(tmp_path))

    assert code == 2
    assert lines[-1].startswith(f"easyrider: --traces {tmp_path}: ")
    assert words in lines[-1]
    assert not any("sizing" in line for line in lines)


def test_without_a_compiler_there_is_one_line_of_advice(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    code, lines = said("demo")

    assert code == 2
    assert lines[-1].endswith("there is no C compiler; install one (gcc or clang), or `pip install ziglang`")


def test_a_fault_leaves_no_trace_of_python_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [EASYRIDER, "demo", "--seconds", "10"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_help_is_shown(tmp_path: Path) -> None:
    done = subprocess.run([EASYRIDER], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "demo" in done.stdout + done.stderr


def test_what_needs_a_package_that_is_not_installed_says_so_in_a_line(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lean(*_: object) -> int:
        raise ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure")

    monkeypatch.setattr("easyrider_cli.check_command.check", lean)

    code, lines = said("check", "rules.yaml")

    assert code == 2
    assert len(lines) == 1
    assert "needs the package matplotlib.figure, which is not installed here" in lines[0]


def test_a_module_of_our_own_that_is_missing_is_a_fault_of_ours(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise ModuleNotFoundError("No module named 'easyrider_cli.gone'", name="easyrider_cli.gone")

    monkeypatch.setattr("easyrider_cli.check_command.check", broken)

    with pytest.raises(ModuleNotFoundError):
        said("check", "rules.yaml")
