"""What one board shows: a fast group in one call to the driver, and a slow group.

The functions of the unmodified binding are called through its own function pointers, into memory that is
allocated once: at 10 Hz the binding's wrappers and their exceptions would cost more than the driver.
"""

import ctypes
import struct
from collections.abc import Callable
from functools import partial
from time import monotonic_ns
from typing import Any

import pynvml

from easyrider import quality
from easyrider.devices.board_readings import Abilities, FastReading, SlowReading
from easyrider.devices.library import Board
from easyrider.devices.markers import Kind, is_blank
from easyrider.devices.nvml_errors import DeviceError, named, nvml_errors

_KINDS: tuple[Kind, ...] = ("double", "uint", "ulonglong", "ulonglong", "longlong", "int", "ushort")
"""NVML's value types by number; unsigned long has 8 bytes where this runs."""
_FIELDS = (
    pynvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION,
    pynvml.NVML_FI_DEV_POWER_INSTANT,
    pynvml.NVML_FI_DEV_POWER_CURRENT_LIMIT,
)
_ENTRY = "8xQ8xIIQ"  # of a field's 40 bytes: time stamp, type, return code, value
_USUAL = "8xQ8xQQ8xQ8xQQ24xQQ"  # the same, with type and return code as one number; a limit needs no stamp
_SLOW = struct.Struct("=II4xII4xQ16xQ")
"""Answers of the slow group side by side: temperature, utilisation, two clocks, reasons, memory in use."""
_UINT, _ULONGLONG = 1, 3
"""NVML's types; read as one number with a return code of 0 after it."""
_FIRST_UINT_MARKER, _FIRST_ULONGLONG_MARKER = 0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0
"""Below these no value of the type is a marker: the usual reading needs no closer look."""
_WINDOWED_SINCE = 7
"""Ampere: from this architecture on `nvmlDeviceGetPowerUsage` is a mean of 1 s (but on GA100)."""
_NEW = tuple.__new__  # of a named tuple, without the detour through its own constructor
_LACKING = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
)
"""Answers that say "this board or driver has no such reading"; any other is a fault of the moment."""


class _Call:
    """One function of the library: `ask()` gives NVML's code and leaves the answer in `result`.

    The function object is ours, not the binding's own, so that the prototype set here changes nothing for others.
    Arguments are made once, in the form in which ctypes hands them on: types declared for them would be asked at
    every call, which takes as long as the call.
    """

    __slots__ = ("ask", "is_there", "result")

    def __init__(self, name: str, result: Any, handle: Any, *numbers: int) -> None:
        self.result = result
        self.ask: Callable[[], int]
        try:
            pynvml._nvmlGetFunctionPointer(name)
        except pynvml.NVMLError:
            self.is_there, self.ask = False, _not_there
            return
        function = pynvml.nvmlLib[name]
        device = ctypes.byref(handle.contents)
        self.is_there, self.ask = True, partial(function, device, *numbers, ctypes.byref(result))


