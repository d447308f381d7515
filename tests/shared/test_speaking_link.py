"""The link that only speaks, at a real nats-server that is killed, frozen, full, foreign or closing down."""

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from speaking_voice import HEAD, SUBJECT, MakeVoice, Voice, hold, voices

from easyrider.bus import Bus
from easyrider.bus_greeting import Caller, greet
from easyrider.embedded import ServerProcess
from easyrider.messages import Hold
from easyrider.testing.servers import nats_server


@pytest.fixture
def voice() -> Iterator[MakeVoice]:
    with voices() as make:
        yield make


@pytest.fixture
def own_nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


async def test_what_it_says_is_heard_in_order(nats: ServerProcess, voice: MakeVoice) -> None:
    heard: list[int] = []
    async with Bus.connect(nats.url, name="actuator") as bus:
        await bus.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        v = voice(nats.url)
        await v.until(lambda: v.link.connected)

        said = [v.link.say(HEAD, hold(seq)) for seq in range(20)]

        await v.until(lambda: len(heard) == 20)
    assert all(said)
    assert heard == list(range(20))
    assert v.link.unsent == 0


def test_before_there_is_a_server_it_says_no_at_once_and_that_it_waits() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        v = Voice(f"nats://127.0.0.1:{taken.getsockname()[1]}")

        assert not v.link.say(HEAD, hold(1))

        deadline_s = time.monotonic() + 5
        while not v.says("waits"):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        v.link.close()
    assert "refused" in v.says("waits")[0].lower()
    assert v.link.unsent == 1


async def test_a_server_that_was_killed_is_found_again_and_hears_nothing_from_the_outage(
    own_nats: ServerProcess, voice: MakeVoice
) -> None:
    heard: list[int] = []
    v = voice(own_nats.url)
    await v.until(lambda: v.link.connected)
    own_nats.kill()
    await v.until(lambda: not v.link.connected)
    assert not v.link.say(HEAD, hold(1))
    own_nats.start()
    async with Bus.connect(own_nats.url, name="actuator") as bus:
        await bus.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        await v.until(lambda: v.link.connected)

        v.link.say(HEAD, hold(2))
        await v.until(lambda: heard)

    assert heard == [2]
    assert [news.what for news in v.news if news.what != "waits"] == ["up", "lost", "up"]


async def test_a_frozen_server_delays_nobody_and_is_given_up_with_all_that_it_did_not_take(
    own_nats: ServerProcess, voice: MakeVoice
) -> None:
    heard: list[int] = []
    async with Bus.connect(own_nats.url, name="actuator") as other:
        await other.subscribe(SUBJECT, (Hold,), lambda m, _a: heard.append(m.seq))
        v = voice(own_nats.url)
        await v.until(lambda: v.link.connected)
        own_nats.freeze()
        slowest_s, said = 0.0, 0
        for seq in range(2000):
            began_s = time.monotonic()
            taken = v.link.say(HEAD, hold(seq, 60_000))
            slowest_s = max(slowest_s, time.monotonic() - began_s)
            said += taken
            if not taken:
                break
        await v.until(lambda: not v.link.connected, 12.0)
        own_nats.thaw()
        await v.until(lambda: v.link.connected and other.connected, 8.0)
        v.link.say(HEAD, hold(10**6))
        await v.until(lambda: 10**6 in heard, 8.0)

    assert said < 500  # the kernels on both sides take some, and no more
    assert slowest_s < 0.5
    assert "the server gives no sign of life" in v.says("lost")
    assert len(heard) - 1 < said  # what was still on our side never left


