"""One layout, two languages."""

import ctypes
import itertools
from pathlib import Path

import pytest

from easyrider_twin import statefile

RECORDS = {"header": statefile.HEADER, "gpu": statefile.GPU, "ring": statefile.RING}
FIELDS = [(record, field) for record, dtype in RECORDS.items() for field in dtype.names]


@pytest.mark.parametrize(("record", "field"), FIELDS)
def test_the_compiler_and_numpy_put_every_shared_field_at_the_same_offset(
    nvml_library: Path, record: str, field: str
):
    offset_of = ctypes.CDLL(str(nvml_library / "libnvidia-ml.so.1")).easyrider_twin_offset
    offset_of.restype = ctypes.c_long

    offset = offset_of(f"{record}.{field}".encode())

    assert offset == RECORDS[record].fields[field][1]


@pytest.mark.parametrize("record", RECORDS)
def test_no_two_fields_overlap_and_each_is_aligned_to_its_size(record: str):
    spans = sorted((offset, dtype.itemsize) for dtype, offset in RECORDS[record].fields.values())

    assert all(begin + size <= after for (begin, size), (after, _) in itertools.pairwise(spans))
    assert all(
        offset % dtype.alignment == 0 and offset % dtype.itemsize == 0
        for dtype, offset in RECORDS[record].fields.values()
        if dtype.kind in "ui"
    )


def test_what_numpy_writes_pynvml_reads(nvml_node):
    gpu = nvml_node.state.gpus[3]
    gpu["uuid"], gpu["name"], gpu["pci_bus_id"] = b"GPU-abc", b"NVIDIA Test", b"00000001:AF:00.0"
    gpu["instant_mw"], gpu["average_mw"], gpu["energy_mj"] = 123_456, 234_567, 2**40 + 7
    gpu["temperature_c"], gpu["util_gpu_pct"], gpu["util_mem_pct"] = 61, 97, 43
    gpu["sm_mhz"], gpu["mem_mhz"], gpu["event_reasons"] = 1755, 2619, 0x4
    gpu["memory_total"], gpu["memory_used"] = 80 << 30, 5 << 30

    seen = nvml_node.ask("""
        nvmlInit()
        gpu = nvmlDeviceGetHandleByUUID("GPU-abc")
        pci, memory = nvmlDeviceGetPciInfo(gpu), nvmlDeviceGetMemoryInfo(gpu)
        rates, by_bus = nvmlDeviceGetUtilizationRates(gpu), nvmlDeviceGetHandleByPciBusId("0001:af:00.0")
        say(index=nvmlDeviceGetIndex(gpu), uuid=nvmlDeviceGetUUID(gpu), name=nvmlDeviceGetName(gpu),
            bus=pci.busId, place=[pci.domain, pci.bus, pci.device], by_bus=nvmlDeviceGetIndex(by_bus),
            usage=nvmlDeviceGetPowerUsage(gpu), energy=nvmlDeviceGetTotalEnergyConsumption(gpu),
            c=[nvmlDeviceGetTemperature(gpu, 0), nvmlDeviceGetTemperatureV(gpu, 0)], rates=[rates.gpu, rates.memory],
            mhz=[nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM), nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_MEM)],
            max_mhz=nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_SM),
            reasons=[nvmlDeviceGetCurrentClocksEventReasons(gpu), nvmlDeviceGetCurrentClocksThrottleReasons(gpu)],
            memory=[memory.total, memory.used, memory.free], serial=nvmlDeviceGetSerial(gpu),
            minor=nvmlDeviceGetMinorNumber(gpu))
    """)

    assert seen == {
        "index": 3, "uuid": "GPU-abc", "name": "NVIDIA Test", "bus": "00000001:AF:00.0", "place": [1, 0xAF, 0],
        "by_bus": 3, "usage": 234_567, "energy": 2**40 + 7, "c": [61, 61], "rates": [97, 43], "mhz": [1755, 2619],
        "max_mhz": 1980, "reasons": [4, 4], "memory": [80 << 30, 5 << 30, 75 << 30], "serial": seen["serial"],
        "minor": 3,
    }  # fmt: skip
    assert len(seen["serial"]) == 13
