"""MIG: slices of a board and their parent."""

import pytest


@pytest.fixture
def sliced(nvml_node):
    gpu = nvml_node.state.gpus[1]
    gpu["capabilities"], gpu["mig_count"] = 31, 3
    gpu["average_mw"], gpu["memory_total"], gpu["memory_used"] = 500_000, 90 << 30, 30 << 30
    return nvml_node


def test_slices_are_found_have_names_of_their_own_and_lead_to_their_parent(sliced):
    seen = sliced.ask("""
        nvmlInit()
        whole = boards()[1]
        slices = [nvmlDeviceGetMigDeviceHandleByIndex(whole, index) for index in range(3)]
        uuids = [nvmlDeviceGetUUID(gpu) for gpu in slices]
        parent = nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slices[2])
        say(mode=nvmlDeviceGetMigMode(whole), room=nvmlDeviceGetMaxMigDeviceCount(whole),
            kinds=[nvmlDeviceIsMigDeviceHandle(gpu).value for gpu in [whole, *slices]], uuids=uuids,
            parent=nvmlDeviceGetIndex(parent), name=nvmlDeviceGetName(slices[0]),
            back=[nvmlDeviceGetUUID(nvmlDeviceGetHandleByUUID(uuid)) for uuid in uuids],
            index=[nvmlDeviceGetIndex(gpu) for gpu in slices],
            ids=[nvmlDeviceGetGpuInstanceId(gpu) for gpu in slices],
            no_fourth=code_of(nvmlDeviceGetMigDeviceHandleByIndex, whole, 3),
            no_slice_of_a_slice=code_of(nvmlDeviceGetMigDeviceHandleByIndex, slices[0], 0))
    """)

    assert seen["mode"] == [1, 1]
    assert seen["room"] == 7
    assert seen["kinds"] == [0, 1, 1, 1]
    assert len(set(seen["uuids"])) == 3
    assert all(uuid.startswith("MIG-") and len(uuid) == 40 for uuid in seen["uuids"])
    assert (seen["parent"], seen["back"], seen["index"]) == (1, seen["uuids"], [0, 1, 2])
    assert len(set(seen["ids"])) == 3
    assert "MIG 1g.30gb" in seen["name"]
    assert (seen["no_fourth"], seen["no_slice_of_a_slice"]) == (6, 2)


def test_a_slice_shows_the_power_of_the_whole_board_and_memory_of_its_own(sliced):
    seen = sliced.ask("""
        nvmlInit()
        whole = boards()[1]
        part = nvmlDeviceGetMigDeviceHandleByIndex(whole, 0)
        say(mw=nvmlDeviceGetPowerUsage(part), total=nvmlDeviceGetMemoryInfo(part).total,
            rates=[code_of(nvmlDeviceGetUtilizationRates, gpu) for gpu in (whole, part)],
            setting=code_of(nvmlDeviceSetPowerManagementLimit, part, 300000))
    """)

    assert seen == {"mw": 500_000, "total": 30 << 30, "rates": [3, 3], "setting": 3}


def test_a_board_that_is_not_sliced_says_so(nvml_node):
    nvml_node.state.gpus["architecture"][1] = 8

    seen = nvml_node.ask("""
        nvmlInit()
        hopper, ada = boards()[:2]
        say(hopper=nvmlDeviceGetMigMode(hopper), slice=code_of(nvmlDeviceGetMigDeviceHandleByIndex, hopper, 0),
            ada=code_of(nvmlDeviceGetMigMode, ada), room=nvmlDeviceGetMaxMigDeviceCount(ada))
    """)

    assert seen == {"hopper": [0, 0], "slice": 6, "ada": 3, "room": 0}
