"""Who may set a power limit, what is then in force, and what the ring remembers."""

import os
import time

import pytest

from easyrider_twin import statefile

INVALID, NOT_SUPPORTED, NO_PERMISSION, UNKNOWN = 2, 3, 4, 999


def ring(node) -> list[tuple[int, int, int, int]]:
    head = int(node.state.header["ring_head"])
    entries = node.state.ring[:head]
    assert list(entries["seq"]) == list(range(1, head + 1))
    return [
        tuple(int(entry[name]) for name in ("gpu", "requested_mw", "enforced_mw", "answer"))
        for entry in entries
    ]


SET = """
    nvmlInit()
    gpu = boards()[2]
    say(code=code_of(nvmlDeviceSetPowerManagementLimit, gpu, {mw}), requested=nvmlDeviceGetPowerManagementLimit(gpu),
        enforced=nvmlDeviceGetEnforcedPowerLimit(gpu), pid=os.getpid())
"""


def test_a_limit_is_in_force_at_once_and_the_write_is_remembered_with_its_time(nvml_node):
    begun_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    seen = nvml_node.ask(SET.format(mw=400_000))
    ended_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    gpu, entry = nvml_node.state.gpus[2], nvml_node.state.ring[0]
    assert (seen["code"], seen["requested"], seen["enforced"]) == (0, 400_000, 400_000)
    assert (gpu["requested_mw"], gpu["enforced_mw"], gpu["limit_seq"]) == (400_000, 400_000, 1)
    assert ring(nvml_node) == [(2, 400_000, 400_000, 0)]
    assert begun_ns < entry["stamp_ns"] == gpu["limit_stamp_ns"] < ended_ns
    assert entry["pid"] == seen["pid"]


@pytest.mark.parametrize("mw", [199_999, 700_001, 0, 2**32 - 1])
def test_a_limit_outside_the_range_is_refused_changes_nothing_and_is_remembered_as_refused(nvml_node, mw):
    seen = nvml_node.ask(SET.format(mw=mw))

    assert (seen["code"], seen["requested"], seen["enforced"]) == (INVALID, 700_000, 700_000)
    assert ring(nvml_node) == [(2, mw, 700_000, INVALID)]
    assert nvml_node.state.gpus["limit_seq"][2] == 0


def test_the_second_setter_obeys_the_same_range_and_knows_one_scope_only(nvml_node):
    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        gpu, bare = boards()[2], ctypes.CDLL("libnvidia-ml.so.1")
        def put(scope, mw):
            power = c_nvmlPowerValue_v2_t(nvmlPowerValue_v2, scope, mw)
            return bare.nvmlDeviceSetPowerManagementLimit_v2(gpu, ctypes.byref(power))
        say(codes=[put(0, 300000), put(0, 100000), put(1, 300000), put(2, 300000), put(3, 300000)],
            enforced=nvmlDeviceGetEnforcedPowerLimit(gpu))
    """)

    assert seen == {"codes": [0, INVALID, NOT_SUPPORTED, NOT_SUPPORTED, INVALID], "enforced": 300_000}


@pytest.mark.parametrize(
    ("outside_mw", "in_force_mw"), [(0, 500_000), (350_000, 350_000), (600_000, 500_000), (50_000, 200_000)]
)
def test_a_cap_from_outside_lowers_what_is_in_force_and_not_what_was_requested(
    nvml_node, outside_mw, in_force_mw
):
    nvml_node.state.gpus["out_of_band_mw"] = outside_mw

    seen = nvml_node.ask(SET.format(mw=500_000))

    assert (seen["code"], seen["requested"], seen["enforced"]) == (0, 500_000, in_force_mw)
    assert ring(nvml_node) == [(2, 500_000, in_force_mw, 0)]
    assert statefile.enforced_limits_mw(nvml_node.state.gpus)[2] == in_force_mw


def test_a_cap_from_outside_that_goes_away_gives_the_requested_limit_back(nvml_node):
    nvml_node.state.gpus["out_of_band_mw"] = 300_000
    nvml_node.ask(SET.format(mw=500_000))

    nvml_node.state.gpus["out_of_band_mw"] = 0

    seen = nvml_node.ask("nvmlInit(); say(mw=nvmlDeviceGetEnforcedPowerLimit(boards()[2]))")
    assert seen == {"mw": 500_000}


SETTERS = """
    nvmlInit()
    gpu = boards()[2]
    if os.geteuid() == 0 and {drop}: os.seteuid(10001)
    say(codes=[code_of(nvmlDeviceSetPowerManagementLimit, gpu, 300000), code_of(nvmlDeviceSetPersistenceMode, gpu, 0),
        code_of(nvmlDeviceSetGpuLockedClocks, gpu, 300, 900), code_of(nvmlDeviceResetGpuLockedClocks, gpu)],
        reads=[code_of(nvmlDeviceGetPowerUsage, gpu), code_of(nvmlDeviceGetEnforcedPowerLimit, gpu)])
