"""Init, Shutdown and handles."""

import pytest

from easyrider_twin import standalone

UNINITIALIZED, INVALID, DRIVER_NOT_LOADED = 1, 2, 9


def test_every_call_before_init_and_after_the_last_shutdown_is_uninitialized(nvml_node):
    seen = nvml_node.ask("""
        import ctypes
        bare = ctypes.CDLL("libnvidia-ml.so.1")
        before = [bare.nvmlShutdown(), bare.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint()))]
        nvmlInit(); nvmlInit()
        gpu = boards()[0]
        nvmlShutdown()
        between = code_of(nvmlDeviceGetPowerUsage, gpu)
        nvmlShutdown()
        after = [code_of(nvmlDeviceGetPowerUsage, gpu), code_of(nvmlDeviceGetCount), code_of(nvmlShutdown)]
        say(before=before, between=between, after=after)
    """)

    assert seen == {"before": [1, 1], "between": 0, "after": [UNINITIALIZED] * 3}


@pytest.mark.parametrize("content", [None, b"", b"x" * 8192])
def test_without_a_state_file_of_ours_the_driver_is_not_loaded(nvml_node, tmp_path, content):
    path = tmp_path / "other.state"
    if content is not None:
        path.write_bytes(content)

    seen = nvml_node.ask("say(code=code_of(nvmlInit))", EASYRIDER_TWIN_STATE=str(path))

    assert seen == {"code": DRIVER_NOT_LOADED}


def test_a_file_shorter_than_its_header_says_is_not_mapped(nvml_node):
    nvml_node.state.header["gpu_count"] = 4000

    assert nvml_node.ask("say(code=code_of(nvmlInit))") == {"code": DRIVER_NOT_LOADED}


@pytest.mark.parametrize("code", [9, 16, 18, 999])
def test_init_answers_the_state_of_the_driver(nvml_node, code):
    nvml_node.state.header["driver_state"] = code

    assert nvml_node.ask("say(code=code_of(nvmlInit))") == {"code": code}


def test_a_handle_that_is_no_board_is_an_invalid_argument(nvml_node):
    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        first, last = (ctypes.cast(gpu, ctypes.c_void_p).value for gpu in (boards()[0], boards()[7]))
        wrong = [0, 1, first - 512, first + 8, first + 384, last + 512, 2**63]
        handles = [ctypes.cast(ctypes.c_void_p(at), c_nvmlDevice_t) for at in wrong]
        say(codes=[code_of(nvmlDeviceGetPowerUsage, handle) for handle in handles],
            index=code_of(nvmlDeviceGetHandleByIndex, 8), uuid=code_of(nvmlDeviceGetHandleByUUID, "GPU-none"))
    """)

    assert seen == {"codes": [INVALID] * 7, "index": INVALID, "uuid": 6}


def test_after_a_new_init_the_file_that_took_the_place_of_the_old_one_is_read(nvml_node):
    client = nvml_node.start("""
        nvmlInit()
        old = boards()[0]
        say(before=nvmlDeviceGetPowerUsage(old))
        nvmlShutdown()
        sys.stdin.readline()
        nvmlInit()
        say(after=nvmlDeviceGetPowerUsage(boards()[0]), old=code_of(nvmlDeviceGetPowerUsage, old))
    """)
    assert client.stdout.readline() == '{"before": 75000}\n'

    fresh = standalone.create(nvml_node.state.path)
    fresh.gpus["average_mw"] = 222_000
    output, _ = client.communicate("\n", timeout=30)

    assert output == '{"after": 222000, "old": 2}\n'
