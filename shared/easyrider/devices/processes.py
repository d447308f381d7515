"""Which processes compute on a board. A list costs milliseconds and holds the driver's lock: ask rarely."""

import pynvml

from easyrider.devices.nvml_errors import nvml_errors


def compute_pids(uuid: str) -> tuple[int, ...]:
    """Ids of the compute processes on a board, as the host numbers them. Raises a `DeviceError`."""
    with nvml_errors(uuid):
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        found = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return tuple(sorted({int(process.pid) for process in found}))
