"""Compute processes as NVML lists them: those that were written into the node's file."""


def test_processes_written_into_the_file_are_listed_with_their_board(nvml_node):
    nvml_node.state.gpus["process_pids"][2, [0, 5]] = [4711, 42]
    nvml_node.state.gpus["memory_used"][2] = 3 << 30

    seen = nvml_node.ask("""
        nvmlInit()
        lists = [nvmlDeviceGetComputeRunningProcesses(gpu) for gpu in boards()]
        say(pids=[sorted(p.pid for p in found) for found in lists], memory=lists[2][0].usedGpuMemory,
            graphics=nvmlDeviceGetGraphicsRunningProcesses(boards()[2]))
    """)

    assert seen == {"pids": [[], [], [42, 4711], [], [], [], [], []], "memory": 3 << 30, "graphics": []}


def test_a_list_that_does_not_fit_says_how_long_it_is(nvml_node):
    nvml_node.state.gpus["process_pids"][0, :3] = [1, 2, 3]

    seen = nvml_node.ask("""
        import ctypes
        nvmlInit()
        count, room = ctypes.c_uint(2), (c_nvmlProcessInfo_v3_t * 2)()
        bare = ctypes.CDLL("libnvidia-ml.so.1").nvmlDeviceGetComputeRunningProcesses_v3
        say(code=bare(boards()[0], ctypes.byref(count), room), count=count.value, first=[p.pid for p in room])
    """)

    assert seen == {"code": 7, "count": 3, "first": [1, 2]}


def test_the_agent_reads_them_by_uuid_and_a_lost_board_is_an_error_by_name(nvml_node):
    nvml_node.state.gpus["process_pids"][1, :2] = [42, 42]
    nvml_node.state.gpus["fault_code"][3] = 15

    seen = nvml_node.ask("""
        from easyrider.devices.nvml_errors import DeviceLost
        from easyrider.devices.processes import compute_pids
        nvmlInit()
        uuid = nvmlDeviceGetUUID(nvmlDeviceGetHandleByIndex(1))
        try:
            compute_pids("GPU-5ead0a10-0000-4000-8000-000000000003")
            lost = False
        except DeviceLost:
            lost = True
        say(pids=compute_pids(uuid), lost=lost)
    """)

    assert seen == {"pids": [42], "lost": True}
