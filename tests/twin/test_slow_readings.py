"""The slow group of a board, as the agent reads it, beside what the binding's own functions say."""

import pytest

from easyrider import quality

BLANK_TEMPERATURE, BLANK_UTILISATION = 4, 8

READ_BOTH_WAYS = """
    from easyrider.devices.library import Library
    from easyrider.devices.readings import BoardReader
    library = Library(None)
    library.start()
    slow = BoardReader(library.board(0)).slow()
    gpu = boards()[0]
    try:
        rates = nvmlDeviceGetUtilizationRates(gpu).gpu
    except NVMLError:
        rates = None
    say(slow=slow[1:], binding=[nvmlDeviceGetTemperature(gpu, 0), rates, nvmlDeviceGetClockInfo(gpu, 1),
        nvmlDeviceGetClockInfo(gpu, 2), nvmlDeviceGetCurrentClocksEventReasons(gpu),
        nvmlDeviceGetMemoryInfo(gpu).used >> 20])
"""


def test_each_slow_reading_is_what_the_binding_says(nvml_node):
    gpu = nvml_node.state.gpus[0]
    gpu["temperature_c"], gpu["util_gpu_pct"], gpu["util_mem_pct"] = 61, 87, 33
    gpu["sm_mhz"], gpu["mem_mhz"], gpu["event_reasons"] = 1_410, 2_619, 4
    gpu["memory_used"] = (12_345 << 20) + 17

    seen = nvml_node.ask(READ_BOTH_WAYS)

    assert seen["slow"] == [*seen["binding"], 0, 0]
    assert seen["slow"][:6] == [61, 87, 1_410, 2_619, 4, 12_345]


def test_of_a_frozen_board_the_temperature_lies_below_zero(nvml_node):
    nvml_node.state.gpus[0]["temperature_c"] = -7

    seen = nvml_node.ask(READ_BOTH_WAYS)

    assert (seen["slow"][0], seen["slow"][6]) == (-7, quality.VALID)


@pytest.mark.parametrize("mask", [BLANK_TEMPERATURE, BLANK_UTILISATION])
def test_a_marker_in_one_slow_reading_blanks_the_group(nvml_node, mask):
    nvml_node.state.gpus[0]["blank_mask"] = mask

    seen = nvml_node.ask(READ_BOTH_WAYS)

    assert seen["slow"][6] == quality.BLANK
