"""The local socket between a guardian and those on its node: bounded verbs, one frame each, peers by user id.

A frame is a big-endian length of 4 bytes and one MessagePack map, `Request` one way, `Reply` the other. Verbs:
`apply` (body: the bytes of a command as they came off the bus), `state`, `watch` (from then on every state comes
by itself, at least once a second), `leave` (ask for leave to restore, as a stop does), `restore` (an operator's
own decision: put back what was found, now), `hold` (an operator's too; body: why, in UTF-8: take no raise, over
restarts as well, until `clear`; lowers and the dead-man go on). The socket carries no watts but those inside a
command, which the guardian checks itself.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from easyrider import wire
from easyrider.errors import EasyRiderError
from easyrider.messages import Leaving, LimitAck, NodeState

FRAME_LIMIT = wire.NODE_LIMIT + 4096
_LENGTH = struct.Struct(">I")
Verb = Literal["apply", "state", "watch", "leave", "restore", "hold", "clear"]
REASON_LIMIT = 256
"""Bytes of a reason to hold."""
Id = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class LinkBroken(EasyRiderError):
    """The guardian's socket is not there, was closed, or said what is no frame. Limits stay as they are."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the guardian's socket: {why}; it goes on by itself and its dead-man counts")


class NobodyListens(LinkBroken):
    """There is no guardian behind this path: nothing was asked of any."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.why = "no socket" if path.exists() and not path.is_socket() else "nobody listens there"
        Exception.__init__(
            self,
            f"{path}: {self.why}; nothing was done and limits stay as they are; name a guardian's socket",
        )


class LinkRefused(EasyRiderError):
    """The guardian understood the request and refused it."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the guardian refused: {why}")


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verb; `id` comes back in the reply."""

    v: Literal[1] = 1
    id: Id
    verb: Verb
    body: bytes = b""


class Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to request `id`, or with id 0 what a watcher is told by itself.

    `body` holds a `LimitAck`, `NodeState` or `Leaving` in wire form; for "restored" a map of UUID to what came in
    the way; for "refused" nothing, and `why` says it.
    """

    v: Literal[1] = 1
    id: Id
    kind: Literal["ack", "state", "leaving", "restored", "done", "refused"]
    body: bytes = b""
    why: str = ""


R = TypeVar("R", Request, Reply)
_PACK = msgspec.msgpack.Encoder()


def frame(part: Request | Reply) -> bytes:
    """The bytes of one frame."""
    body = _PACK.encode(part)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Bytes as they come, whole frames out."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes, kind: type[R]) -> Iterator[R]:
        """The frames completed by `data`. Raises `LinkBroken` for what is none: the connection is of no more use."""
        self._bytes += data
        while len(self._bytes) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._bytes)
            if size > FRAME_LIMIT:
                raise LinkBroken(f"a frame of {size} bytes where {FRAME_LIMIT} are allowed")
            if len(self._bytes) < _LENGTH.size + size:
                return
            body = bytes(self._bytes[_LENGTH.size : _LENGTH.size + size])
            del self._bytes[: _LENGTH.size + size]
            try:
                yield msgspec.msgpack.decode(body, type=kind)
            except msgspec.MsgspecError as fault:
                raise LinkBroken(f"no {kind.__name__.lower()}: {fault}") from fault


def as_state(reply: Reply) -> NodeState:
    """The state in a reply."""
    return _as(reply, NodeState)


def as_ack(reply: Reply) -> LimitAck:
    """The ack in a reply."""
    return _as(reply, LimitAck)


def as_leaving(reply: Reply) -> Leaving:
    """The wish to leave in a reply."""
    return _as(reply, Leaving)


M = TypeVar("M", NodeState, LimitAck, Leaving)


def _as(reply: Reply, kind: type[M]) -> M:
    if reply.kind == "refused":
        raise LinkRefused(reply.why)
    message = wire.decode(reply.body, (kind,))
    assert isinstance(message, kind)
    return message


