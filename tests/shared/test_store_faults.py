"""The store killed, frozen, full, loading or answering late: silence and refusal are told apart."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from easyrider.embedded import ServerProcess
from easyrider.free_ports import free_port
from easyrider.store import Store
from easyrider.store_port import StoreRefused, StoreSilent
from easyrider.testing.servers import redis_server


@pytest.fixture
def own_valkey() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


async def test_a_frozen_store_is_silent_within_the_deadline_and_back_without_our_doing(
    own_valkey: ServerProcess,
) -> None:
    async with Store.connect(own_valkey.url, deadline_s=0.5) as store:
        assert await store.take_lead("site", "r1", "anna", 0, 60.0) == 1
        own_valkey.freeze()
        for _ in range(3):
            began_s = time.monotonic()
            with pytest.raises(StoreSilent):
                await store.renew_lead("site", "r1", "anna", 1, 60.0)
            assert time.monotonic() - began_s < 2.0
        own_valkey.thaw()

        assert await store.renew_lead("site", "r1", "anna", 1, 60.0)


async def test_a_killed_store_is_silent_and_an_empty_one_answers_that_the_lease_is_not_ours(
    own_valkey: ServerProcess,
) -> None:
    async with Store.connect(own_valkey.url, deadline_s=1.0) as store:
        assert await store.take_lead("site", "r1", "anna", 7, 60.0) == 8
        own_valkey.kill()
        with pytest.raises(StoreSilent):
            await store.renew_lead("site", "r1", "anna", 8, 60.0)
        own_valkey.start()

        assert await store.renew_lead("site", "r1", "anna", 8, 60.0) is False
        assert await store.take_lead("site", "r1", "anna", 8, 60.0) == 9


async def test_a_store_that_is_not_there_is_silent_and_opening_it_does_not_wait() -> None:
    began_s = time.monotonic()
    async with Store.connect(f"redis://127.0.0.1:{free_port()}/0") as store:
        with pytest.raises(StoreSilent) as caught:
            await store.load_rules("site")

    assert caught.value.verb == "load_rules"
    assert time.monotonic() - began_s < 3.0


async def test_a_full_store_refuses_writes_reads_on_and_recovers_by_itself(own_valkey: ServerProcess) -> None:
    command(own_valkey, "CONFIG SET maxmemory 3mb", "CONFIG SET maxmemory-policy noeviction")
    async with Store.connect(own_valkey.url, deadline_s=2.0) as store:
        await store.save_rules("site", 1, b"rules")
        await fill(store)
        with pytest.raises(StoreRefused, match="memory"):
            await store.take_lead("site", "r2", "anna", 0, 5.0)

        assert await store.load_rules("site") == (1, b"rules")
        command(own_valkey, "CONFIG SET maxmemory 100mb")
        await store.save_rules("site", 2, b"more")


async def test_a_read_only_store_refuses(own_valkey: ServerProcess) -> None:
    command(own_valkey, f"REPLICAOF 127.0.0.1 {free_port()}")
    async with Store.connect(own_valkey.url, deadline_s=2.0) as store:
        with pytest.raises(StoreRefused):
            await store.take_lead("site", "r1", "anna", 0, 5.0)


async def test_loading_is_silence_and_never_an_empty_store() -> None:
    async with stub(lambda _words: b"-LOADING Redis is loading the dataset in memory\r\n") as url:
        async with Store.connect(url) as store:
            with pytest.raises(StoreSilent, match="loading"):
                await store.load_state("site", "r1")


async def test_a_wrong_password_is_a_refusal_that_does_not_repeat_it() -> None:
    def answer(words: list[bytes]) -> bytes:
        return (
            b"-WRONGPASS invalid username-password pair\r\n"
            if words[0] in (b"AUTH", b"HELLO")
            else b"+OK\r\n"
        )

    async with stub(answer) as url:
        async with Store.connect(url.replace("//", "//anna:geheim@")) as store:
            with pytest.raises(StoreRefused) as caught:
                await store.load_rules("site")

    assert "geheim" not in str(caught.value)


async def test_a_call_given_up_never_gives_its_answer_to_the_next_one() -> None:
    delay_s = 0.0

    async def answer(words: list[bytes]) -> bytes:
        await asyncio.sleep(delay_s)
        if words[0] != b"HGET":
            return b"+OK\r\n"
        told = b"1 " + words[2]
        return b"$%d\r\n%b\r\n" % (len(told), told)

    async with stub(answer) as url:
        async with Store.connect(url, deadline_s=2.0) as store:
            wrong = 0
            for _round in range(50):
                delay_s = 0.05
                asking = asyncio.create_task(store.load_fingerprint("site", "first"))
                await asyncio.sleep(0.005)
                asking.cancel()
                delay_s = 0.0
                wrong += await store.load_fingerprint("site", "second") != (1, b"second")

    assert wrong == 0


async def fill(store: Store) -> None:
    for size in (200_000, 20_000, 2_000, 200, 20):
        for index in range(2_000):
            try:
                await store.save_state("site", f"r{size}", {f"f{index}": bytes(size)})
            except StoreRefused:
                break


def command(server: ServerProcess, *lines: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=2.0) as link:
        answers = link.makefile("rb")
        for line in lines:
            link.sendall(line.encode() + b"\r\n")
            assert answers.readline() == b"+OK\r\n"


@asynccontextmanager
async def stub(answer: Callable[[list[bytes]], object]) -> AsyncIterator[str]:
    """A server that speaks just enough of the protocol; `answer` gives its reply to each command."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while (head := await reader.readline()).startswith(b"*"):
            words = []
            for _ in range(int(head[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            reply = answer(words)
            writer.write(reply if isinstance(reply, bytes) else await reply)  # type: ignore[misc]

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    finally:
        server.close()
        for writer in writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
