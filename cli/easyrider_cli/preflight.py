"""What would spoil a demonstration, looked for before anything is started."""

import gzip
import math
import os
import zlib
from importlib.util import find_spec
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_cli.rundir import RunFolder, RunFolderRefused, RunFolderTooLong, temporary_root
from easyrider_twin import library, recordings
from easyrider_twin.rack import DoesNotTrip, demo_world
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.world import BadWorld, World

SHORTEST_S, LONGEST_S = 120.0, 3600.0
"""A module fails and works again within the shortest. The twin keeps an hour of power, so that a longer run
would be judged by its last hour alone."""
LARGEST_BYTES, MOST_ROWS = 64_000_000, 2_000_000
"""Of recordings: all of a folder unpacked, and the rows of one."""
_CHUNK = 1 << 20


class CannotShow(EasyRiderError):
    """The demonstration was not started; the message says what to change."""


def length(seconds: float) -> None:
    """Nothing if a run can be so long. Raises `CannotShow`."""
    if not (math.isfinite(seconds) and SHORTEST_S <= seconds <= LONGEST_S):
        raise CannotShow(f"--seconds {seconds:g}: from {SHORTEST_S:.0f} to {LONGEST_S:.0f}")


def light_traces(traces: Path | None) -> None:
    """Nothing if the recordings of this folder can be held. Raises `CannotShow`; what they hold is not judged."""
    if traces is None:
        return
    if not traces.is_dir():
        raise CannotShow(f"--traces {traces}: no such folder")
    total = 0
    for name in recordings.names(traces):
        file, rows = traces / f"{name}.csv.gz", 0
        try:
            with gzip.open(file, "rb") as unpacked:
                while chunk := unpacked.read(_CHUNK):
                    total, rows = total + len(chunk), rows + chunk.count(b"\n")
                    if rows > MOST_ROWS:
                        raise CannotShow(f"--traces {traces}: {file.name} has more than {MOST_ROWS} rows")
                    if total > LARGEST_BYTES:
                        raise CannotShow(
                            f"--traces {traces}: more than {LARGEST_BYTES / 1e6:.0f} MB unpacked, {file.name} included"
                        )
        except (OSError, EOFError, zlib.error):
            continue  # whoever reads it says what is wrong with it


def rivals_installed() -> None:
    """Nothing if the libraries that the forecaster is compared with are there. Raises `CannotShow`."""
    missing = [name for name in ("statsforecast", "river") if find_spec(name) is None]
    if missing:
        raise CannotShow(f"{' and '.join(missing)} not installed: pip install 'easyrider[all,rivals]'")


def run_folder(run: Path | None) -> RunFolder:
    """The run folder, held; a temporary one by default. Raises `CannotShow`."""
    try:
        return RunFolder.fresh(run or temporary_root())
    except (RunFolderRefused, RunFolderTooLong) as fault:
        raise CannotShow(f"--run {run}: {fault}") from fault


def sized_world(seed: int, seconds: float, traces: Path | None) -> World:
    """The rack of this seed. Raises `CannotShow` for recordings or a seed that show nothing."""
    try:
        return demo_world(seed, seconds, traces)
    except DoesNotTrip as fault:
        raise CannotShow(f"{fault}; try another --seed") from fault
    except (BadRecording, BadWorld) as fault:
        raise CannotShow(f"--traces {traces or '(shipped)'}: {fault}") from fault
    except (EOFError, zlib.error, MemoryError) as fault:
        raise CannotShow(f"--traces {traces}: a recording there cannot be unpacked: {fault}") from fault
    except ValueError as fault:
        raise CannotShow(str(fault)) from fault


def compiled() -> Path:
    """The folder of the simulated NVML library, built if need be. Raises `LibraryNotBuilt`."""
    return library.folder()


def writable_file(option: str, path: Path) -> None:
    """Nothing if a file can be put there. Raises `CannotShow`."""
    if path.is_dir():
        raise CannotShow(f"{option} {path}: it is a folder")
    if not path.parent.is_dir():
        raise CannotShow(f"{option} {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CannotShow(f"{option} {path}: the folder {path.parent} cannot be written")


def writable_folder(option: str, folder: Path) -> Path:
    """The folder, made if it was not there. Raises `CannotShow`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise CannotShow(f"{option} {folder}: {fault.strerror}") from fault
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotShow(f"{option} {folder}: it cannot be written")
    return folder
