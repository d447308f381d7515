"""A Modbus TCP meter: a real pymodbus server in a process of its own, told over its standard input what to do.

Lines: `set ADDRESS WORD ...`, `silent`, `speak`, `delay SECONDS`, `close`, `open`. It answers `ok PORT`.
"""

import asyncio
import contextlib
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LENGTH = 32


def floats(value: float, word_order: str = "big") -> list[int]:
    """The two words of a 32-bit float."""
    words = list(struct.unpack(">HH", struct.pack(">f", value)))
    return words if word_order == "big" else words[::-1]


class MeterProcess:
    """The handle on that process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self._answer())

    def tell(self, *words: Any) -> None:
        """One line, carried out when this returns."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        word, port = self.process.stdout.readline().split()
        assert word == "ok"
        return port


@contextlib.contextmanager
def meter_process() -> Iterator[MeterProcess]:
    """A meter that answers while the block runs."""
    meter = MeterProcess()
    try:
        yield meter
    finally:
        meter.process.kill()
        meter.process.communicate()


class _Server:
    def __init__(self) -> None:
        self.words, self.delay_s, self.port = [0] * LENGTH, 0.0, 0
        self.speaks = asyncio.Event()
        self.speaks.set()
        self.server: Any = None

    async def open(self) -> None:
        from pymodbus.server import ModbusTcpServer
        from pymodbus.simulator import DataType, SimData, SimDevice

        device = SimDevice(
            id=1,
            simdata=[SimData(0, values=list(self.words), datatype=DataType.REGISTERS)],
            action=self.answer,
        )
        self.server = ModbusTcpServer(device, address=("127.0.0.1", self.port))
        await self.server.serve_forever(background=True)
        self.port = self.server.transport.sockets[0].getsockname()[1]

    async def answer(self, _function, start, _address, _count, registers, _values):  # type: ignore[no-untyped-def]
        words = list(self.words)
        await asyncio.sleep(self.delay_s)
        await self.speaks.wait()
        registers[-start : LENGTH - start] = words
        return None

    async def obey(self, line: str) -> None:
        verb, *rest = line.split()
        if verb == "set":
            address = int(rest[0])
            self.words[address : address + len(rest) - 1] = map(int, rest[1:])
        elif verb == "delay":
            self.delay_s = float(rest[0])
        elif verb == "silent":
            self.speaks.clear()
        elif verb == "speak":
            self.speaks.set()
        elif verb == "close":
            await self.server.shutdown()
        elif verb == "open":
            await self.open()


async def _main() -> None:
    server = _Server()
    await server.open()
    loop = asyncio.get_running_loop()
    print("ok", server.port, flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await server.obey(line)
        print("ok", server.port, flush=True)


if __name__ == "__main__":
    asyncio.run(_main())
