"""The fake and the real boards take the same exam; the loop's rounds run in virtual time on the fake."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

from easyrider_guardian.adapters.crew import Crew
from easyrider_guardian.adapters.files import StateFolder
from easyrider_guardian.adapters.keeper import Keeper
from easyrider_guardian.adapters.write_log import WriteLog
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.records import Terms
from easyrider_guardian.core.resume import resume
from easyrider_guardian.node import Node
from easyrider_guardian.rounds import Rounds
from easyrider_twin import standalone

HERE = Path(__file__).parent


def beside(name: str):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_fake_boards_pass_the_exam():
    beside("board_exam").examine(beside("fake_boards").FakeDriver())


def test_nvml_passes_the_exam(tmp_path, native):
    state = standalone.create(tmp_path / "nvml.state")
    environ = os.environ | {"EASYRIDER_TWIN_STATE": str(state.path), "LD_LIBRARY_PATH": str(native)}
    environ |= {"EASYRIDER_TWIN_PRIVILEGED": "1"}

    done = subprocess.run(
        [sys.executable, str(HERE / "board_exam.py")], env=environ, capture_output=True, text=True, timeout=30
    )

    assert done.stdout == "passed\n", done.stderr


def test_ten_virtual_minutes_of_rounds_with_an_empty_folder_make_no_write(tmp_path):
    driver = beside("fake_boards").FakeDriver(4)
    folder = StateFolder(tmp_path / "guardian")
    terms = Terms(tree="site", region="local", node="n1", fallback_w=300)
    crew = Crew(driver, WriteLog(folder.path), lambda: None)
    node = Node(
        terms, Minter("b", "site", "n1"), crew, Keeper(folder), resume(None, None, terms, "b", 0), None
    )
    rounds = Rounds(node)

    for tick in range(600 * 4):
        rounds.go(tick * 250_000_000)
        if tick < 20:
            time.sleep(0.005)  # the boards' own threads find out that they exist

    assert len(node.views) == 4, "every board was looked at"
    assert [board.writes for board in driver.boards] == [[], [], [], []]
    assert sorted(path.name for path in folder.path.iterdir()) == ["lock"]
