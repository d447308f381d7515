"""Phase marks from training code: one MessagePack map per datagram on a local socket."""

import contextlib
import math
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.messages import PhaseMark

_LARGEST = 4096
_AT_ONCE = 64


class BadPhaseMark(EasyRiderError):
    """A datagram was no phase mark; it was dropped."""


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    """What a program says; the rest of the mark is ours."""

    job: str
    phase: str
    begins: bool
    expected_s: float | None = None


class PhaseSocket:
    """The bound socket. `mark` makes of a datagram the mark that goes on the bus."""

    def __init__(self, path: Path, region: str, node: str, boot_id: str) -> None:
        self.path = path
        self._region, self._node, self._boot_id = region, node, boot_id
        self._decoder = msgspec.msgpack.Decoder(_Said)
        with contextlib.suppress(FileNotFoundError):
            if path.is_socket():  # left by a predecessor
                path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        path.chmod(0o666)  # any job on the node may announce its phases

    def fileno(self) -> int:
        """For the event loop's reader."""
        return self._socket.fileno()

    def take(self, each: Callable[[bytes], None]) -> None:
        """Every waiting datagram, a bounded number at once."""
        for _ in range(_AT_ONCE):
            try:
                data = self._socket.recv(_LARGEST + 1)
            except BlockingIOError:
                return
            each(data)

    def mark(self, data: bytes, t_ns: int, mono_ns: int) -> PhaseMark:
        """The mark of one datagram. Raises `BadPhaseMark`."""
        if len(data) > _LARGEST:
            raise BadPhaseMark(f"more than {_LARGEST} bytes")
        try:
            said = self._decoder.decode(data)
            fields = {"v": 1, "region": self._region, "node": self._node, "boot_id": self._boot_id}
            fields |= {"t_ns": t_ns, "mono_ns": mono_ns, **msgspec.to_builtins(said), "kind": "phase_mark"}
            mark = msgspec.convert(fields, PhaseMark)
        except msgspec.DecodeError as fault:
            raise BadPhaseMark(str(fault)) from fault
        if mark.expected_s is not None and not (
            math.isfinite(mark.expected_s) and 0 <= mark.expected_s <= 86400
        ):
            raise BadPhaseMark(f"expected_s is {mark.expected_s}")
        return mark

    def close(self) -> None:
        """The socket closed and its name removed."""
        self._socket.close()
        self.path.unlink(missing_ok=True)