def _not_there() -> int:
    return int(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


class BoardReader:
    """Reads one board. One thread at a time; every call may block for as long as the driver likes."""

    def __init__(self, board: Board) -> None:
        handle = board.handle
        self.board = board
        self.abilities: Abilities | None = None
        self._by_fields_alone = False
        self._values = (pynvml.c_nvmlFieldValue_t * len(_FIELDS))()
        for entry, field in zip(self._values, _FIELDS, strict=True):
            entry.fieldId = field
        self._usual = partial(struct.Struct("=" + _USUAL).unpack_from, self._values)
        self._unpack = struct.Struct("=" + _ENTRY * len(_FIELDS)).unpack_from
        self._fields = _Call("nvmlDeviceGetFieldValues", self._values, handle, len(_FIELDS))
        self._ask_fields = self._fields.ask
        self._power = _Call("nvmlDeviceGetPowerUsage", ctypes.c_uint(), handle)
        self._energy = _Call("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong(), handle)
        self._limit = _Call("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint(), handle)
        slow = bytearray(_SLOW.size)
        self._slow_values = partial(_SLOW.unpack_from, slow)
        temperature, utilisation = (
            ctypes.c_uint.from_buffer(slow),
            pynvml.c_nvmlUtilization_t.from_buffer(slow, 4),
        )
        sm_mhz, mem_mhz = ctypes.c_uint.from_buffer(slow, 12), ctypes.c_uint.from_buffer(slow, 16)
        bits, memory = ctypes.c_ulonglong.from_buffer(slow, 24), pynvml.c_nvmlMemory_t.from_buffer(slow, 32)
        self._temperature = _Call("nvmlDeviceGetTemperature", temperature, handle, 0)
        self._utilisation = _Call("nvmlDeviceGetUtilizationRates", utilisation, handle)
        self._sm_clock = _Call("nvmlDeviceGetClockInfo", sm_mhz, handle, pynvml.NVML_CLOCK_SM)
        self._mem_clock = _Call("nvmlDeviceGetClockInfo", mem_mhz, handle, pynvml.NVML_CLOCK_MEM)
        self._reasons = _Call("nvmlDeviceGetCurrentClocksEventReasons", bits, handle)
        if not self._reasons.is_there:
            self._reasons = _Call("nvmlDeviceGetCurrentClocksThrottleReasons", bits, handle)
        self._memory = _Call("nvmlDeviceGetMemoryInfo", memory, handle)

    def probe(self) -> Abilities:
        """The board's abilities, asked anew; the readings use them from now on.

        Raises the `DeviceError` of a board that does not answer now: nothing is concluded from that.
        """
        code = self._ask_fields()
        entries = self._unpack(self._values)
        codes = {field: code or entries[4 * i + 2] for i, field in enumerate(_FIELDS)}
        missing: list[tuple[str, int]] = []

        def way(name: str, field: int, call: _Call, first: str, second: str) -> Any:
            if codes[field] == 0:
                return first
            refused = call.ask()
            if refused == 0:
                return second
            missing.append((name, refused))
            return None

        energy = way("energy", _FIELDS[0], self._energy, "field", "call")
        power = way("power", _FIELDS[1], self._power, "instant", "usage")
        limit = way("limit", _FIELDS[2], self._limit, "field", "call")
        window_s = _window_s(self.board, power)
        abilities = Abilities(
            power=power, energy=energy, limit=limit, window_s=window_s, missing=tuple(missing)
        )
        for _, refused in missing:
            if refused not in _LACKING:  # a fault, not the board's nature: it may answer next time
                raise named(self.board.uuid, refused)
        self.abilities = abilities
        self._by_fields_alone = (power, energy, limit) == ("instant", "field", "field")
        return abilities

    def fast(self) -> FastReading:
        """Power, energy and enforced limit: one call on a board that has the fields."""
        if self._by_fields_alone:
            if code := self._ask_fields():
                return _nothing(code)
            energy_us, energy_as, energy_mj, power_us, power_as, power_mw, limit_as, limit_mw = self._usual()
            if (
                energy_as == _ULONGLONG and power_as == _UINT and limit_as == _UINT
                and energy_mj < _FIRST_ULONGLONG_MARKER
                and power_mw < _FIRST_UINT_MARKER and limit_mw < _FIRST_UINT_MARKER
            ):  # fmt: skip
                return _NEW(
                    FastReading,
                    (monotonic_ns(), power_mw / 1000.0, 0, power_us, energy_mj, 0, energy_us, limit_mw, 0, 0),
                )
            return self._closely(self._unpack(self._values))
        if self.abilities is None:
            try:
                self.probe()
            except DeviceError as fault:
                return _nothing(fault.code)
        abilities = self.abilities
        assert abilities is not None
        by_fields = "field" in (abilities.energy, abilities.limit) or abilities.power == "instant"
        if by_fields and (code := self._ask_fields()):
            return _nothing(code)
        return self._closely(self._unpack(self._values))

    def _closely(self, entries: tuple[int, ...]) -> FastReading:
        abilities = self.abilities
        assert abilities is not None
        energy_mj, energy_ok, energy_stamp_us, energy_code = self._cell(
            entries[0:4], abilities.energy == "field", self._energy if abilities.energy == "call" else None
        )
        power_mw, power_ok, power_stamp_us, power_code = self._cell(
            entries[4:8], abilities.power == "instant", self._power if abilities.power == "usage" else None
        )
        limit_mw, limit_ok, _, limit_code = self._cell(
            entries[8:12], abilities.limit == "field", self._limit if abilities.limit == "call" else None
        )
        return FastReading(
            monotonic_ns(),
            power_mw / 1000.0,
            power_ok,
            power_stamp_us,
            int(energy_mj),
            energy_ok,
            energy_stamp_us,
            int(limit_mw),
            limit_ok,
            energy_code or power_code or limit_code,
        )

    def slow(self) -> SlowReading:
        """Temperature, utilisation, clocks, reasons and memory: six calls, so once a second at most."""
        codes = (
            self._temperature.ask(),
            self._utilisation.ask(),
            self._sm_clock.ask(),
            self._mem_clock.ask(),
            self._reasons.ask(),
            self._memory.ask(),
        )
        mono_ns = monotonic_ns()
        code = max(codes)
        if code:
            return SlowReading(mono_ns, 0, 0, 0, 0, 0, 0, quality.MISSING, code)
        temperature_c, util_pct, sm_mhz, mem_mhz, reasons, used_bytes = self._slow_values()
        highest = max(temperature_c, util_pct, sm_mhz, mem_mhz)
        if highest >= _FIRST_UINT_MARKER:  # a marker, or a temperature below zero
            if any(is_blank(value, "uint") for value in (temperature_c, util_pct, sm_mhz, mem_mhz)):
                return SlowReading(mono_ns, 0, 0, 0, 0, 0, 0, quality.BLANK, 0)
            temperature_c = ctypes.c_int(temperature_c).value  # the binding's unsigned, the sensor's signed
        return _NEW(
            SlowReading,
            (mono_ns, temperature_c, util_pct, sm_mhz, mem_mhz, reasons, used_bytes >> 20, quality.VALID, 0),
        )

    @staticmethod
    def _cell(entry: tuple[int, ...], is_field: bool, call: _Call | None) -> tuple[float, int, int, int]:
        """(value, ok, stamp in us, code) of one reading, by field, by call, or not given at all."""
        if is_field:
            stamp_us, kind_number, code, raw = entry
            if code:
                return 0, quality.MISSING, 0, code
            kind = _KINDS[kind_number] if kind_number < len(_KINDS) else "ulonglong"
            value = _typed(raw, kind)
            if is_blank(value, kind):
                return 0, quality.BLANK, stamp_us, 0
            return value, quality.VALID, stamp_us, 0
        if call is None:
            return 0, quality.MISSING, 0, 0
        code = call.ask()
        if code:
            return 0, quality.MISSING, 0, code
        value = call.result.value
        if is_blank(value, "ulonglong" if isinstance(call.result, ctypes.c_ulonglong) else "uint"):
            return 0, quality.BLANK, 0, 0
        return value, quality.VALID, 0, 0


def _nothing(code: int) -> FastReading:
    missing = quality.MISSING
    return FastReading(monotonic_ns(), 0.0, missing, 0, 0, missing, 0, 0, missing, code)


def _typed(raw: int, kind: Kind) -> float:
    if kind in ("uint", "ulonglong", "ushort"):
        return raw & {"uint": 0xFFFFFFFF, "ushort": 0xFFFF}.get(kind, 0xFFFFFFFFFFFFFFFF)
    data = raw.to_bytes(8, "little")
    code = {"double": "<d", "longlong": "<q", "int": "<i"}[kind]
    return float(struct.unpack_from(code, data)[0]) if kind == "double" else struct.unpack_from(code, data)[0]


def _window_s(board: Board, power: str | None) -> float:
    """How far the power reading looks back, in s: 0.025 where it is instant, 1 where it is a mean."""
    if power != "usage":
        return 0.025
    try:
        with nvml_errors(board.uuid):
            architecture = int(pynvml.nvmlDeviceGetArchitecture(board.handle))
            name = str(pynvml.nvmlDeviceGetName(board.handle))
    except DeviceError:
        return 1.0  # the longer one: nobody may believe in a faster sensor than there is
    is_ga100 = "A100" in name or "A30" in name or "A800" in name
    return 1.0 if architecture >= _WINDOWED_SINCE and not is_ga100 else 0.025
