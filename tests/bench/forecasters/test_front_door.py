"""`easyrider bench forecasters`, from the command line to the files it leaves."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from easyrider_cli.__main__ import app
from easyrider_forecast_bench.running import Asked, NothingToForecast, UnknownName, run


def folder_of_one(place: Path) -> Path:
    """Synthetic: a square wave of 4 s on two boards, 120 s at 10 Hz, in the format of recordings."""
    folder = place / "traces"
    folder.mkdir()
    with gzip.open(folder / "square__2x700w.csv.gz", "wt") as file:
        file.write("t_s,gpu,power_w\n")
        for t_s in np.arange(0, 120.05, 0.1):
            file.write("".join(f"{t_s:.1f},{gpu},{600 if t_s % 4 < 3 else 250}\n" for gpu in (0, 1)))
    return folder


def test_recordings_of_a_folder_are_forecast_and_told_and_found_again(tmp_path: Path) -> None:
    asked = [
        "bench", "forecasters", "--traces", str(folder_of_one(tmp_path)), "--quick", "--model", "easyrider", "--model",
        "last-value", "--model", "window-10", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "rows.json"),
    ]  # fmt: skip

    first = CliRunner().invoke(app, asked, catch_exceptions=False)
    again = CliRunner().invoke(app, asked, catch_exceptions=False)

    assert first.exit_code == again.exit_code == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert {row["model"] for row in rows} == {"easyrider", "last-value", "window-10"}
    assert {(row["family"], row["series"]) for row in rows} == {("recorded", "square__2x700w")}
    assert all(row["n_origins"] > 0 and row["mae_mean_w"] > 0 for row in rows)
    assert "recordings of 100 s or more" in first.stdout
    assert "0 of 3 runs" in first.stderr
    assert "3 of 3 runs" in again.stderr
    assert (tmp_path / "out" / "forecasters-part-mean.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (Asked(out=Path()), "forecasters"),
        (Asked(out=Path(), quick=True), "forecasters-quick"),
        (Asked(out=Path(), traces=Path()), "forecasters-traces"),
        (Asked(out=Path(), traces=Path(), quick=True), "forecasters-traces"),
        (Asked(out=Path(), models=("ets",)), "forecasters-part"),
    ],
)
def test_only_the_whole_bench_writes_the_whole_file(asked: Asked, name: str) -> None:
    assert asked.name == name


def test_names_that_are_not_there_and_empty_folders_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="there is no model sarima"):
        run(Asked(out=tmp_path, models=("sarima",)), print, print)
    with pytest.raises(NothingToForecast, match="no recording"):
        run(Asked(out=tmp_path, traces=tmp_path), print, print)

    assert not list(tmp_path.iterdir())
