"""Files of models and fingerprints: nothing but a plain file is read, once for all who ask; all are written or none."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_jobs import jobs, model_file

from easyrider_estimator.adapters import fingerprint_files
from easyrider_estimator.adapters import model_file as of_models
from easyrider_estimator.adapters.model_file import ModelFile
from easyrider_estimator.adapters.plain_files import NoPlainFile, write, write_all
from easyrider_estimator.core.model import ModelUnreadable, Ready, decode


def in_time(work: Callable[[], object]) -> BaseException | None:
    """What it raises; fails where it waits for somebody to write."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except (ModelUnreadable, NoPlainFile) as fault:
            raised.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10.0)
    assert not thread.is_alive(), "it waits for good"
    return raised[0] if raised else None


def test_a_pipe_in_place_of_a_model_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "estimator.json")

    fault = in_time(ModelFile(tmp_path / "estimator.json").read)

    assert isinstance(fault, ModelUnreadable)
    assert "estimator.json: it is no plain file" in str(fault)


def test_a_model_that_became_a_pipe_is_not_believed_and_one_put_back_is(tmp_path: Path) -> None:
    path = tmp_path / "estimator.json"
    write(path, model_file())
    held = ModelFile(path)
    assert held.read().model.fingerprints == 300

    path.unlink()
    os.mkfifo(path)
    fault = in_time(held.read)
    path.unlink()
    write(path, model_file())

    assert isinstance(fault, ModelUnreadable)
    assert held.read().model.fingerprints == 300


@pytest.mark.parametrize("name", ["pipe.json", "pipe.jsonl"])
def test_a_pipe_in_place_of_fingerprints_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    assert isinstance(in_time(lambda: fingerprint_files.read(tmp_path / name)), NoPlainFile)


def test_a_pipe_among_files_of_fingerprints_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    fingerprint_files.save(tmp_path / "some.jsonl", jobs(3, seed=1))

    assert len(fingerprint_files.read(tmp_path).by_id) == 3


def test_many_who_ask_at_once_have_a_new_model_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "estimator.json", model_file())
    held, all_here, reads = ModelFile(tmp_path / "estimator.json"), threading.Barrier(8), []

    def counted(data: bytes) -> Ready:
        reads.append(len(data))
        return decode(data)

    def ask() -> None:
        all_here.wait(10.0)
        held.read()

    monkeypatch.setattr(of_models, "decode", counted)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)

    assert len(reads) == 1


def test_where_one_of_several_cannot_be_written_all_stay_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "estimator.json").write_text("former")
    (tmp_path / "estimator.md").mkdir()

    with pytest.raises(IsADirectoryError):
        write_all({tmp_path / "estimator.json": b"new", tmp_path / "estimator.md": b"card"})
    with pytest.raises(FileNotFoundError):
        write_all({tmp_path / "estimator.json": b"new", tmp_path / "gone" / "estimator.md": b"card"})

    assert (tmp_path / "estimator.json").read_text() == "former"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["estimator.json", "estimator.md"]
