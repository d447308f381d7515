"""What a setting's text must be fit for, asked before anything is opened. Each raises `ValueError` with the fault."""

import base64
import binascii
import os
import stat
from pathlib import Path

from easyrider import subjects

_SOCKET_BYTES = 107  # what sockaddr_un holds, less its end mark
_SEED_BYTES = 36  # two of prefix, 32 of key, two of checksum


def subject_token(text: str) -> None:
    """A name that stands in subjects."""
    subjects.token(text)


def readable_file(path: Path) -> None:
    """A file that is there and may be read."""
    _read(path)


def seed_file(path: Path) -> None:
    """A file with the nkey seed of a user, whole by its checksum."""
    text = _read(path, at_most=4096).strip()
    try:
        raw = base64.b32decode(text + b"=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        raw = b""
    body, check = raw[:-2], raw[-2:]
    whole = len(raw) == _SEED_BYTES and binascii.crc_hqx(body, 0).to_bytes(2, "little") == check
    if not (whole and text.startswith(b"SU")):
        raise ValueError(f"{path} holds no nkey seed of a user (SU...)")  # what it holds is nobody's business


def folder_for_file(path: Path) -> None:
    """A file that can be made: its folder is there and may be written in. The folder itself is not made."""
    _writable(path.parent)
    if path.is_dir():
        raise ValueError(f"{path} is a folder")


def folder_for_socket(path: Path) -> None:
    """A socket that can be made, in a folder that is there; what lies in its place is a socket too."""
    socket_path(path)
    _writable(path.parent)
    if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
        raise ValueError(f"{path} is there and no socket")


def socket_path(path: Path) -> None:
    """A path short enough for a socket; who makes it may come later."""
    if len(os.fsencode(path)) > _SOCKET_BYTES:
        raise ValueError(f"{path} is longer than the {_SOCKET_BYTES} bytes of a socket's path")


def own_folder(path: Path) -> None:
    """A folder of ours: it is there and may be written in, or can be made in one that is."""
    _writable(path if path.exists() else path.parent)


def _writable(folder: Path) -> None:
    if not folder.exists():
        raise ValueError(f"needs the folder {folder}, which is missing")
    if not folder.is_dir():
        raise ValueError(f"needs the folder {folder}, which is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"needs the folder {folder}, which may not be written in")


def _read(path: Path, at_most: int = 1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(at_most)
    except OSError as fault:
        raise ValueError(f"{path} cannot be read: {fault.strerror}") from fault
