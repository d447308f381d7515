"""The files of many nodes, seen as one array."""

import gc
from pathlib import Path

import numpy as np
import pytest

from easyrider_twin import statefile
from easyrider_twin.statefiles import StateFiles


@pytest.fixture
def nodes(tmp_path: Path) -> list[tuple[Path, int]]:
    """Files of nodes of unlike size."""
    sizes = [8, 1, 12, 0, 3]
    for number, gpus in enumerate(sizes):
        statefile.create(tmp_path / f"n{number}.state", gpus, f"n{number}")
    return [(tmp_path / f"n{number}.state", gpus) for number, gpus in enumerate(sizes)]


def test_one_write_reaches_every_board_of_every_file(nodes: list[tuple[Path, int]]) -> None:
    files = StateFiles(nodes)

    files.records["instant_mw"][files.rows] = np.arange(1, 25)

    seen = [statefile.attach(path).gpus["instant_mw"].tolist() for path, _ in nodes]
    assert seen == [list(range(1, 9)), [9], list(range(10, 22)), [], [22, 23, 24]]


def test_what_the_library_sets_in_a_file_is_read_in_its_place(nodes: list[tuple[Path, int]]) -> None:
    files = StateFiles(nodes)

    statefile.attach(nodes[2][0]).gpus["enforced_mw"][11] = 450_000

    assert np.flatnonzero(files.records["enforced_mw"][files.rows]).tolist() == [20]
    assert files.boards(2)["enforced_mw"][11] == 450_000


def test_headers_are_written_each_into_its_own_file_and_rings_stay_as_they_are(
    nodes: list[tuple[Path, int]],
) -> None:
    files = StateFiles(nodes)
    rings = [statefile.attach(path).ring.tobytes() for path, _ in nodes]

    files.header["step_ns"] = [10, 11, 12, 13, 14]
    with statefile.writing_sensors(files):
        files.records["average_mw"][files.rows] = 0xFFFFFFFF
        inside = [int(statefile.attach(path).header["sensor_seq"]) for path, _ in nodes]

    assert [int(statefile.attach(path).header["step_ns"]) for path, _ in nodes] == [10, 11, 12, 13, 14]
    assert inside == [1] * 5
    assert [int(statefile.attach(path).header["sensor_seq"]) for path, _ in nodes] == [2] * 5
    assert [statefile.attach(path).ring.tobytes() for path, _ in nodes] == rings


def test_the_count_of_writes_goes_on_after_its_largest_value(nodes: list[tuple[Path, int]]) -> None:
    files = StateFiles(nodes)
    files.header["sensor_seq"] = 0xFFFFFFFE

    with statefile.writing_sensors(files):
        pass

    assert files.header["sensor_seq"].tolist() == [0] * 5


def test_a_view_may_outlive_what_made_it(nodes: list[tuple[Path, int]]) -> None:
    boards = StateFiles(nodes).boards(0)
    gc.collect()

    boards["instant_mw"] = 5

    assert statefile.attach(nodes[0][0]).gpus["instant_mw"].tolist() == [5] * 8


def test_a_file_that_is_gone_is_named(nodes: list[tuple[Path, int]]) -> None:
    nodes[1][0].unlink()

    with pytest.raises(FileNotFoundError, match=r"n1\.state"):
        StateFiles(nodes)
