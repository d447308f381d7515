"""A Docker engine's door, as far as inspecting containers goes: real HTTP on a Unix socket, faults on demand."""

import contextlib
import json
import re
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any


class Engine:
    """`containers` by id, as the engine's API tells them; `asked` ids, in order."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self.containers: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.hangs = threading.Event()
        self.goes_on = threading.Event()
        self.says: tuple[int, bytes] | None = None  # to every question, instead of the truth

    def runs(self, container_id: str, started: str = "2026-01-09T12:00:00.123456789Z", **labels: str) -> None:
        named = {name.replace("_", "."): value for name, value in labels.items()}
        self.containers[container_id] = {
            "Id": container_id, "Config": {"Labels": named}, "State": {"StartedAt": started}
        }  # fmt: skip

    def answer(self, path: str) -> tuple[int, bytes]:
        if path.endswith("/version"):
            return 200, json.dumps({"ApiVersion": "1.47", "MinAPIVersion": "1.24"}).encode()
        found = re.search(r"/containers/([0-9a-f]+)/json", path)
        if found is None:
            return 404, b'{"message": "page not found"}'
        self.asked.append(found[1])
        if self.hangs.is_set():
            self.goes_on.wait(30)
        if self.says is not None:
            return self.says
        told = self.containers.get(found[1])
        if told is None:
            return 404, json.dumps({"message": f"No such container: {found[1]}"}).encode()
        return 200, json.dumps(told).encode()


@contextlib.contextmanager
def engine(path: Path) -> Iterator[Engine]:
    """An engine that listens while the block runs."""
    running = Engine(path)

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = running.answer(self.path)
            with contextlib.suppress(OSError):  # who asked may have gone
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *_: object) -> None:
            pass

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    server = Server(str(path), Door)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.goes_on.set()
        server.shutdown()
        server.server_close()
