"""docs/estimator.md: its commands are run as they stand there, on SYNTHETIC jobs; and refusals of `easyrider train`."""

import asyncio
import json
import re
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_jobs import NOTE, job_type, jobs, model_file

from easyrider.fingerprints import Fingerprint, encode
from easyrider.store import Store
from easyrider.testing.servers import redis_server
from easyrider_cli import estimate_command, train_command
from easyrider_cli.__main__ import app
from easyrider_cli.train_outputs import outputs
from easyrider_estimator.adapters.fingerprint_files import NoFingerprints, read, save
from easyrider_estimator.adapters.plain_files import write
from easyrider_estimator.core.training import TooFewFingerprints

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "estimator.md").read_text()
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for line in block.splitlines()
    if line
]


def test_its_commands_work_one_after_the_other_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "fingerprints.jsonl", jobs(45, seed=1))

    said = []
    for line in LINES:
        program, *words = shlex.split(line)
        assert program == "easyrider"
        app(words, standalone_mode=False)
        said.append(capsys.readouterr().out)

    trained, machine, estimated, unknown = said
    assert "45 fingerprints" in trained
    assert json.loads(machine)["sha256"] == json.loads((tmp_path / "other.json").read_text())["sha256"]
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "fingerprints.jsonl").read_bytes()
    assert "SYNTHETIC jobs" in estimated
    assert re.search(r"reserve \d+\.\d kW for 64 GPUs", estimated)
    assert json.loads(unknown)["reserve_w"] == 64_000.0
    assert (tmp_path / "estimator.md").read_text().startswith("# Model card")
    assert (tmp_path / "estimator.png").read_bytes().startswith(b"\x89PNG")


def test_fingerprints_are_read_from_the_store_and_what_is_none_is_left_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = jobs(45, seed=1)
    with redis_server() as server:
        store = ["--redis-url", server.url, "--tree", "hall"]
        with pytest.raises(NoFingerprints, match="nothing was learned"):
            app(["train", *store, "--out", str(tmp_path / "none.json")], standalone_mode=False)
        asyncio.run(keep(server.url, kept))

        app(["train", *store, "--out", str(tmp_path / "estimator.json"), "--json"], standalone_mode=False)

    told = json.loads(capsys.readouterr().out)
    assert (told["fingerprints"], told["unreadable"]) == (45, 1)


async def keep(url: str, kept: list[Fingerprint]) -> None:
    async with Store.connect(url, deadline_s=5.0) as store:
        for one in kept:
            await store.save_fingerprint("hall", one.id, 1, encode(one))
        await store.save_fingerprint("hall", "damaged", 1, b"{")


def test_too_few_fingerprints_leave_the_model_that_was_there(tmp_path: Path) -> None:
    save(tmp_path / "few.jsonl", jobs(10, seed=1))
    (tmp_path / "estimator.json").write_text("the former one")

    with pytest.raises(TooFewFingerprints):
        train_command.trained(
            lambda: read(tmp_path), outputs(tmp_path / "model.json", None, tmp_path), note="", as_json=False,
            said=Console(file=StringIO()), console=Console(file=StringIO()),
        )  # fmt: skip

    assert (tmp_path / "estimator.json").read_text() == "the former one"
    assert not (tmp_path / "model.json").exists()


def test_without_the_extra_training_says_what_to_install_and_estimates_go_on(tmp_path: Path) -> None:
    path = tmp_path / "estimator.json"
    write(path, model_file())
    script = (
        "import sys; sys.modules['lightgbm'] = None\n"
        "from pathlib import Path\n"
        "from easyrider_cli import estimate_command, train_command\n"
        f"told = estimate_command.by_file(Path({str(path)!r}), {{'name': 'train-llama-1', 'gpu_count': 16,\n"
        "    'image': 'registry.example/llama', 'configuration': 'batch=32,precision=bf16',\n"
        "    'gpu_model': 'SYNTHETIC-700', 'gpu_max_w': None})\n"
        "print(told['basis'])\n"
        "try:\n    train_command._library()\nexcept train_command.CannotTrain as fault:\n    print(fault)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.splitlines()[0] == "model"
    assert "easyrider[estimator]" in done.stdout


def test_what_is_not_known_is_shown_as_unknown_and_never_as_zero(tmp_path: Path) -> None:
    path = tmp_path / "estimator.json"
    write(path, model_file())
    job = job_type("llama", "SYNTHETIC-700", 16, 32)
    asked = {"name": job.name, "image": job.image, "configuration": job.configuration, "gpu_count": 16}

    known = estimate_command.lines(estimate_command.by_file(path, asked | {"gpu_model": "SYNTHETIC-700"}))
    unknown = estimate_command.lines(estimate_command.by_file(path, asked | {"gpu_model": "UNHEARD-OF"}))

    assert NOTE in known[0]
    assert any("settles after" in line for line in known)
    assert "reserve unknown for 16 GPUs" in unknown
    assert not any("0 W" in line or "kW" in line for line in unknown)
    with pytest.raises(estimate_command.CannotEstimate, match="gpu-max-w"):
        estimate_command.by_file(path, asked | {"gpu_model": "UNHEARD-OF", "gpu_max_w": float("nan")})
