"""A run folder is made, held and removed, and nobody's files are lost to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from easyrider_cli import address
from easyrider_cli.rundir import (
    MARK,
    RunFolder,
    RunFolderRefused,
    RunFolderTooLong,
    default_root,
    temporary_root,
)
from easyrider_twin.exec import default_run_dir

HOLD = """
import sys
from pathlib import Path
from easyrider_cli.rundir import RunFolder
RunFolder.fresh(Path(sys.argv[1]))
"""


def left_by_an_earlier_stack(root: Path) -> None:
    subprocess.run([sys.executable, "-c", HOLD, str(root)], check=True, timeout=30)
    (root / "logs" / "old.log").write_text("old")
    (root / "node-1").mkdir()


def test_what_an_earlier_stack_left_is_removed(tmp_path: Path) -> None:
    left_by_an_earlier_stack(tmp_path / "r")

    folder = RunFolder.fresh(tmp_path / "r")

    assert sorted(path.name for path in folder.root.iterdir()) == [MARK, "health", "logs"]
    assert list((folder.root / "logs").iterdir()) == []


def test_a_folder_with_files_of_others_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(RunFolderRefused, match="no stack wrote"):
        RunFolder.fresh(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_folder_of_a_stack_that_is_up_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.fresh(tmp_path / "r")
    (folder.root / "node-1").mkdir()

    with pytest.raises(RunFolderRefused, match="a stack is up there"):
        RunFolder.fresh(tmp_path / "r")

    assert (folder.root / "node-1").exists()


def test_a_link_to_elsewhere_inside_an_old_run_folder_is_removed_not_followed(tmp_path: Path) -> None:
    left_by_an_earlier_stack(tmp_path / "r")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("")
    (tmp_path / "r" / "link").symlink_to(tmp_path / "mine")

    RunFolder.fresh(tmp_path / "r")

    assert (tmp_path / "mine" / "kept").exists()
    assert not (tmp_path / "r" / "link").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    theirs = tmp_path_factory.mktemp("t")  # a test's own folder can be too long for sockets below it
    os.chown(theirs, 10001, 10001)

    with pytest.raises(RunFolderRefused, match="belongs to user 10001"):
        RunFolder.fresh(theirs)
    with pytest.raises(RunFolderRefused, match="belongs to user 10001"):
        RunFolder.fresh(theirs / "current")


def test_only_its_owner_may_look_into_a_run_folder(tmp_path: Path) -> None:
    folder = RunFolder.fresh(tmp_path / "a" / "b")

    assert folder.root.stat().st_mode & 0o077 == 0
    assert folder.root.parent.stat().st_mode & 0o077 == 0


def test_a_folder_too_long_for_sockets_is_refused_before_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(RunFolderTooLong):
        RunFolder.fresh(tmp_path / ("x" * 100))

    assert list(tmp_path.iterdir()) == []


def test_a_temporary_run_folder_is_short_even_where_the_temporary_folder_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))

    root = temporary_root()

    assert len(str(RunFolder.fresh(root).guardian_socket("node-1"))) < 100
    assert list(long.iterdir()) == []
    RunFolder(root).remove()
    assert not root.exists()


def test_the_stack_stands_where_the_simulated_nodes_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_root() == default_run_dir()
    monkeypatch.setenv("EASYRIDER_RUN", str(tmp_path))
    assert default_root() == tmp_path


def test_without_a_stack_its_address_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(address.NoStack, match="easyrider up"):
        address.read(tmp_path)


def test_the_address_of_a_stack_is_read_back(tmp_path: Path) -> None:
    folder = RunFolder.fresh(tmp_path / "r")
    told = address.Address(
        nats_url="nats://127.0.0.1:1", redis_url="redis://127.0.0.1:2/0", region="local", tree="site",
        nodes=("node-1",), watcher_seed="seed",
    )  # fmt: skip

    address.leave(folder, told)

    assert address.read(folder.root) == told
