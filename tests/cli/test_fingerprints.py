"""`easyrider fingerprints`: what is remembered of types of jobs, in lines and pictures."""

import json
from pathlib import Path

import msgspec
import pytest

from easyrider.fingerprints import BINS, Fingerprint, Pauses, SpeedPoint, Startup, encode
from easyrider.job_types import JobType
from easyrider_cli.__main__ import app

WHOLE = Fingerprint(
    type=JobType(name="llm $x_1$", configuration="batch=32", gpu_model="H100", gpu_count=8), runs=2, seconds=900,
    learned_unix_s=1.8e9, updated_unix_s=1.8e9, max_w=700.0, idle_w=75.0, mean_w=510.5, spread_w=12.0, p99_w=655.0,
    peak_w=660.0, hidden=0.25, period_s=3.2, shape_w=tuple(300.0 + 4 * k for k in range(BINS)),
    startup=Startup(mean_w=(80.0, None, 600.0), settles_s=4.0),
    pauses=Pauses(cadence_s=240.0, long_s=12.0, depth_w=150.0, stalls_per_hour=4.0),
    points=(SpeedPoint(limit_share=0.7, speed_ratio=0.97, seconds=40.0),),
)  # fmt: skip
BARE = Fingerprint(
    type=JobType(name="eval", gpu_count=1), seconds=90, learned_unix_s=1.7e9, updated_unix_s=1.7e9, max_w=700.0,
    idle_w=75.0, mean_w=200.0, spread_w=90.0, p99_w=400.0, peak_w=None, hidden=0.0,
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kept.jsonl"
    path.write_bytes(encode(BARE) + b"\n" + encode(WHOLE) + b"\njunk\n")
    return path


def test_every_type_is_a_line_newest_first_and_what_is_unknown_is_said(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app(["fingerprints", str(file)], standalone_mode=False)

    said = capsys.readouterr()
    first, second = said.out.splitlines()
    assert first.startswith(WHOLE.id)
    assert "peak 660 W, period 3.20 s, checkpoints every 240 s; 2 runs" in first
    assert "1 x GPU: mean 200 W, peak unknown, no period; 1 run" in second
    assert "left aside: kept.jsonl:3" in said.err


def test_a_picture_of_each_is_drawn_also_of_one_that_is_nearly_unknown(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app(["fingerprints", str(file), "--plots", str(tmp_path / "out"), "--json"], standalone_mode=False)

    told = json.loads(capsys.readouterr().out)
    assert [Path(picture).name for picture in told["pictures"]] == [
        f"fingerprint-{one.id}.png" for one in (WHOLE, BARE)
    ]
    assert all(Path(picture).read_bytes().startswith(b"\x89PNG") for picture in told["pictures"])
    assert told["fingerprints"][1]["peak_w"] is None


@pytest.mark.filterwarnings("error")
def test_a_name_that_no_font_has_is_drawn_without_a_warning(tmp_path: Path) -> None:
    named = msgspec.structs.replace(WHOLE, type=JobType(name="llm 模型 🦙 $", gpu_count=8))
    (tmp_path / "kept.json").write_bytes(encode(named))

    app(
        ["fingerprints", str(tmp_path / "kept.json"), "--plots", str(tmp_path / "out")], standalone_mode=False
    )

    assert [file.name for file in (tmp_path / "out").iterdir()] == [f"fingerprint-{named.id}.png"]


def test_types_are_chosen_by_name(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["fingerprints", str(file), "--name", "eval"], standalone_mode=False)

    assert [line[: len(BARE.id)] for line in capsys.readouterr().out.splitlines()] == [BARE.id]
