"""What a setting's text must be fit for, asked before anything is opened. Each raises `ValueError` with the fault."""

import base64
import binascii
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

from easyrider import subjects

_SOCKET_BYTES = 107  # what sockaddr_un holds, less its end mark
_SEED_BYTES = 36  # two of prefix, 32 of key, two of checksum


def subject_token(text: str) -> None:
    """A name that stands in subjects."""
    subjects.token(text)


def nats_address(text: str) -> None:
    """Addresses of servers of one bus, by commas."""
    for part in text.split(","):
        _address(part.strip(), ("nats", "tls", "ws", "wss"), 4222)


def redis_address(text: str) -> None:
    """Address of a store, its database being a number."""
    if text.startswith("unix:///"):
        return
    path = _address(text, ("redis", "rediss"), 6379).strip("/")
    if path and not (path.isascii() and path.isdigit()):
        raise ValueError(f"names database {path!r}, no whole number")


def _address(text: str, schemes: tuple[str, ...], port: int) -> str:
    form = f"{schemes[0]}://host:{port}"
    try:
        parts = urlsplit(text)
        host, told_port = parts.hostname, parts.port
    except ValueError as fault:
        raise ValueError(f"is no address such as {form}: {fault}") from fault
    if parts.scheme not in schemes:
        begins = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ValueError(f"is no address such as {form}: it begins with none of {begins}")
    if not host or any(char.isspace() for char in text) or told_port == 0:
        raise ValueError(f"is no address such as {form}: {'port 0' if told_port == 0 else 'no host'}")
    return parts.path


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
