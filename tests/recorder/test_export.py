"""Recorded samples as tables: every cell as it was measured, what is not valid empty, in CSV and in Parquet alike."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
import pytest
from made_site import Recorded
from rich.console import Console
from said import NOON_NS
from wired_box import frame

from easyrider import quality, wire
from easyrider_cli.__main__ import main
from easyrider_cli.export_command import NothingToWrite, export
from easyrider_cli.export_rows import COLUMNS
from easyrider_cli.moment_option import BadMomentOption
from easyrider_cli.recorded_stretch import NothingRecorded
from easyrider_recorder.adapters.segment import Segment
from easyrider_recorder.core.framing import Record
from easyrider_recorder.core.places import hour_of

UUIDS = ["GPU-a", "GPU-b"]


def recorded(folder: Path, *frames: Any) -> Path:
    segment = Segment.create(folder / "r", hour_of(NOON_NS), {"boot_id": "boot-r"})
    records = [
        Record("easyrider.v1.frame.r.a", k, NOON_NS + k, wire.encode(told)) for k, told in enumerate(frames)
    ]
    segment.write(records, 0)
    segment.close()
    return folder


def exported(folder: Path, said: StringIO | None = None, **where: Any) -> int:
    known: dict[str, Any] = {
        "region": None,
        "begins": None,
        "ends": None,
        "csv_file": None,
        "parquet_file": None,
    }
    return export(folder=folder, console=Console(file=said or StringIO(), width=120), **{**known, **where})


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def sample(**other: Any) -> Any:
    """Two rows, 100 ms apart, of two boards."""
    told = frame(
        "a",
        UUIDS,
        [[300.0, 400.0], [310.0, 410.0]],
        [[500.0, 600.0]] * 2,
        gpus=",".join(UUIDS),
        t_ns=NOON_NS,
        mono_ns=1,
    )
    return msgspec.structs.replace(told, **other)


def test_each_sample_is_a_row_with_power_limit_energy_window_refresh_and_quality(tmp_path: Path) -> None:
    folder, file = recorded(tmp_path, sample()), tmp_path / "gpus.csv"

    count = exported(folder, csv_file=file)

    told = rows(file)
    assert count == len(told) == 4
    assert tuple(told[0]) == COLUMNS
    assert [(row["gpu"], float(row["power_w"]), float(row["limit_w"])) for row in told] == [
        ("GPU-a", 300.0, 500.0), ("GPU-b", 400.0, 600.0), ("GPU-a", 310.0, 500.0), ("GPU-b", 410.0, 600.0),
    ]  # fmt: skip
    assert (told[0]["window_s"], told[0]["refresh_s"], told[0]["power_quality"]) == ("0.1", "0.1", "valid")
    assert float(told[2]["time"]) - float(told[0]["time"]) == pytest.approx(0.1, abs=1e-6)


def test_a_cell_that_is_not_valid_is_empty_and_says_why(tmp_path: Path) -> None:
    missing = bytes([quality.MISSING, quality.STUCK, quality.VALID, quality.BLANK])
    folder, file = recorded(tmp_path, sample(power_ok=missing)), tmp_path / "gpus.csv"

    exported(folder, csv_file=file)

    told = [(row["power_w"], row["power_quality"], row["mean_w"]) for row in rows(file)]
    assert told == [
        ("", "missing", "300.0"), ("", "stuck", "400.0"), ("310.0", "valid", "310.0"), ("", "blank", "410.0"),
    ]  # fmt: skip


def test_parquet_holds_the_same_with_nulls(tmp_path: Path) -> None:
    missing = bytes([quality.MISSING, 0, 0, 0])
    folder = recorded(tmp_path, sample(power_ok=missing))

    exported(folder, csv_file=tmp_path / "gpus.csv")
    exported(folder, parquet_file=tmp_path / "gpus.parquet")

    table = pyarrow.parquet.read_table(tmp_path / "gpus.parquet").to_pylist()
    plain = rows(tmp_path / "gpus.csv")
    assert table[0]["power_w"] is None
    for was, row in zip(plain, table, strict=True):
        assert {name: _plain(value) for name, value in row.items()} == {
            name: was[name] if isinstance(row[name], str) else _number(was[name]) for name in COLUMNS
        }


def _plain(value: Any) -> Any:
    return "" if value is None else value


def _number(text: str) -> Any:
    return float(text) if text else ""


def test_samples_that_nothing_named_yet_are_counted_and_left_out(tmp_path: Path) -> None:
    folder, said = recorded(tmp_path, sample(gpus=""), sample()), StringIO()

    count = exported(folder, said, csv_file=tmp_path / "gpus.csv")

    assert count == 4
    assert "2 samples are of boards that nothing had named yet" in said.getvalue()


def test_a_state_names_boards_too(tmp_path: Path) -> None:
    site = Recorded()
    state = site.boxes["a"].state(1000.0)
    uuids = site.boxes["a"].uuids
    of_box = frame("a", uuids, [[1.0, 1.0]], [[1.0, 1.0]], mono_ns=1)
    told = msgspec.structs.replace(sample(gpus=""), gpus_hash=of_box.gpus_hash)
    segment = Segment.create(tmp_path / "r", hour_of(NOON_NS), {})
    said = [("easyrider.v1.state.r.a", state), ("easyrider.v1.frame.r.a", told)]
    segment.write([Record(subject, 1, NOON_NS, wire.encode(message)) for subject, message in said], 0)
    segment.close()

    assert exported(tmp_path, csv_file=tmp_path / "gpus.csv") == 4
    assert {row["gpu"] for row in rows(tmp_path / "gpus.csv")} == set(uuids)


def test_bytes_that_are_no_message_are_counted_and_the_rest_is_written(tmp_path: Path) -> None:
    folder, said = recorded(tmp_path, sample(), sample()), StringIO()
    segment = Segment.create(folder / "r", hour_of(NOON_NS), {})
    segment.write([Record("easyrider.v1.frame.r.a", 9, NOON_NS + 9, b"\xc1")], 0)
    segment.close()

    assert exported(folder, said, csv_file=tmp_path / "gpus.csv") == 8
    assert "1 messages could not be read" in said.getvalue()


def test_an_export_without_a_row_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recorded(tmp_path / "recording", sample(gpus=""))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("sys.argv", ["easyrider", "export", str(folder), "--csv", str(tmp_path / "gpus.csv")])

    assert main() == 1


def test_a_stretch_of_which_nothing_was_recorded_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    folder, file = recorded(tmp_path / "recording", sample()), tmp_path / "gpus.csv"

    with pytest.raises(NothingRecorded, match="goes from"):
        exported(folder, csv_file=file, begins="2040-01-01T00:00:00Z")
    with pytest.raises(BadMomentOption, match="is later than"):
        exported(folder, csv_file=file, begins="2040-01-01T00:00:00Z", ends="2039-01-01T00:00:00Z")

    assert not file.exists()


def test_one_file_is_named_or_nothing_is_done(tmp_path: Path) -> None:
    with pytest.raises(NothingToWrite):
        exported(tmp_path)
