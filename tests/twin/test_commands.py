"""`python -m easyrider_twin` from a person's side."""

import json
from pathlib import Path

import pytest

from easyrider_twin.__main__ import main
from easyrider_twin.world import read


def test_a_printed_world_can_be_run_in_virtual_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worlds", "--seed", "2"]) == 0
    (tmp_path / "rack.yaml").write_text(capsys.readouterr().out)
    assert read(tmp_path / "rack.yaml").name == "demo-rack"

    assert main(["simulate", str(tmp_path / "rack.yaml"), "--static", "--json"]) == 0
    static = json.loads(capsys.readouterr().out)
    assert main(["simulate", str(tmp_path / "rack.yaml"), "--json"]) == 0
    free = json.loads(capsys.readouterr().out)

    assert static["trips"] == []
    assert len(free["trips"]) >= 1
    assert static["work_lost_pct"] > 0
    assert free["work_lost_pct"] > 20  # all jobs were killed; no more is known of which loses more


def test_a_person_gets_a_table_of_trips_domains_jobs_and_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["worlds", "--seed", "2"])
    (tmp_path / "rack.yaml").write_text(capsys.readouterr().out)
    rack = read(tmp_path / "rack.yaml")

    assert main(["simulate", str(tmp_path / "rack.yaml")]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert any("ups opened at" in line for line in lines)
    for name in ("ups", "pdu", *(job.id for job in rack.jobs)):
        assert any(line.split()[:1] == [name] for line in lines)
    assert all(any(note in line for line in lines) for note in rack.notes)
    assert any("synthetic" in line for line in lines)


@pytest.mark.parametrize("text", ["nodes: []\n", "{", "name: x\nsurprise: 1\nnodes: []\ndomains: []\n"])
def test_a_world_that_is_none_ends_with_code_2_and_its_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)

    assert main(["simulate", str(tmp_path / "bad.yaml")]) == 2
    assert "bad.yaml" in capsys.readouterr().err


def test_an_empty_folder_of_recordings_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worlds", "--traces", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_the_world_of_the_documentation_is_a_world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "twin.md").read_text()
    (tmp_path / "lab.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])

    assert main(["simulate", str(tmp_path / "lab.yaml"), "--seconds", "20"]) == 0
    assert "nothing opened" in capsys.readouterr().out


@pytest.mark.parametrize("watts", ["nan", "inf", "-5", "0"])
def test_a_cap_that_is_no_limit_is_refused(capsys: pytest.CaptureFixture[str], watts: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "rack.yaml", f"--cap-w={watts}"])

    assert ended.value.code == 2
    assert f"{watts} is no number of watts above 0" in capsys.readouterr().err
