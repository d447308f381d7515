"""What may come over a connection: too slow, too much, too many, or no request at all."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from live_api import LiveApi, live_api, until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    with live_api(tmp_path_factory.mktemp("live"), body_timeout_s=1.0, head_timeout_s=1.0) as found:
        yield found


def raw(live: LiveApi, data: bytes, more: bytes = b"", every_s: float = 0.0, for_s: float = 0.0) -> bytes:
    """What comes back on a connection on which these bytes are sent, then `more` again and again."""
    host, _, port = live.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(data)
        end_s = time.monotonic() + for_s
        link.settimeout(max(every_s, 0.01))
        found = b""
        while time.monotonic() < end_s:
            try:
                if more:
                    link.sendall(more)
                part = link.recv(65536)
                if not part:
                    return found
                found += part
            except TimeoutError:
                continue
            except OSError:
                return found
    return found


def test_one_byte_a_second_ends_in_408_while_others_are_served(live: LiveApi) -> None:
    head = (
        f"POST /v1/holds HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {live.admin}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    ).encode()
    answers: list[bytes] = []
    slow = [
        threading.Thread(target=lambda: answers.append(raw(live, head, b" ", 0.2, 5.0))) for _ in range(20)
    ]
    for thread in slow:
        thread.start()
    served = [live.ask("GET", "/tree").status_code for _ in range(10)]
    for thread in slow:
        thread.join()

    assert served == [200] * 10
    assert len(answers) == 20
    assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers)


def test_a_head_that_does_not_come_ends_the_connection(live: LiveApi) -> None:
    for data in (b"", b"GET /v1/tree HTTP/1.1\r\nHost: a"):
        began_s = time.monotonic()

        raw(live, data, b"", 0.1, 8.0)

        assert time.monotonic() - began_s < 5.0


def test_one_address_can_not_take_every_connection(live: LiveApi) -> None:
    host, _, port = live.address.partition(":")
    held = [socket.create_connection((host, int(port)), timeout=5) for _ in range(200)]
    try:
        with socket.create_connection((host, int(port)), timeout=5, source_address=("127.0.0.2", 0)) as other:
            other.sendall(b"GET /v1/health HTTP/1.1\r\nHost: api\r\n\r\n")
            assert other.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        for link in held:
            link.close()
    until(lambda: live.ask("GET", "/tree").status_code == 200, 5, "the first address to be served again")


def test_fifty_megabytes_are_refused_without_being_taken(live: LiveApi) -> None:
    head = (
        f"POST /v1/holds HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {live.admin}\r\n"
        "Content-Type: application/json\r\nContent-Length: 50000000\r\n\r\n"
    ).encode()

    assert raw(live, head, b"x" * 1000, 0.05, 5.0).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/tree HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"GET /v1/tree HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/holds HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/tree HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://elsewhere/v1/tree HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /v1/tree HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_end_nothing_but_their_connection(live: LiveApi, data: bytes) -> None:
    answer = raw(live, data, b"", 0.1, 3.0)

    assert not answer.startswith(b"HTTP/1.1 5")
    assert live.ask("GET", "/tree").status_code == 200
