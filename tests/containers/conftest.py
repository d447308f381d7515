"""A Docker engine for tests that run containers; without one they are skipped, and say why."""

import os
import subprocess

import pytest


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Skips, or fails where EASYRIDER_REQUIRE_DOCKER says that there has to be one."""
    fault = _why_not()
    if fault is None:
        return
    if os.environ.get("EASYRIDER_REQUIRE_DOCKER") == "1":
        pytest.fail(f"a container engine is required here: {fault}")
    pytest.skip(f"no containers here: {fault}")


def _why_not() -> str | None:
    if told := os.environ.get("NO_CONTAINERS_BECAUSE"):
        return told
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as fault:
            return f"`{' '.join(command)}`: {fault}"
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"`{' '.join(command)}`: {said[-1] if said else done.returncode}"
    return None
