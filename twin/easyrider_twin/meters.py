"""Instruments on power domains, served over Modbus TCP, one server each so that one can fall silent alone."""

import asyncio
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from easyrider_twin.gpus import STEP_S
from easyrider_twin.plant import Plant
from easyrider_twin.world import Meter

DEVICE_ID = 1
GAIN_SD = 0.003
"""Class 0.5 instruments."""
VOLTS, HERTZ, POWER_FACTOR = 400.0, 50.0, 0.98


@dataclass(frozen=True, slots=True)
class Register:
    """One quantity of a register map: value = raw x scale."""

    quantity: str
    address: int
    type: str = "uint16"
    word_order: str = "big"
    scale: float = 1.0


MAPS = {
    "power_meter": (
        Register("power_w", 0, "float32"),
        Register("voltage_v", 2, "float32"),
        Register("current_a", 4, "float32"),
        Register("frequency_hz", 6, "float32"),
    ),
    "ups": (
        Register("power_w", 0, "float32", "little"),
        Register("load_pct", 2, scale=0.1),
        Register("modules_total", 3),
        Register("modules_ok", 4),
        Register("on_battery", 5),
        Register("battery_pct", 6),
        Register("temperature_c", 7, "int16", scale=0.1),
        Register("voltage_v", 8, scale=0.1),
        Register("frequency_hz", 9, scale=0.01),
        Register("current_a", 10, "uint32", scale=0.1),
    ),
}
LENGTH = 12


class Instrument:
    """One meter: holds the mean power of its last period, and the state of a UPS at its end."""

    def __init__(self, meter: Meter, plant: Plant) -> None:
        number = [m.id for m in plant.world.meters].index(meter.id)
        rng = np.random.default_rng([plant.world.seed, 3, number])
        self.meter = meter
        self._plant = plant
        self._domain = list(plant.domains.devices).index(meter.domain)
        self._gain = float(rng.normal(1.0, GAIN_SD))
        self._period_steps = max(1, round(meter.period_s / STEP_S))
        self._phase = int(rng.integers(self._period_steps))
        self._sum_w, self._steps = 0.0, 0
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._words = [0] * LENGTH
        self._server: ModbusTcpServer | None = None
        self.port = meter.port
        self._latch(float(plant.domains.wall_w[self._domain]))

    def see(self) -> None:
        """Take in the plant's last step."""
        self._sum_w += float(self._plant.domains.wall_w[self._domain])
        self._steps += 1
        if (self._plant.steps + self._phase) % self._period_steps == 0:
            self._latch(self._sum_w / self._steps)
            self._sum_w, self._steps = 0.0, 0

    def silence(self, silent: bool) -> None:
        """Requests hang unanswered while silent, as with a cable pulled."""
        if silent:
            self._speaks.clear()
        else:
            self._speaks.set()

    async def serve(self, host: str) -> None:
        """Answer on `host`; `port` then says where."""
        registers = SimData(0, values=list(self._words), datatype=DataType.REGISTERS)
        device = SimDevice(id=DEVICE_ID, simdata=[registers], action=self._answer)
        self._server = ModbusTcpServer(device, address=(host, self.port))
        await self._server.serve_forever(background=True)
        listener: Any = self._server.transport  # an asyncio.Server, which pymodbus types as its own base
        self.port = int(listener.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop answering for good."""
        self._speaks.set()
        if self._server is not None:
            await self._server.shutdown()  # type: ignore[no-untyped-call]

    def entry(self, host: str) -> dict[str, Any]:
        """How a bridge reads this meter, as one entry of a register map."""
        return {
            "id": self.meter.id,
            "domain": self.meter.domain,
            "kind": self.meter.kind,
            "host": host,
            "port": self.port,
            "device_id": DEVICE_ID,
            "period_s": self.meter.period_s,
            "registers": [
                {
                    "quantity": r.quantity,
                    "address": r.address,
                    "type": r.type,
                    "word_order": r.word_order,
                    "scale": r.scale,
                }
                for r in MAPS[self.meter.kind]
            ],
        }

    async def _answer(
        self, _function: int, start: int, _address: int, _count: int, registers: list[int], _values: object
    ) -> ExcCodes | None:
        await self._speaks.wait()
        registers[-start : LENGTH - start] = self._words
        return None

    def _latch(self, power_w: float) -> None:
        power_w *= self._gain
        device = self._plant.domains.devices[self.meter.domain]
        live = not device.dark
        carried = power_w / device.capacity_w * 100 if device.capacity_w > 0 else 0.0
        values = {
            "power_w": power_w,
            "voltage_v": VOLTS if live else 0.0,
            "current_a": power_w / (VOLTS * 3**0.5 * POWER_FACTOR),
            "frequency_hz": HERTZ if live else 0.0,
            "load_pct": carried,
            "modules_total": device.spec.modules,
            "modules_ok": device.modules_ok,
            "on_battery": 0,
            "battery_pct": 100,
            "temperature_c": 25.0 + carried / 10,
        }
        words = [0] * LENGTH
        for register in MAPS[self.meter.kind]:
            raw = encode(values[register.quantity] / register.scale, register)
            words[register.address : register.address + len(raw)] = raw
        self._words = words


def encode(raw: float, register: Register) -> list[int]:
    """The 16-bit words of one raw value; whole numbers are rounded and held within their type."""
    if register.type == "float32":
        octets = struct.pack(">f", raw)
    else:
        form, low, high = {"uint16": (">H", 0, 0xFFFF), "int16": (">h", -0x8000, 0x7FFF)}.get(
            register.type, (">I", 0, 0xFFFFFFFF)
        )
        octets = struct.pack(form, min(max(round(raw), low), high))
    words = [int.from_bytes(octets[k : k + 2], "big") for k in range(0, len(octets), 2)]
    return words if register.word_order == "big" else words[::-1]
