"""Power, energy, field values, versioned records and blank markers."""

import threading
import time

import pytest

from easyrider_twin import statefile

NOT_SUPPORTED, VERSION_MISMATCH = 3, 25
AMPERE, HOPPER = 7, 9


@pytest.mark.parametrize(
    ("architecture", "name", "capabilities", "shown_mw"),
    [
        (HOPPER, b"NVIDIA H100 80GB HBM3", 15, 222_000),
        (AMPERE, b"NVIDIA A40", 15, 222_000),
        (AMPERE, b"NVIDIA A100-SXM4-80GB", 15, 111_000),
        (5, b"Tesla V100-SXM2-32GB", 3, 111_000),
        (HOPPER, b"no average field", 7, 111_000),
    ],
)
def test_power_usage_is_the_mean_on_ampere_and_newer_but_not_on_ga100(
    nvml_node, architecture, name, capabilities, shown_mw
):
    gpu = nvml_node.state.gpus[0]
    gpu["architecture"], gpu["name"], gpu["capabilities"] = architecture, name, capabilities
    gpu["instant_mw"], gpu["average_mw"] = 111_000, 222_000

    seen = nvml_node.ask("nvmlInit(); say(mw=nvmlDeviceGetPowerUsage(boards()[0]))")

    assert seen == {"mw": shown_mw}


def test_each_field_value_has_its_own_answer_type_and_time_stamp(nvml_node):
    gpu = nvml_node.state.gpus[0]
    gpu["instant_mw"], gpu["average_mw"], gpu["energy_mj"] = 111, 222, 2**33
    gpu["power_stamp_us"], gpu["energy_stamp_us"] = 1_700_000_000_000_001, 1_700_000_000_000_002

    seen = nvml_node.ask("""
        nvmlInit()
        asked = [83, 185, 186, 187, 188, 189, 190, 192, 12, (186, 1), (186, 2), (186, 9)]
        values = nvmlDeviceGetFieldValues(boards()[0], asked)
        pick = {1: lambda value: value.uiVal, 3: lambda value: value.ullVal}
        say(answers=[v.nvmlReturn for v in values], types=[v.valueType for v in values[:8]],
            values=[pick[v.valueType](v.value) for v in values[:8]], stamps=[v.timestamp for v in values[:3]],
            now=values[6].timestamp)
    """)

    assert seen["answers"] == [0] * 8 + [NOT_SUPPORTED, NOT_SUPPORTED, NOT_SUPPORTED, 2]
    assert seen["types"] == [3, 1, 1, 1, 1, 1, 1, 1]
    assert seen["values"] == [2**33, 222, 111, 200_000, 700_000, 700_000, 700_000, 700_000]
    assert seen["stamps"] == [1_700_000_000_000_002] + [1_700_000_000_000_001] * 2
    assert abs(seen["now"] / 1e6 - time.time()) < 30


def test_a_board_without_counter_or_fields_fails_those_entries_alone(nvml_node):
    nvml_node.state.gpus["capabilities"][0] = 0

    seen = nvml_node.ask("""
        nvmlInit()
        gpu = boards()[0]
        values = nvmlDeviceGetFieldValues(gpu, [83, 185, 186, 188, 190, 192])
        say(answers=[v.nvmlReturn for v in values], energy=code_of(nvmlDeviceGetTotalEnergyConsumption, gpu),
            limit=code_of(nvmlDeviceGetPowerManagementLimit, gpu), enforced=nvmlDeviceGetEnforcedPowerLimit(gpu))
    """)

    assert seen == {"answers": [3, 3, 3, 0, 0, 3], "energy": 3, "limit": 3, "enforced": 700_000}


BLANK = 2**32 - 1


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (1, {"instant": BLANK}),
        (2, {"energy": 2**64 - 1}),
        (4, {"c": BLANK}),
        (8, {"gpu": BLANK, "memory": BLANK}),
        (256, {"average": BLANK}),
        (16, {"instant": 1_000 * 20 + 12_345_678}),
        (32, {"energy": 1_000}),
        (64, {"c": 900}),
        (128, {"gpu": 240, "memory": 240}),
        (4096, {"average": 2_000 * 20 + 12_345_678}),
    ],
)
def test_a_blank_mask_spoils_its_reading_and_no_other(nvml_node, mask, expected):
    gpu = nvml_node.state.gpus[0]
    gpu["instant_mw"], gpu["average_mw"], gpu["energy_mj"], gpu["temperature_c"] = 1_000, 2_000, 3_000, 40
    gpu["util_gpu_pct"], gpu["util_mem_pct"], gpu["blank_mask"] = 50, 60, mask

    seen = nvml_node.ask("""
        nvmlInit()
        gpu = boards()[0]
        average, instant = nvmlDeviceGetFieldValues(gpu, [185, 186])
        rates = nvmlDeviceGetUtilizationRates(gpu)
        say(instant=instant.value.uiVal, average=average.value.uiVal, energy=nvmlDeviceGetTotalEnergyConsumption(gpu),
            c=nvmlDeviceGetTemperature(gpu, 0), gpu=rates.gpu, memory=rates.memory)
    """)

    untouched = {"instant": 1_000, "average": 2_000, "energy": 3_000, "c": 40, "gpu": 50, "memory": 60}
    assert seen == untouched | expected


