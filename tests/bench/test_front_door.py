"""`easyrider bench controllers`, from the command line to the files it leaves."""

import json
from pathlib import Path

from typer.testing import CliRunner

import easyrider_twin
from easyrider_cli.__main__ import app

TRACES = Path(easyrider_twin.__file__).parent / "data" / "traces"


def test_recordings_of_a_folder_are_replayed_and_told_and_found_again(tmp_path: Path) -> None:
    asked = [
        "bench", "controllers", "--traces", str(TRACES), "--seeds", "1", "--quick", "--controller", "none",
        "--level", "30", "--out", str(tmp_path), "--json", str(tmp_path / "rows.json"),
    ]  # fmt: skip

    first = CliRunner().invoke(app, asked, catch_exceptions=False)
    again = CliRunner().invoke(app, asked, catch_exceptions=False)

    assert first.exit_code == again.exit_code == 0
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert (row["scenario"], row["oversub_pct"], row["controller"], row["seeds"]) == ("trace", 30, "none", 1)
    assert row["work_lost_pct"] == 0.0
    assert row["over_target_j"] > 0
    assert "trace 30 %" in first.stdout
    assert len(list((tmp_path / "cells").iterdir())) == 1
    assert (tmp_path / "controllers-part-lost.png").stat().st_size > 10_000
    assert "1 of 1 runs" in again.stderr