"""


@pytest.mark.parametrize("grant", ["", "0", "yes"])
def test_an_ordinary_process_may_read_all_and_set_nothing(nvml_node, grant):
    seen = nvml_node.ask(SETTERS.format(drop=True), EASYRIDER_TWIN_PRIVILEGED=grant)

    assert seen == {"codes": [NO_PERMISSION] * 4, "reads": [0, 0]}
    assert ring(nvml_node) == []
    assert nvml_node.state.gpus["requested_mw"][2] == 700_000


def test_a_process_started_as_privileged_may_set_without_being_root(nvml_node):
    assert nvml_node.ask(SETTERS.format(drop=True))["codes"] == [0, 0, 0, 0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can show that root needs no grant")
def test_root_needs_no_grant(nvml_node):
    assert nvml_node.ask(SETTERS.format(drop=False), EASYRIDER_TWIN_PRIVILEGED="")["codes"] == [0, 0, 0, 0]


def test_a_node_that_denies_setters_denies_them_to_everybody(nvml_node):
    nvml_node.state.header["deny_set"] = 1

    assert nvml_node.ask(SETTERS.format(drop=False)) == {"codes": [NO_PERMISSION] * 4, "reads": [0, 0]}


def test_a_board_whose_limit_cannot_be_set_says_not_supported(nvml_node):
    nvml_node.state.gpus["capabilities"] = 2 | 4 | 8

    seen = nvml_node.ask("""
        nvmlInit(); gpu = boards()[2]
        say(codes=[code_of(nvmlDeviceSetPowerManagementLimit, gpu, 300000),
                   code_of(nvmlDeviceGetPowerManagementLimit, gpu)],
            range=nvmlDeviceGetPowerManagementLimitConstraints(gpu))
    """)

    assert seen == {"codes": [NOT_SUPPORTED, NOT_SUPPORTED], "range": [200_000, 700_000]}


@pytest.mark.parametrize(
    ("fault", "code", "requested_mw", "enforced_mw"),
    [
        (1, 0, 700_000, 700_000),
        (2, 0, 300_000, 700_000),
        (3, UNKNOWN, 700_000, 700_000),
        (4, UNKNOWN, 300_000, 300_000),
    ],
)
def test_a_setter_with_a_fault_lies_and_the_ring_tells_the_truth(
    nvml_node, fault, code, requested_mw, enforced_mw
):
    nvml_node.state.gpus["write_fault"][2] = fault

    seen = nvml_node.ask(SET.format(mw=300_000))

    assert (seen["code"], seen["requested"], seen["enforced"]) == (code, requested_mw, enforced_mw)
    assert ring(nvml_node) == [(2, 300_000, enforced_mw, code)]


def test_writes_of_many_processes_at_once_each_get_a_place_of_their_own(nvml_node):
    program = """
        nvmlInit()
        say(ready=True); sys.stdin.readline()
        for gpu in boards():
            for step in range(100): nvmlDeviceSetPowerManagementLimit(gpu, 200000 + {n} * 1000 + step)
    """
    clients = [nvml_node.start(program.replace("{n}", str(n))) for n in range(4)]
    for client in clients:
        client.stdout.readline()
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    for client in clients:
        client.communicate(timeout=30)

    entries = nvml_node.state.ring[: 4 * 800]
    assert nvml_node.state.header["ring_head"] == 4 * 800
    assert list(entries["seq"]) == list(range(1, 4 * 800 + 1))
    assert {pid: int((entries["pid"] == pid).sum()) for pid in set(entries["pid"])} == {
        client.pid: 800 for client in clients
    }
    assert list(nvml_node.state.gpus["limit_seq"]) == [400] * 8


def test_the_ring_wraps_and_its_sequence_goes_on(nvml_node):
    nvml_node.state.header["ring_head"] = statefile.RING_CAPACITY - 1

    nvml_node.ask("""
        nvmlInit(); gpu = boards()[0]
        for mw in (300000, 310000): nvmlDeviceSetPowerManagementLimit(gpu, mw)
        say()
    """)

    ends = nvml_node.state.ring[[-1, 0]]
    assert list(ends["seq"]) == [statefile.RING_CAPACITY, statefile.RING_CAPACITY + 1]
    assert list(ends["requested_mw"]) == [300_000, 310_000]


def test_clock_locks_and_persistence_are_kept_in_the_file(nvml_node):
    seen = nvml_node.ask("""
        nvmlInit(); gpu = boards()[1]
        codes = [code_of(nvmlDeviceSetGpuLockedClocks, gpu, 900, 300),
                 code_of(nvmlDeviceSetGpuLockedClocks, gpu, 300, 900)]
        nvmlDeviceSetPersistenceMode(gpu, 0)
        say(codes=codes, persistence=nvmlDeviceGetPersistenceMode(gpu))
    """)

    gpu = nvml_node.state.gpus[1]
    assert seen == {"codes": [INVALID, 0], "persistence": 0}
    assert (gpu["locked_min_mhz"], gpu["locked_max_mhz"]) == (300, 900)