class GuardianLink:
    """A blocking connection, for people and tests; every call ends within `timeout_s`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._frames, self._last = connection, Frames(), 0
        self._waiting: list[Reply] = []

    @classmethod
    @contextmanager
    def open(cls, path: Path, timeout_s: float = 5.0) -> "Iterator[GuardianLink]":
        """Connected within. Raises `LinkBroken` where no guardian listens or this user is not its peer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            try:
                connection.connect(str(path))
            except (ConnectionRefusedError, FileNotFoundError) as fault:
                raise NobodyListens(path) from fault
            except OSError as fault:
                raise LinkBroken(f"{path}: {fault}") from fault
            yield cls(connection)

    def state(self) -> NodeState:
        """What the guardian knows now."""
        return as_state(self.ask("state"))

    def apply(self, command: bytes) -> LimitAck:
        """The answer to a command in wire form. Raises `LinkRefused` for bytes that are none."""
        return as_ack(self.ask("apply", command))

    def leave(self) -> None:
        """Begin to ask for leave; watch the state for what comes of it. The guardian goes on running."""
        self._checked(self.ask("leave"))

    def restore(self) -> dict[str, str]:
        """Put back what was found, without asking the coordinator; what came in the way, by UUID."""
        reply = self._checked(self.ask("restore"))
        return msgspec.msgpack.decode(reply.body, type=dict[str, str])

    def hold(self, reason: str = "") -> None:
        """Have no raise taken until `clear`. Raises `LinkRefused`, also where it holds but could not be stored."""
        cut = reason.encode()[:REASON_LIMIT].decode(errors="ignore")
        self._checked(self.ask("hold", cut.encode()))

    def clear(self) -> None:
        """Have raises taken again. Raises `LinkRefused` where the hold could not be taken off the disk: it stays."""
        self._checked(self.ask("clear"))

    def ask(self, verb: Verb, body: bytes = b"") -> Reply:
        """The reply to one request."""
        self._last += 1
        try:
            self._connection.sendall(frame(Request(id=self._last, verb=verb, body=body)))
            while True:
                for reply in self._waiting:
                    if reply.id == self._last:
                        self._waiting.remove(reply)
                        return reply
                self._waiting = [reply for reply in self._waiting if reply.id > self._last]
                data = self._connection.recv(65536)
                if not data:
                    raise LinkBroken("closed by the guardian")
                self._waiting += self._frames.feed(data, Reply)
        except OSError as fault:
            raise LinkBroken(str(fault) or type(fault).__name__) from fault

    def _checked(self, reply: Reply) -> Reply:
        if reply.kind == "refused":
            raise LinkRefused(reply.why)
        return reply


class AsyncGuardianLink:
    """The same connection for an event loop: replies by id, the rest through `told`, in the order they came."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, told: Callable[[Reply], None]
    ) -> None:
        self._reader, self._writer, self._told = reader, writer, told
        self._frames, self._last = Frames(), 0
        self._asked: dict[int, asyncio.Future[Reply]] = {}

    @classmethod
    async def connect(cls, path: Path, told: Callable[[Reply], None]) -> "AsyncGuardianLink":
        """A connection; run `listen` beside it. Raises `LinkBroken`."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(path))
        except OSError as fault:
            raise LinkBroken(f"{path}: {fault}") from fault
        return cls(reader, writer, told)

    async def listen(self) -> None:
        """Takes what the guardian says until the connection ends, which is `LinkBroken`."""
        try:
            while data := await self._reader.read(65536):
                for reply in self._frames.feed(data, Reply):
                    asked = self._asked.pop(reply.id, None)
                    if asked is None:
                        self._told(reply)
                    elif not asked.done():
                        asked.set_result(reply)
            raise LinkBroken("closed by the guardian")
        except OSError as fault:
            raise LinkBroken(str(fault)) from fault
        finally:
            self.close()

    async def ask(self, verb: Verb, body: bytes = b"", timeout_s: float = 5.0) -> Reply:
        """The reply to one request. Raises `LinkBroken` when the connection ends or the time is over."""
        if self._writer.is_closing():
            raise LinkBroken("closed")
        self._last += 1
        number = self._last
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        try:
            self._writer.write(frame(Request(id=number, verb=verb, body=body)))
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError as fault:
            raise LinkBroken(f"no answer in {timeout_s:g} s") from fault
        finally:
            self._asked.pop(number, None)

    def close(self) -> None:
        """End the connection; whoever waits for a reply learns it."""
        self._writer.close()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(LinkBroken("closed"))
        self._asked.clear()
