"""XID errors through event sets."""

import json

import pytest

INVALID, TIMEOUT, XID = 2, 10, 8


@pytest.mark.parametrize("xid", [79, 48, 63, 94])
def test_an_xid_wakes_the_waiting_client_once_with_its_board_and_code(nvml_node, xid):
    client = nvml_node.start("""
        import ctypes
        nvmlInit()
        events, gpus = nvmlEventSetCreate(), boards()
        for gpu in gpus: nvmlDeviceRegisterEvents(gpu, nvmlEventTypeXidCriticalError, events)
        say()
        event = nvmlEventSetWait(events, 20000)
        address = lambda gpu: ctypes.cast(gpu, ctypes.c_void_p).value
        board = [address(gpu) for gpu in gpus].index(address(event.device))
        say(board=board, type=event.eventType, xid=event.eventData,
            again=code_of(nvmlEventSetWait, events, 30))
        nvmlEventSetFree(events)
    """)
    client.stdout.readline()

    gpu = nvml_node.state.gpus[3]
    gpu["xid_code"] = xid
    gpu["fault_code"] = 15 if xid == 79 else 0  # the loss of a board is told by the event all the same
    gpu["xid_seq"] += 1
    output, _ = client.communicate(timeout=30)

    assert json.loads(output) == {"board": 3, "type": XID, "xid": xid, "again": TIMEOUT}


def test_what_happened_before_the_registration_is_not_told(nvml_node):
    nvml_node.state.gpus["xid_code"], nvml_node.state.gpus["xid_seq"] = 79, 4

    seen = nvml_node.ask("""
        nvmlInit()
        events = nvmlEventSetCreate()
        nvmlDeviceRegisterEvents(boards()[0], nvmlEventTypeXidCriticalError, events)
        begun = time.monotonic()
        say(code=code_of(nvmlEventSetWait, events, 80), s=time.monotonic() - begun)
    """)

    assert seen["code"] == TIMEOUT
    assert seen["s"] >= 0.08


def test_boards_that_were_not_registered_stay_silent(nvml_node):
    client = nvml_node.start("""
        nvmlInit()
        events = nvmlEventSetCreate()
        nvmlDeviceRegisterEvents(boards()[0], nvmlEventTypeXidCriticalError, events)
        say(); sys.stdin.readline()
        say(code=code_of(nvmlEventSetWait, events, 30))
    """)
    client.stdout.readline()
    nvml_node.state.gpus["xid_seq"][1] += 1

    output, _ = client.communicate("\n", timeout=30)

    assert json.loads(output) == {"code": TIMEOUT}


def test_unknown_bits_sets_that_were_freed_and_too_many_sets_are_refused(nvml_node):
    seen = nvml_node.ask("""
        nvmlInit()
        gpu, events = boards()[0], nvmlEventSetCreate()
        unknown = code_of(nvmlDeviceRegisterEvents, gpu, 1 << 40, events)
        nothing = code_of(nvmlDeviceRegisterEvents, gpu, 0, events)
        lacking = code_of(nvmlDeviceRegisterEvents, gpu, nvmlEventTypeFatalPoisonError, events)
        nvmlEventSetFree(events)
        freed = [code_of(nvmlEventSetWait, events, 0), code_of(nvmlEventSetFree, events)]
        say(unknown=unknown, nothing=nothing, lacking=lacking, freed=freed,
            many=[code_of(nvmlEventSetCreate) for _ in range(65)][-2:],
            types=nvmlDeviceGetSupportedEventTypes(gpu) & nvmlEventTypeXidCriticalError)
    """)

    assert seen == {
        "unknown": 2,
        "nothing": 2,
        "lacking": 3,
        "freed": [INVALID] * 2,
        "many": [0, 23],
        "types": 8,
    }


def test_a_wait_without_news_costs_next_to_nothing(nvml_node):
    seen = nvml_node.ask("""
        nvmlInit()
        events = nvmlEventSetCreate()
        nvmlDeviceRegisterEvents(boards()[0], nvmlEventTypeXidCriticalError, events)
        cpu = time.process_time()
        code_of(nvmlEventSetWait, events, 1000)
        say(cpu_s=time.process_time() - cpu)
    """)

    assert seen["cpu_s"] < 0.05
