"""Commands that are printed for people work as they are printed, from where these people are."""

import sys
from pathlib import Path

import pytest

from easyrider_cli.front_door import front_door

BIN = Path(sys.executable).parent


def test_on_the_path_the_name_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(BIN))

    assert front_door() == "easyrider"


def test_off_the_path_it_is_a_place_that_exists_from_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(BIN.parent.parent)
    assert front_door() == f"{BIN.parent.name}/{BIN.name}/easyrider"

    monkeypatch.chdir(tmp_path)
    assert front_door() == str(BIN / "easyrider")


def test_another_program_of_that_name_is_not_taken_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "easyrider"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert Path(front_door()).name == "easyrider"
    assert front_door() != "easyrider"
