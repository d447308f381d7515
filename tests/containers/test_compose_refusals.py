"""What an operator gets wrong on the first day: one clear line each, and nothing half started that stays unseen."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compose_stack import ROOT, ComposeStack, own_stack

pytestmark = [pytest.mark.containers, pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(600)]

RULES = ROOT / "deploy" / "compose" / "twin" / "rules.yaml"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "site"
    command = [
        sys.executable, "-m", "easyrider_cli", "init", str(folder), "--tree", str(RULES),
        "--nats-host", "nats", "--redis-host", "redis", "--api-host", "api", "--at", "/run/secrets",
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=60)
    return folder


@pytest.fixture
def stack(tmp_path: Path, written: Path) -> Iterator[ComposeStack]:
    with own_stack(tmp_path, "refused", patience_s=15) as stack:
        shutil.copytree(written, stack.site, copy_function=shutil.copy2)
        for copy in [stack.site, *stack.site.rglob("*")]:
            shutil.chown(copy, group=(written / copy.relative_to(stack.site)).stat().st_gid)
        yield stack


def _one_line(stack: ComposeStack, profiles: str = "") -> str:
    """The line that tells why it did not come up."""
    done = stack.run("up", profiles=profiles)
    assert done.returncode == 1, done.stderr
    told = [line for line in done.stderr.splitlines() if not line.startswith("easyrider: building")]
    assert len(told) == 1, told
    return told[0]


def test_a_folder_that_is_not_there_is_named_before_anything_starts(stack: ComposeStack) -> None:
    shutil.rmtree(stack.site / "forecaster")

    line = _one_line(stack)

    assert "a secret is missing" in line
    assert f"{stack.site}/forecaster" in line
    assert "init" in line
    assert stack.left_over() == []


def test_a_key_that_is_not_there_is_named_by_the_service_that_wants_it(stack: ComposeStack) -> None:
    (stack.site / "policy" / "policy.nk").unlink()

    line = _one_line(stack)

    assert "policy" in line
    assert "EASYRIDER_POLICY_SEED_FILE" in line
    assert "No such file" in line


def test_a_wrong_password_is_told_as_such(stack: ComposeStack) -> None:
    (stack.site / "policy" / "store.password").write_text("00\n")

    line = _one_line(stack)

    assert "policy" in line
    assert "refused" in line
    assert "password" in line


def test_a_port_that_is_taken_is_named_with_the_way_out(stack: ComposeStack) -> None:
    with socket.create_server(("127.0.0.1", stack.port)):
        line = _one_line(stack)

    assert f"127.0.0.1:{stack.port}" in line
    assert "taken" in line
    assert "EASYRIDER_NATS_PORT" in line


@pytest.mark.skipif(
    shutil.which("nvidia-container-cli") is not None, reason="this engine may well reach a GPU"
)
def test_the_profile_for_gpus_says_that_there_is_none(stack: ComposeStack) -> None:
    line = _one_line(stack, "gpu")

    assert "no NVIDIA GPU" in line
    assert "Container Toolkit" in line
