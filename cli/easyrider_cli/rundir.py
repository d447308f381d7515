"""The folder in which one local stack keeps everything it writes."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from easyrider.errors import EasyRiderError

_LONGEST_SOCKET = 100


class RunFolderTooLong(EasyRiderError):
    """A unix socket below this folder would have a name the kernel refuses; nothing was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder} is too long for sockets below it; give --run a shorter folder")


def default_root() -> Path:
    """Where stacks of this user live: `$EASYRIDER_RUN` names one, else below the runtime or temporary folder."""
    if named := os.environ.get("EASYRIDER_RUN"):
        return Path(named)
    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
    return Path(base) / f"easyrider-{os.getuid()}" / "current"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths below the run folder of one stack."""

    root: Path

    @classmethod
    def fresh(cls, root: Path) -> "RunFolder":
        """An empty run folder; what an earlier stack left there is removed. Raises `RunFolderTooLong`."""
        folder = cls(root)
        if len(str(folder.guardian_socket("node-00"))) > _LONGEST_SOCKET:
            raise RunFolderTooLong(root)
        if root.exists():
            shutil.rmtree(root)
        for path in (root, root / "logs", root / "health"):
            path.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def world(self) -> Path:
        """The world document the twin runs."""
        return self.root / "world.yaml"

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

    @property
    def journal(self) -> Path:
        """The coordinator's journal."""
        return self.state("policy") / "journal.jsonl"
