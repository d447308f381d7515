"""The guardian's socket: a Unix stream, mode 0660, for processes of known users only."""

import contextlib
import os
import selectors
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from easyrider import log
from easyrider.errors import EasyRiderError
from easyrider.guardian_link import FRAME_LIMIT, Frames, LinkBroken, Reply, Request, frame

PEERS_LIMIT = 16
UNSENT_LIMIT = 4 * FRAME_LIMIT
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED


class CannotListen(EasyRiderError):
    """The socket could not be opened."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"cannot listen on {path}: {why}")


class Peer:
    """One connection, of the user that the kernel names. `watches`: it is told every state."""

    def __init__(self, connection: socket.socket, uid: int) -> None:
        self.connection, self.uid, self.frames = connection, uid, Frames()
        self.unsent = bytearray()
        self.watches = False


class Listener:
    """Requests in, replies out, and a bell that other threads and signals may ring."""

    def __init__(self, path: Path, peer_uids: Iterable[int]) -> None:
        self._path, self._peer_uids = path, frozenset(peer_uids)
        self._log = log.get("socket")
        self._selector = selectors.DefaultSelector()
        self._peers: set[Peer] = set()
        self.refused_peers = self.malformed = 0
        self._bell_out, self._bell_in = socket.socketpair()
        self._bell_out.setblocking(False)
        self._bell_in.setblocking(False)
        self._selector.register(self._bell_out, selectors.EVENT_READ)
        self._socket = self._open()
        self._selector.register(self._socket, selectors.EVENT_READ)

    @property
    def bell(self) -> int:
        """A descriptor for `signal.set_wakeup_fd`."""
        return self._bell_in.fileno()

    @property
    def watchers(self) -> list[Peer]:
        """Those who are told every state."""
        return [peer for peer in self._peers if peer.watches]

    def ring(self) -> None:
        """End the present `wait`, from any thread."""
        with contextlib.suppress(BlockingIOError):  # it rings already
            self._bell_in.send(b"!")

    def wait(self, timeout_s: float) -> list[tuple[Peer, Request]]:
        """The requests that came within `timeout_s`, or as soon as there is one or the bell rings."""
        requests: list[tuple[Peer, Request]] = []
        for key, events in self._selector.select(max(0.0, timeout_s)):
            if key.fileobj is self._bell_out:
                self._bell_out.recv(4096)
            elif key.fileobj is self._socket:
                self._accept()
            else:
                peer: Peer = key.data
                if events & selectors.EVENT_WRITE:
                    self._flush(peer)
                if events & selectors.EVENT_READ and peer in self._peers:
                    requests += ((peer, request) for request in self._receive(peer))
        return requests

    def send(self, peer: Peer, reply: Reply) -> None:
        """Queue a reply; one who does not read is cut off, not waited for."""
        if peer not in self._peers:
            return
        peer.unsent += frame(reply)
        self._flush(peer)
        if len(peer.unsent) > UNSENT_LIMIT:
            self._drop(peer, "reads nothing")

    def close(self) -> None:
        """Close everything and remove the socket."""
        for peer in list(self._peers):
            self._flush(peer)
            self._drop(peer, None)
        self._selector.close()
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _open(self) -> socket.socket:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path.unlink(
                missing_ok=True
            )  # of a guardian that was killed: the state folder's lock is ours
            before = os.umask(0o117)
            try:
                listening.bind(str(self._path))
            finally:
                os.umask(before)
            listening.listen(PEERS_LIMIT)
        except OSError as fault:
            listening.close()
            raise CannotListen(self._path, str(fault)) from fault
        listening.setblocking(False)
        return listening

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _gid = _CREDENTIALS.unpack(raw)
        if uid not in self._peer_uids or len(self._peers) >= PEERS_LIMIT:
            self.refused_peers += 1
            log.bounded(self._log, "peer", 10).warning(
                "a peer was refused", pid=pid, uid=uid, allowed=sorted(self._peer_uids), open=len(self._peers)
            )
            connection.close()
            return
        connection.setblocking(False)
        peer = Peer(connection, uid)
        self._peers.add(peer)
        self._selector.register(connection, selectors.EVENT_READ, peer)

    def _receive(self, peer: Peer) -> list[Request]:
        try:
            data = peer.connection.recv(65536)
            if not data:
                self._drop(peer, None)
                return []
            return list(peer.frames.feed(data, Request))
        except BlockingIOError:
            return []
        except LinkBroken as fault:
            self.malformed += 1
            self._drop(peer, fault.why)
        except OSError as fault:
            self._drop(peer, str(fault))
        return []

    def _flush(self, peer: Peer) -> None:
        try:
            while peer.unsent:
                del peer.unsent[: peer.connection.send(peer.unsent)]
        except BlockingIOError:
            pass  # the rest goes when the peer has read
        except OSError as fault:
            self._drop(peer, str(fault))
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        if self._selector.get_key(peer.connection).events != wanted:
            self._selector.modify(peer.connection, wanted, peer)

    def _drop(self, peer: Peer, why: str | None) -> None:
        if peer not in self._peers:
            return
        self._peers.discard(peer)
        self._selector.unregister(peer.connection)
        peer.connection.close()
        if why is not None:
            log.bounded(self._log, "drop", 10).warning("a connection was cut", why=why)
