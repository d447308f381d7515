"""Users of a real store who try everything, in the protocol's own words."""

import socket


class StoreAttempts:
    """One connection, signed in or not; many commands in one round trip."""

    def __init__(self, port: int, user: str | None = None, password: str = "") -> None:
        self._link = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._answers = self._link.makefile("rb")
        self.greeting = b"" if user is None else self.ask(("AUTH", user, password))[0]

    def ask(self, *commands: tuple[str, ...]) -> list[bytes]:
        """The first line of each answer."""
        self._link.sendall(b"".join(_coded(command) for command in commands))
        return [self._answer() for _command in commands]

    def denied(self, *commands: tuple[str, ...]) -> list[bool]:
        """For each command whether this user may not say it; any other answer means that it may."""
        return [
            answer.startswith((b"-NOPERM", b"-NOAUTH")) or b"command not allowed" in answer
            for answer in self.ask(*commands)
        ]

    def close(self) -> None:
        self._answers.close()
        self._link.close()

    def _answer(self) -> bytes:
        line: bytes = self._answers.readline()
        if not line:
            raise ConnectionError("the store closed the link")
        count = int(line[1:]) if line[:1] in b"$*%~>" else -1
        if line[:1] == b"$" and count >= 0:
            self._answers.read(count + 2)
        elif line[:1] in b"*~>":
            for _ in range(max(count, 0)):
                self._answer()
        return line


def _coded(command: tuple[str, ...]) -> bytes:
    words = b"".join(b"$%d\r\n%b\r\n" % (len(word.encode()), word.encode()) for word in command)
    return b"*%d\r\n%b" % (len(command), words)
