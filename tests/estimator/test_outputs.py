"""`easyrider train` writes over nothing but a former one of the same kind, and all of its three files or none."""

import os
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from synthetic_jobs import NOTE, OneFit, jobs, model_file

from easyrider.errors import EasyRiderError
from easyrider.fingerprints import encode
from easyrider_cli import importance_plot, train_command
from easyrider_cli.train_outputs import CannotTrain, outputs
from easyrider_estimator.adapters.fingerprint_files import Found, read, save
from easyrider_estimator.core.card import card
from easyrider_estimator.core.model import decode


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of fingerprints."""
    (tmp_path / "data").mkdir()
    save(tmp_path / "data" / "all.jsonl", jobs(45, seed=1))
    return tmp_path / "data"


@pytest.mark.parametrize("name", ["thesis.json", "data/all.jsonl", "README.json", "photo.json"])
def test_no_file_of_another_kind_is_written_over(tmp_path: Path, data: Path, name: str) -> None:
    (tmp_path / "thesis.json").write_text('{"years": "of work"}')
    (tmp_path / "README.md").write_text("# What matters\n")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n of somebody")

    with pytest.raises(CannotTrain, match=r"the file there is no .*, and stays"):
        outputs(tmp_path / name, None, data)


def test_a_former_model_with_its_card_and_picture_is(tmp_path: Path, data: Path) -> None:
    out, ready = tmp_path / "estimator.json", decode(model_file())
    out.write_bytes(model_file())
    out.with_suffix(".md").write_text(card(ready))
    out.with_suffix(".png").write_bytes(b"\x89PNG\r\n\x1a\n as an earlier release drew it")
    assert outputs(out, None, data).model == out

    out.unlink()
    out.with_suffix(".png").write_bytes(importance_plot.drawn(ready))

    assert outputs(out, None, data).picture == out.with_suffix(".png")


@pytest.mark.parametrize(
    ("out", "export", "why"),
    [
        ("a.json", "a.json", "--out .* writes that file"),
        ("a.json", "./data/../a.md", "--out .* writes that file"),
        ("a.json", "a.png", "--out .* writes that file"),
        ("a.json", "data/all.jsonl", "one of those that are read"),
        ("a.json", "notes.txt", "no file of fingerprints"),
        ("a.json", "link.jsonl", "one of those that are read"),
    ],
)
def test_an_export_writes_over_neither_what_is_read_nor_what_is_written(
    tmp_path: Path, data: Path, out: str, export: str, why: str
) -> None:
    (tmp_path / "notes.txt").write_text("nothing of ours")
    (tmp_path / "link.jsonl").symlink_to(data / "all.jsonl")

    for source in (data, data / "all.jsonl") if export != "link.jsonl" else (data / "all.jsonl",):
        with pytest.raises(CannotTrain, match=why):
            outputs(tmp_path / out, tmp_path / export, source)


def test_a_former_export_is_written_over_and_a_pipe_is_waited_for_by_nobody(
    tmp_path: Path, data: Path
) -> None:
    save(tmp_path / "again.jsonl", jobs(3, seed=1))
    os.mkfifo(tmp_path / "pipe.json")

    assert outputs(tmp_path / "a.json", tmp_path / "again.jsonl", data).export == tmp_path / "again.jsonl"
    with pytest.raises(EasyRiderError, match="no plain file"):
        outputs(tmp_path / "pipe.json", None, data)


def trained(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What it says while it trains."""
    said = StringIO()
    monkeypatch.setattr(train_command, "_library", lambda: (OneFit(), "one fit"))
    train_command.trained(
        lambda: read(source), outputs(out, None, source), note=NOTE + " 模型 🦙 $x$", as_json=True,
        said=Console(file=said, width=200), console=Console(file=StringIO()),
    )  # fmt: skip
    return said.getvalue()


def test_where_the_card_cannot_be_written_the_former_model_stays_and_nothing_is_left_beside_it(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "estimator.json"
    out.write_bytes(model_file())
    drawn = train_command._drawn
    monkeypatch.setattr(  # somebody makes a folder of that name while it trains
        train_command, "_drawn", lambda *those: (out.with_suffix(".md").mkdir(), drawn(*those))[1]
    )

    with pytest.raises(IsADirectoryError):
        trained(data, out, monkeypatch)

    assert out.read_bytes() == model_file()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "estimator.json", "estimator.md"]


@pytest.mark.filterwarnings("error")
def test_a_note_that_no_font_has_is_drawn_without_a_warning(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = trained(data, tmp_path / "estimator.json", monkeypatch)

    assert (tmp_path / "estimator.png").read_bytes().startswith(b"\x89PNG")
    assert " 14 % after 0 s: p99_w" in said


def test_two_that_go_by_one_id_are_told_and_which_is_learned_from() -> None:
    [one] = jobs(1, seed=1)
    turned = msgspec.structs.replace(
        one.type, configuration=",".join(reversed(one.type.configuration.split(",")))
    )
    found = Found()
    found.take("a.jsonl:1", encode(msgspec.structs.replace(one, revision=7)))
    found.take("b.jsonl:1", encode(msgspec.structs.replace(one, revision=7)))
    assert found.merged == []

    found.take("c.jsonl:1", encode(msgspec.structs.replace(one, type=turned, revision=3)))
    found.take("d.jsonl:1", encode(msgspec.structs.replace(one, revision=7, runs=9)))

    assert found.merged[0].startswith(f"c.jsonl:1: fingerprint {one.id} was read before, of 'batch=")
    assert "which are one type; revision 7 is learned from, not 3" in found.merged[0]
    assert found.merged[1].endswith("revision 7 is learned from, the one read last")
    assert found.by_id[one.id].runs == 9


def test_a_damaged_one_of_a_file_is_not_said_to_be_learned_anew() -> None:
    [one] = jobs(1, seed=1)
    found = Found()

    found.take("a.jsonl:1", encode(one).replace(b'"hidden":0.0', b'"hidden":7.0'))

    [why] = found.unreadable
    assert why.startswith("a.jsonl:1: ")
    assert "learned anew" not in why


def test_fingerprints_of_jobs_that_drew_nothing_are_counted_with_that_reason(tmp_path: Path) -> None:
    idle = [
        msgspec.structs.replace(one, mean_w=0.0, p99_w=0.0, peak_w=0.0, idle_w=0.0) for one in jobs(45, 1)
    ]
    save(tmp_path / "idle.jsonl", idle)

    with pytest.raises(EasyRiderError, match=r"0 of 45 .*; 45 drew nothing"):
        train_command.trained(
            lambda: read(tmp_path), outputs(tmp_path / "a.json", None, None), note="", as_json=True,
            said=Console(file=StringIO()), console=Console(file=StringIO()),
        )  # fmt: skip
