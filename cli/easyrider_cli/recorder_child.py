"""The recorder beside a stack."""

import sys
from pathlib import Path

from easyrider_cli.process import Child
from easyrider_cli.rundir import RunFolder
from easyrider_cli.servers import Servers


def recorder_child(folder: RunFolder, running: Servers, into: Path, region: str, tree: str) -> Child:
    """The process that keeps what is said, in a folder that outlives the stack."""
    settings: dict[str, object] = {
        "folder": into.absolute(),
        "region": region,
        "tree": tree,
        "health_file": folder.health("recorder"),
        **running.bus("recorder"),
        **running.store("recorder"),
    }
    environ = {f"EASYRIDER_RECORDER_{name.upper()}": str(value) for name, value in settings.items()}
    return Child("recorder", [sys.executable, "-m", "easyrider_recorder"], folder.log("recorder"), environ)
