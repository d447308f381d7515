"""A node file of our own and clients of it: the library is loaded by processes whose environment names it."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from referee_bench import Bench

from easyrider_twin import library, standalone
from easyrider_twin.statefile import StateFile

PREAMBLE = """
import json, os, sys, threading, time
from pynvml import *

def code_of(call, *args):
    try:
        call(*args)
        return 0
    except NVMLError as error:
        return error.value

def say(**what):
    print(json.dumps(what), flush=True)

def boards():
    return [nvmlDeviceGetHandleByIndex(index) for index in range(nvmlDeviceGetCount())]
"""


class NvmlNode:
    """Eight simulated boards in a file, and Python programs that see them through `pynvml`."""

    def __init__(self, state: StateFile, native: Path) -> None:
        self.state, self.native = state, native

    def environment(self, **extra: str) -> dict[str, str]:
        return os.environ | {
            "EASYRIDER_TWIN_STATE": str(self.state.path),
            "LD_LIBRARY_PATH": str(self.native),
            "EASYRIDER_TWIN_PRIVILEGED": "1",
            **extra,
        }

    def start(self, program: str, **extra: str) -> subprocess.Popen[str]:
        """A client that runs; its lines come from `say`."""
        return subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(program)],
            env=self.environment(**extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, program: str, **extra: str) -> dict:
        """The last line a client said; it must end well within 30 s."""
        client = self.start(program, **extra)
        try:
            output, _ = client.communicate(timeout=30)
        finally:
            client.kill()
        assert client.returncode == 0
        return json.loads(output.splitlines()[-1])


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled with every warning an error."""
    return library.folder(strict=True, cache=tmp_path_factory.mktemp("native"))


@pytest.fixture
def nvml_node(tmp_path: Path, nvml_library: Path) -> NvmlNode:
    return NvmlNode(standalone.create(tmp_path / "nvml.state"), nvml_library)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