async def test_half_a_message_is_ended_before_another_begins(voice: MakeVoice) -> None:
    taken = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:
        taking = threading.Event()

        def serve() -> None:
            link, _ = server.accept()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            with link:
                link.sendall(b'INFO {"max_payload": 1048576}\r\n')
                while b"PING\r\n" not in link.recv(4096):
                    pass
                link.sendall(b"PONG\r\n")
                taking.wait(20)
                while data := link.recv(65536):
                    taken.extend(data)

        thread = threading.Thread(target=serve)
        thread.start()
        v = voice(f"nats://127.0.0.1:{server.getsockname()[1]}")
        await v.until(lambda: v.link.connected)
        bodies = [bytes([65 + k]) * 60_000 for k in range(26)] * 4
        said = [body for body in bodies if v.link.say(b"PUB a ", body)]
        assert 0 < len(said) < len(bodies)
        taking.set()
        late = 0

        def ended() -> bool:
            nonlocal late
            late += v.link.say(b"PUB a ", b"late")
            return late == 2

        await v.until(ended, tend=False)
        v.link.close()
        await asyncio.to_thread(thread.join, 10)

    expected = b"".join(b"PUB a 60000\r\n%b\r\n" % body for body in said) + b"PUB a 4\r\nlate\r\n" * 2
    assert bytes(taken) == expected


async def test_a_message_that_is_too_large_is_not_said_and_closes_nothing(
    voice: MakeVoice, tmp_path: Path
) -> None:
    with nats_server(lambda port: f"listen: 127.0.0.1:{port}\nmax_payload: 1000\n") as server:
        v = voice(server.url)
        await v.until(lambda: v.link.connected)

        assert not v.link.say(HEAD, hold(1, 2000))
        assert v.link.say(HEAD, hold(2))

        await v.stays(0.3, lambda: v.link.connected)
    assert "1000" in v.says("forbidden")[0]


async def test_pings_of_the_server_are_answered_as_long_as_it_is_tended(voice: MakeVoice) -> None:
    config = 'listen: 127.0.0.1:{port}\nping_interval: "0.2s"\nping_max: 1\n'
    with nats_server(lambda port: config.replace("{port}", str(port))) as server:
        v, untended = voice(server.url), voice(server.url)
        await v.until(lambda: v.link.connected)
        await v.until(lambda: untended.link.connected)
        untended.link.tend()  # once, to take the link that was made

        await v.stays(2.0, lambda: v.link.connected)

        untended.link.tend()
        assert not untended.link.connected


async def test_a_server_that_closes_down_is_left_for_another_before_it_does(
    own_nats: ServerProcess, voice: MakeVoice
) -> None:
    with nats_server() as other:
        v = voice(f"{own_nats.url},{other.url}")
        await v.until(lambda: v.link.connected)
        v.link.tend()
        link = v.link._socket
        assert link is not None
        first = own_nats if link.getpeername()[1] == own_nats.port else other
        second = other if first is own_nats else own_nats

        os.kill(first.pid, signal.SIGUSR2)  # lame duck: it tells its clients, and goes away later

        def moved() -> bool:
            assert v.link.say(HEAD, hold(1))  # not one is lost
            link = v.link._socket
            return link is not None and link.getpeername()[1] == second.port

        await v.until(moved)
        first.kill()  # it would take its time
    assert not v.says("lost")


def test_a_server_that_never_ends_its_greeting_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        began_s = time.monotonic()

        with pytest.raises(TimeoutError):
            greet(f"nats://127.0.0.1:{server.getsockname()[1]}", Caller(name="x"), 0.3)

        assert time.monotonic() - began_s < 2


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"INFO no json\r\n",
        b"INFO [1]\r\n",
        b'INFO {"max_payload": "much"}\r\nPONG\r\nINFO 7\r\n',
        b"-ERR 'maximum connections exceeded'\r\n",
        b"",
    ],
)
async def test_whatever_speaks_no_nats_is_tried_again_and_harms_nothing(
    greeting: bytes, voice: MakeVoice
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        served: list[int] = []

        def serve() -> None:
            for _ in range(2):
                link, _ = server.accept()
                with link, contextlib.suppress(OSError):
                    link.sendall(greeting)
                    link.shutdown(socket.SHUT_WR)
                    while link.recv(4096):
                        pass
                served.append(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        v = voice(f"nats://127.0.0.1:{server.getsockname()[1]}")

        await v.until(lambda: len(served) == 2)

        assert {news.what for news in v.news} <= {"waits", "up", "lost"}