def test_an_energy_is_never_paired_with_the_time_stamp_of_another_refresh(nvml_node):
    stop = threading.Event()

    def simulate() -> None:
        gpu, tick = nvml_node.state.gpus[0], 0
        while not stop.is_set():
            tick += 1
            with statefile.writing_sensors(nvml_node.state):
                gpu["energy_mj"] = tick * 7
                gpu["energy_stamp_us"] = tick
            time.sleep(0.0001)

    simulator = threading.Thread(target=simulate)
    simulator.start()
    try:
        seen = nvml_node.ask("""
            nvmlInit()
            gpu, end, torn, reads, stamps = boards()[0], time.monotonic() + 1.0, 0, 0, set()
            while time.monotonic() < end:
                entry = nvmlDeviceGetFieldValues(gpu, [83])[0]
                torn += entry.value.ullVal != entry.timestamp * 7
                reads += 1
                stamps.add(entry.timestamp)
            say(torn=torn, reads=reads, refreshes=len(stamps))
        """)
    finally:
        stop.set()
        simulator.join()

    assert seen["refreshes"] > 50
    assert seen["torn"] == 0


def test_a_simulator_that_died_in_the_middle_of_a_step_does_not_block_its_readers(nvml_node):
    nvml_node.state.header["sensor_seq"] = 7

    seen = nvml_node.ask("""
        nvmlInit(); gpu = boards()[0]; begun = time.monotonic()
        say(mw=nvmlDeviceGetPowerUsage(gpu), s=time.monotonic() - begun)
    """)

    assert seen["mw"] == 75_000
    assert seen["s"] < 1.0


def test_a_record_of_another_version_is_a_version_mismatch(nvml_node):
    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        gpu, bare = boards()[0], ctypes.CDLL("libnvidia-ml.so.1")
        memory, heat, power = c_nvmlMemory_v2_t(), c_nvmlTemperature_v1_t(), c_nvmlPowerValue_v2_t()
        right = nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).total
        say(right=right, wrong=[bare.nvmlDeviceGetMemoryInfo_v2(gpu, ctypes.byref(memory)),
            bare.nvmlDeviceGetTemperatureV(gpu, ctypes.byref(heat)),
            bare.nvmlDeviceSetPowerManagementLimit_v2(gpu, ctypes.byref(power))])
    """)

    assert seen == {"right": 80 << 30, "wrong": [VERSION_MISMATCH] * 3}


def test_lists_that_are_empty_and_buffers_that_are_too_small_answer_as_the_driver_does(nvml_node):
    nvml_node.state.gpus["power_stamp_us"] = 1_000

    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        gpu, bare = boards()[0], ctypes.CDLL("libnvidia-ml.so.1")
        kind, samples = nvmlDeviceGetSamples(gpu, NVML_TOTAL_POWER_SAMPLES, 0)
        count = ctypes.c_uint(0)
        clocks = nvmlDeviceGetSupportedGraphicsClocks(gpu, nvmlDeviceGetSupportedMemoryClocks(gpu)[0])
        say(compute=nvmlDeviceGetComputeRunningProcesses(gpu), graphics=nvmlDeviceGetGraphicsRunningProcesses(gpu),
            mps=nvmlDeviceGetMPSComputeRunningProcesses(gpu), use=nvmlDeviceGetProcessUtilization(gpu, 0),
            ask_use=bare.nvmlDeviceGetProcessUtilization(gpu, None, ctypes.byref(count), ctypes.c_ulonglong(0)),
            samples=[(s.timeStamp, s.sampleValue.uiVal) for s in samples],
            seen_already=code_of(nvmlDeviceGetSamples, gpu, NVML_TOTAL_POWER_SAMPLES, 1000),
            small=bare.nvmlDeviceGetName(gpu, ctypes.create_string_buffer(4), 4), clocks=[clocks[0], clocks[-1]])
    """)

    assert seen == {
        "compute": [], "graphics": [], "mps": [], "use": [], "ask_use": 7, "samples": [[1_000, 75_000]],
        "seen_already": 6, "small": 7, "clocks": [1980, 210],
    }  # fmt: skip


def test_every_null_pointer_is_an_invalid_argument(nvml_node):
    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        gpu, bare, codes = boards()[0], ctypes.CDLL("libnvidia-ml.so.1"), {}
        for name in ("PowerUsage", "TotalEnergyConsumption", "EnforcedPowerLimit", "UtilizationRates", "MemoryInfo",
                     "Index", "PciInfo_v3", "TemperatureV", "ComputeMode", "PersistenceMode", "UUID", "Name"):
            codes[name] = getattr(bare, "nvmlDeviceGet" + name)(gpu, None, 0)
        say(codes=sorted(set(codes.values())), fields=bare.nvmlDeviceGetFieldValues(gpu, 1, None))
    """)

    assert seen == {"codes": [2], "fields": 2}
