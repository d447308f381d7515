"""Files that hold secrets: never readable by others, not even while they are written."""

import os
from pathlib import Path

OWNER_ONLY, WITH_GROUP, FOLDER_WITH_GROUP = 0o600, 0o640, 0o750


def write_secret(file: Path, text: str | bytes, group: int | None = None) -> None:
    """The file, whole or not at all: mode 0600, or 0640 for a group that reads it too."""
    half = file.with_name(file.name + ".half")
    half.unlink(missing_ok=True)
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY)
    with os.fdopen(handle, "wb") as out:
        if group is not None:
            os.fchown(handle, -1, group)
            os.fchmod(handle, WITH_GROUP)
        out.write(text.encode() if isinstance(text, str) else text)
        out.flush()
        os.fsync(handle)
    half.replace(file)


def read_secret(file: Path) -> str:
    """What a file of ours holds, without its end of line."""
    return file.read_text().strip()
