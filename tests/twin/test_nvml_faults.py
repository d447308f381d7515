"""Slow, hanging and lost boards."""

import json

import pytest

LOST = 15


def test_each_call_costs_its_latency_in_time_and_in_cpu(nvml_node):
    program = """
        nvmlInit(); gpu = boards()[0]
        for _ in range(100): nvmlDeviceGetPowerUsage(gpu)
        begun, cpu = time.monotonic(), time.process_time()
        for _ in range(200): nvmlDeviceGetPowerUsage(gpu)
        say(s=time.monotonic() - begun, cpu_s=time.process_time() - cpu)
    """

    nvml_node.state.header["call_latency_ns"] = 500_000
    seen = nvml_node.ask(program)

    assert seen["s"] >= 200 * 500e-6
    assert seen["cpu_s"] >= 0.25 * 200 * 500e-6  # the rest may be taken by other processes while it spins


@pytest.mark.parametrize("code", [15, 16, 999, 3])
def test_a_fault_is_answered_by_every_call_on_that_handle_and_by_no_other(nvml_node, code):
    client = nvml_node.start("""
        nvmlInit(); sick, well = boards()[:2]
        say(); sys.stdin.readline()
        calls = [nvmlDeviceGetPowerUsage, nvmlDeviceGetTotalEnergyConsumption,
                 nvmlDeviceGetEnforcedPowerLimit,
                 nvmlDeviceGetName, nvmlDeviceGetUUID, nvmlDeviceGetUtilizationRates,
                 nvmlDeviceGetComputeRunningProcesses]
        every = [lambda gpu, call=call: call(gpu) for call in calls] + [
            lambda gpu: nvmlDeviceGetFieldValues(gpu, [83]), lambda gpu: nvmlDeviceSetPowerManagementLimit(gpu, 300000)]
        say(sick=sorted({code_of(call, sick) for call in every}),
            well=sorted({code_of(call, well) for call in every}))
    """)
    client.stdout.readline()

    nvml_node.state.gpus["fault_code"][0] = code
    output, _ = client.communicate("\n", timeout=30)

    assert output == f'{{"sick": [{code}], "well": [0]}}\n'
    assert nvml_node.state.gpus["requested_mw"][0] == 700_000


def test_a_lost_board_gives_no_handle_and_its_name_is_unknown(nvml_node):
    nvml_node.state.gpus["fault_code"][5] = LOST
    uuid = nvml_node.state.gpus["uuid"][5].decode()

    seen = nvml_node.ask(f"""
        nvmlInit()
        say(count=nvmlDeviceGetCount(), index=code_of(nvmlDeviceGetHandleByIndex, 5),
            uuid=code_of(nvmlDeviceGetHandleByUUID, {uuid!r}), other=code_of(nvmlDeviceGetHandleByIndex, 4))
    """)

    assert seen == {"count": 8, "index": LOST, "uuid": 6, "other": 0}


def test_a_hanging_board_delays_no_other_and_comes_back_when_the_fault_is_taken_away(nvml_node):
    nvml_node.state.gpus["fault_delay_us"][0] = 60_000_000
    client = nvml_node.start("""
        nvmlInit(); hung, well = boards()[:2]
        done = threading.Event()
        def call(): nvmlDeviceGetPowerUsage(hung); done.set()
        threading.Thread(target=call).start()
        begun = time.monotonic()
        for _ in range(1000): nvmlDeviceGetPowerUsage(well)
        say(others_s=time.monotonic() - begun, hung=not done.is_set())
        say(back=done.wait(20))
    """)
    first = json.loads(client.stdout.readline())
    nvml_node.state.gpus["fault_delay_us"][0] = 0
    output, _ = client.communicate(timeout=30)

    assert first["hung"]
    assert first["others_s"] < 2.0
    assert json.loads(output) == {"back": True}
