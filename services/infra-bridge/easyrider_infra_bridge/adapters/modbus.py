"""Modbus TCP: reads holding registers, one request under way, one link a meter. Nothing here can write.

After anything odd (no answer in time, an answer to another request, of another length) the link is dropped and the
next poll opens a new one: a late answer can then never be taken for that of a later request.
"""

import asyncio
from collections.abc import Sequence

from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException

from easyrider.errors import EasyRiderError
from easyrider_infra_bridge.core.registers import Block

_READ_HOLDING = 3


class MeterSilent(EasyRiderError):
    """A meter gave no usable answer to this poll; its last reading ages."""

    def __init__(self, meter: str, why: str) -> None:
        self.meter, self.why = meter, why
        super().__init__(f"meter {meter}: {why}")


class ModbusLink:
    """One meter's link. `read` may be called once at a time."""

    def __init__(self, meter: str, host: str, port: int, device_id: int, deadline_s: float) -> None:
        self._meter, self._host, self._port = meter, host, port
        self._device_id, self._deadline_s = device_id, deadline_s
        self._client: AsyncModbusTcpClient | None = None

    async def read(self, blocks: Sequence[Block]) -> dict[int, int]:
        """The words of all blocks by address, within the deadline for all together. Raises `MeterSilent`."""
        try:
            async with asyncio.timeout(self._deadline_s):
                client = await self._connected()
                words: dict[int, int] = {}
                for block in blocks:
                    words |= await self._read_block(client, block)
                return words
        except (TimeoutError, ModbusException, OSError) as fault:
            self.close()
            raise MeterSilent(
                self._meter, str(fault) or f"no answer within {self._deadline_s:g} s"
            ) from fault
        except (MeterSilent, asyncio.CancelledError):
            self.close()
            raise

    def close(self) -> None:
        """The link dropped."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    async def _connected(self) -> AsyncModbusTcpClient:
        if self._client is not None and self._client.connected:
            return self._client
        self.close()
        self._client = client = AsyncModbusTcpClient(
            self._host,
            port=self._port,
            timeout=self._deadline_s,
            retries=0,
            reconnect_delay=0,  # the library's own reconnecting gives up or hangs: a new client each time
        )
        if not await client.connect():
            raise MeterSilent(self._meter, f"no connection to {self._host}:{self._port}")
        return client

    async def _read_block(self, client: AsyncModbusTcpClient, block: Block) -> dict[int, int]:
        answer = await client.read_holding_registers(
            block.address, count=block.words, device_id=self._device_id
        )
        if answer.isError():
            raise MeterSilent(
                self._meter, f"refused to read {block.words} words at {block.address}: {answer}"
            )
        if answer.function_code != _READ_HOLDING or answer.dev_id != self._device_id:
            raise MeterSilent(self._meter, "answered another request")
        if len(answer.registers) != block.words:
            raise MeterSilent(
                self._meter, f"gave {len(answer.registers)} words where {block.words} were asked for"
            )
        return {block.address + k: word for k, word in enumerate(answer.registers)}
