"""docs/power-tree.md: its example is imported and checked by its own commands, its table is that of the program."""

import re
import subprocess
import sys
from pathlib import Path

from easyrider.tree_reader import read
from easyrider.trip_presets import written_into

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "power-tree.md").read_text()
EASYRIDER = Path(sys.executable).parent / "easyrider"


def block(kind: str) -> str:
    """The only block of a kind."""
    [text] = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)
    return text


def test_its_commands_import_and_check_its_example_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "netbox.json").write_text(block("json"))
    (tmp_path / "rest.yaml").write_text(block("yaml"))

    said = []
    for line in block("sh").splitlines():
        words, _, out = line.partition(" > ")
        assert words.startswith("easyrider ")
        done = subprocess.run(
            [EASYRIDER, *words.split()[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        if out:
            (tmp_path / out).write_text(done.stdout)
        said.append(done.stdout)

    assert "can be kept" in said[-1]
    rules = read((tmp_path / "tree.yaml").read_text(), "tree.yaml")
    assert next(d for d in rules.domains if d.id == "feed-1a").unconfirmed == ""
    assert rules.demands[0].month_peak_w == 31_000.0


def test_its_table_of_presets_is_that_of_the_program() -> None:
    assert written_into(PAGE) == PAGE, "write it anew: python -m easyrider.trip_presets"
