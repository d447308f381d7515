"""What docs/install.md shows is taken by the programs that it is for; its commands are run in tests/deploy."""

import re
import subprocess
import sys
from pathlib import Path

from easyrider_infra_bridge.adapters.meters_file import read_meters
from easyrider_telemetry.adapters.jobs_file import JobsFile

BIN = Path(sys.executable).parent
PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text()


def block(language: str, begins: str) -> str:
    """The one example of a language that begins so."""
    found = [b for b in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S) if b.startswith(begins)]
    assert len(found) == 1, (language, begins)
    return found[0]


def test_the_rules_can_be_kept_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(block("yaml", "tree:"))

    done = subprocess.run(
        [BIN / "easyrider", "check", tmp_path / "rules.yaml"], capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert "can be kept" in done.stdout


def test_the_meters_are_read(tmp_path: Path) -> None:
    (tmp_path / "meters.yaml").write_text(block("yaml", "meters:"))

    meters = read_meters(tmp_path / "meters.yaml")

    rules = block("yaml", "tree:")
    assert [meter.kind for meter in meters] == ["power_meter", "ups"]
    assert all(f"meters: [{meter.id}]" in rules for meter in meters)


def test_the_jobs_are_read(tmp_path: Path) -> None:
    (tmp_path / "jobs.json").write_text(block("json", '{"jobs"'))

    [job] = JobsFile(tmp_path / "jobs.json").now() or []

    assert job.id == "4711"
    assert len(job.gpu_uuids) == 2
