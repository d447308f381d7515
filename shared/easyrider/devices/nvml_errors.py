"""NVML's return codes as errors named after what happened to the board or the driver."""

from collections.abc import Iterator
from contextlib import contextmanager

import pynvml

from easyrider.errors import EasyRiderError


class DeviceError(EasyRiderError):
    """A call to NVML failed. `gpu` is a UUID, "index N" or "driver"; `code` is NVML's own number.

    The limit in force is unchanged unless a read-back says otherwise.
    """

    says = "the call failed"

    def __init__(self, gpu: str, code: int) -> None:
        self.gpu, self.code = gpu, code
        super().__init__(f"{gpu}: {self.says} (NVML code {code})")


class DeviceLost(DeviceError):
    """The board fell off the bus, or is not there any more."""

    says = "the board is lost; its last limit has to be counted until somebody confirms that it is dark"


class DeviceRefused(DeviceError):
    """The driver refused the value asked for."""

    says = "the driver refused the value"


class NoPermission(DeviceError):
    """Reading works, writing does not: the process lacks the administrator's capability."""

    says = "no permission to set limits: needs CAP_SYS_ADMIN, or root, for the unit easyrider-guardian"


class NotSupported(DeviceError):
    """The board or its driver has no such ability."""

    says = "the board does not support this"


class DeviceNeedsReset(DeviceError):
    """The board answers nothing until it is reset."""

    says = "the board asks for a reset"


class DeviceFault(DeviceError):
    """The driver answered with an error of no further meaning to us."""

    says = "the driver answered with an error"


class DriverError(DeviceError):
    """The library or the driver as a whole does not work; no board is known, each holds its last limit."""

    says = "the driver does not answer"


class LibraryMissing(DriverError):
    """The NVML library was not found; the message says which and what to install."""

    def __init__(self, looked_for: str) -> None:
        self.looked_for = looked_for
        self.says = (
            f"{looked_for} was not found; install the NVIDIA driver "
            "(package libnvidia-compute of the same version as the kernel module), "
            "or name the folder of the library in LD_LIBRARY_PATH"
        )
        super().__init__("driver", pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)


class DriverNotLoaded(DriverError):
    """The kernel module is not loaded (yet)."""

    says = "the NVIDIA kernel module is not loaded"


class DriverMismatch(DriverError):
    """Library and kernel module are of different versions; a reboot or a reload of the module is needed."""

    says = "library and kernel module are of different versions; reload the module or reboot"


class NotStarted(DriverError):
    """NVML was not initialised, or was shut down."""

    says = "NVML is not initialised"


_NAMED: dict[int, type[DeviceError]] = {
    pynvml.NVML_ERROR_UNINITIALIZED: NotStarted,
    pynvml.NVML_ERROR_INVALID_ARGUMENT: DeviceRefused,
    pynvml.NVML_ERROR_NOT_SUPPORTED: NotSupported,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: NotSupported,
    pynvml.NVML_ERROR_NO_PERMISSION: NoPermission,
    pynvml.NVML_ERROR_NOT_FOUND: DeviceLost,
    pynvml.NVML_ERROR_GPU_IS_LOST: DeviceLost,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: DeviceLost,
    pynvml.NVML_ERROR_RESET_REQUIRED: DeviceNeedsReset,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: DriverNotLoaded,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: DriverMismatch,
}


def named(gpu: str, code: int) -> DeviceError:
    """The error of one NVML code, for readings that carry their own code (field values)."""
    return _NAMED.get(code, DeviceFault)(gpu, code)


@contextmanager
def nvml_errors(gpu: str) -> Iterator[None]:
    """Within, an `NVMLError` leaves as the named `DeviceError`."""
    try:
        yield
    except pynvml.NVMLError as fault:
        if fault.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            raise LibraryMissing("libnvidia-ml.so.1") from fault
        raise named(gpu, fault.value) from fault
