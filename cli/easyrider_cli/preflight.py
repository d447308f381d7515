"""What would spoil a demonstration, looked for before anything is started."""

import math
import os
import zlib
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider_twin import library
from easyrider_twin.rack import DoesNotTrip, demo_world
from easyrider_twin.recordings import BadRecording
from easyrider_twin.world import BadWorld, World

LONGEST_S = 3600.0
"""The twin keeps an hour of power; a longer run would be judged by its last hour alone."""


class CannotShow(EasyRiderError):
    """The demonstration was not started; the message says what to change."""


def sized_world(seed: int, seconds: float, traces: Path | None) -> World:
    """The rack of this seed. Raises `CannotShow` for recordings, a length or a seed that show nothing."""
    if not (math.isfinite(seconds) and seconds <= LONGEST_S):
        raise CannotShow(f"--seconds {seconds:g}: from 120 to {LONGEST_S:.0f}")
    if traces is not None and not traces.is_dir():
        raise CannotShow(f"--traces {traces}: no such folder")
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
