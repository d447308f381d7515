"""docs/install.md: its commands run as they stand there, in their order; those that do not say why not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from page import Block, blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "install.md"
BLOCKS = blocks(PAGE)


def of(language: str, where: str = "") -> list[Block]:
    return [block for block in BLOCKS if (block.language, block.where) == (language, where)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an operator works: the example rules lie there."""
    place = tmp_path_factory.mktemp("desk")
    (rules, *_) = [block for block in of("yaml") if block.text.startswith("tree:")]
    (place / "rules.yaml").write_text(rules.text)
    return place


@pytest.mark.parametrize("number", range(len(of("sh"))))
def test_a_command_of_the_page_runs_as_it_stands_there(desk: Path, number: int) -> None:
    environ = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", of("sh")[number].text],
        cwd=desk, env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, (of("sh")[number].text, done.stderr)


def test_what_init_wrote_for_the_page_is_what_its_next_steps_use(desk: Path) -> None:
    folders = {path.name for path in (desk / "site").iterdir() if path.is_dir()}

    assert {
        "telemetry-node-1",
        "actuator-node-1",
        "guardian-node-1",
        "infra-bridge",
        "api",
        "admin",
    } <= folders
    assert {"nats", "redis", "policy", "forecaster"} <= folders
    assert (desk / "site" / "authority").stat().st_mode & 0o077 == 0


def test_every_command_that_is_not_run_says_why() -> None:
    told = of("console")

    assert told
    for block in told:
        assert block.before.startswith("*Not run by our tests: "), block.text
        assert all(line.startswith(("$ ", "    ")) for line in block.text.splitlines())


def test_every_block_of_commands_is_of_a_kind_that_is_looked_after() -> None:
    kinds = {(block.language, block.where) for block in BLOCKS}

    assert kinds == {("sh", ""), ("sh", "containers"), ("console", ""), ("yaml", ""), ("json", "")}


def test_every_file_and_unit_that_the_page_names_is_there() -> None:
    told = PAGE.read_text()

    for named in ("deploy/compose/node.yaml", "deploy/systemd/easyrider.sysusers.conf", "deploy/kubernetes",
                  "deploy/kubernetes/00-namespaces.yaml", "docs/security.md"):  # fmt: skip
        assert (ROOT / named).exists()
        assert named.removeprefix("docs/") in told
    for unit in (ROOT / "deploy" / "systemd").glob("*.service"):
        name = unit.name.removesuffix(".service").removesuffix("@")
        assert name in told, unit.name
