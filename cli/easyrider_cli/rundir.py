"""The folder in which one local stack keeps everything it writes."""

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_twin.exec import default_run_dir

_LONGEST_SOCKET = 100
MARK = ".easyrider-run"
"""Says that a folder is a run folder; locked by the process whose stack is up there."""


class RunFolderTooLong(EasyRiderError):
    """A unix socket below this folder would have a name the kernel refuses; nothing was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder} is too long for sockets below it; give --run a shorter folder")


class RunFolderRefused(EasyRiderError):
    """This folder cannot become a run folder; nothing was removed and nothing was started."""

    def __init__(self, folder: Path, why: str) -> None:
        self.folder, self.why = folder, why
        super().__init__(f"{folder} cannot be the run folder: {why}")


def default_root() -> Path:
    """The run folder of this user's stack: `$EASYRIDER_RUN`, else below the runtime folder, else below /tmp."""
    return default_run_dir()


def temporary_root() -> Path:
    """A new empty folder below the temporary folder; below /tmp where that one is too long for sockets."""
    root = Path(tempfile.mkdtemp(prefix="er-"))
    if _fits(root):
        return root
    root.rmdir()
    return Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))


def _fits(root: Path) -> bool:
    return len(os.fsencode(RunFolder(root).guardian_socket("node-00"))) <= _LONGEST_SOCKET


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths below the run folder of one stack."""

    root: Path

    @classmethod
    def fresh(cls, root: Path) -> "RunFolder":
        """An empty run folder, held by this process; what an earlier stack left there is removed.

        Raises `RunFolderTooLong`, or `RunFolderRefused` where a stack is up, or something that is no stack's lies.
        """
        root = root.absolute()
        if not _fits(root):
            raise RunFolderTooLong(root)
        try:
            _claim(root)
            for path in root.iterdir():
                if path.name != MARK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            for path in (root / "logs", root / "health"):
                path.mkdir()
        except OSError as fault:
            raise RunFolderRefused(root, f"{fault.filename or root}: {fault.strerror}") from fault
        return cls(root)

    def remove(self) -> None:
        """Away with the folder and all in it."""
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def world(self) -> Path:
        """The world document the twin runs."""
        return self.root / "world.yaml"

    @property
    def address(self) -> Path:
        """Where the servers of the stack are, while it is up."""
        return self.root / "stack.json"

    @property
    def rules(self) -> Path:
        """The rules document of the site."""
        return self.root / "rules.yaml"

    @property
    def twin(self) -> Path:
        """What the twin and its referee write."""
        return self.root / "twin"

    def log(self, name: str) -> Path:
        """Standard output and error of one process."""
        return self.root / "logs" / f"{name}.log"

    def health(self, name: str) -> Path:
        """Where a service writes its health address."""
        return self.root / "health" / name

    def state(self, name: str) -> Path:
        """A service's own folder."""
        return self.root / "state" / name

    def gpu_state(self, node: str) -> Path:
        """The mapped file of one simulated node."""
        return self.root / node / "nvml.state"

    def jobs(self, node: str) -> Path:
        """The jobs of one simulated node."""
        return self.root / node / "jobs.json"

    def guardian_socket(self, node: str) -> Path:
        """The socket of one node's guardian."""
        return self.root / node / "guardian.sock"

    def guardian_log(self, node: str) -> Path:
        """The guardian's own record of limit writes."""
        return self.state(f"guardian-{node}") / "writes.jsonl"

    def read_backs(self, node: str) -> Path:
        """The guardian's own record of what it read back."""
        return self.state(f"guardian-{node}") / "read_backs.jsonl"

    @property
    def journal(self) -> Path:
        """The coordinator's journal."""
        return self.state("policy") / "journal.jsonl"


def _claim(root: Path) -> None:
    """Lock the mark of a folder that is ours or empty; held until this process ends."""
    for path in (root.parent, root):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (owner := path.stat().st_uid) not in ((os.geteuid(), 0) if path != root else (os.geteuid(),)):
            raise RunFolderRefused(root, f"{path} belongs to user {owner}")
    mark = root / MARK
    if not mark.exists() and any(root.iterdir()):
        raise RunFolderRefused(root, "it holds files that no stack wrote; give --run another folder")
    handle = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as fault:
        os.close(handle)
        raise RunFolderRefused(root, "a stack is up there; end it, or give --run another folder") from fault
