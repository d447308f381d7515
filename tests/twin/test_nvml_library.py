"""Compiling the library at its first use."""

import subprocess
import sys

import pytest

from easyrider_twin import library


def test_processes_that_come_first_together_end_with_one_library(tmp_path):
    program = (
        "from pathlib import Path; from easyrider_twin import library;"
        f"print(library.folder(cache=Path({str(tmp_path)!r})))"
    )
    first = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]

    said = [process.communicate(timeout=100)[0] for process in first]

    (place,) = tmp_path.iterdir()
    assert said == [f"{place}\n"] * 3
    assert (place / library.SONAME).is_file()


def test_a_second_use_compiles_nothing(nvml_library, monkeypatch):
    monkeypatch.setattr(library, "_compile", lambda command: pytest.fail(f"compiled again: {command}"))

    assert library.folder(strict=True, cache=nvml_library.parent) == nvml_library


def test_the_cache_folder_is_where_the_desktop_standard_puts_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert library.cache_folder() == tmp_path / "easyrider"


def test_without_cc_the_wheel_compiler_is_taken_and_without_either_one_line_advises(monkeypatch):
    monkeypatch.setattr(library.shutil, "which", lambda name: None)
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: object())
    assert library.find_compiler()[1:] == ["-m", "ziglang", "cc"]

    monkeypatch.setattr(library.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(library.LibraryNotBuilt, match="pip install ziglang") as refused:
        library.find_compiler()
    assert "\n" not in str(refused.value)


def test_a_compiler_that_fails_is_quoted_and_leaves_no_half_library(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "find_compiler", lambda: ["/bin/false"])

    with pytest.raises(library.LibraryNotBuilt, match="/bin/false"):
        library.folder(cache=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named_with_the_setting_that_moves_it(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(library.LibraryNotBuilt, match="XDG_CACHE_HOME"):
        library.folder(cache=tmp_path / "file")


def test_only_nvml_names_and_our_offsets_are_exported(nvml_library):
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", str(nvml_library / library.SONAME)],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        pytest.skip("no `nm` on this machine")
    names = {line.split()[-1] for line in shown.stdout.splitlines()}

    assert {name for name in names if not name.startswith("nvml")} == {"easyrider_twin_offset"}
    assert len(names) > 90
