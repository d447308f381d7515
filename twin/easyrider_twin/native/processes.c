/* Process lists: the twin runs job programs, not processes, so every list is empty. */
#include "state.h"

#define EMPTY_LIST(name)                                                                                               \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {                     \
        struct target at;                                                                                              \
        ENTER(device, at);                                                                                             \
        REQUIRE(count);                                                                                                \
        (void)processes;                                                                                               \
        *count = 0;                                                                                                    \
        return NVML_SUCCESS;                                                                                           \
    }

EMPTY_LIST(nvmlDeviceGetComputeRunningProcesses_v2)
EMPTY_LIST(nvmlDeviceGetComputeRunningProcesses_v3)
EMPTY_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2)
EMPTY_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3)
EMPTY_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2)
EMPTY_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3)

/* The first call asks for the size and is told so, even where there is nothing. */
EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
                                                    unsigned *count, unsigned long long seen_us) {
    struct target at;
    ENTER(device, at);
    REQUIRE(count);
    (void)seen_us;
    *count = 0;
    return samples ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
