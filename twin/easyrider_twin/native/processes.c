/* Process lists: the twin runs job programs, not processes, so every list is empty but that of compute processes, which
 * holds the ids that somebody wrote into the file. */
#include "state.h"

static nvmlReturn_t compute_processes(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {
    struct target at;
    ENTER(device, at);
    REQUIRE(count);
    unsigned found = 0, capacity = processes ? *count : 0;
    for (unsigned slot = 0; slot < PROCESS_SLOTS; slot++) {
        unsigned pid = LOAD(at.gpu->process_pids[slot]);
        if (!pid) continue;
        nvmlProcessInfo_t process = {.pid = pid, .usedGpuMemory = LOAD(at.gpu->memory_used)};
        if (found < capacity) processes[found] = process;
        found++;
    }
    *count = found;
    return found > capacity ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *count,
                                                            nvmlProcessInfo_t *processes) {
    return compute_processes(device, count, processes);
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                            nvmlProcessInfo_t *processes) {
    return compute_processes(device, count, processes);
}

#define EMPTY_LIST(name)                                                                                               \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *processes) {                     \
        struct target at;                                                                                              \
        ENTER(device, at);                                                                                             \
        REQUIRE(count);                                                                                                \
        (void)processes;                                                                                               \
        *count = 0;                                                                                                    \
        return NVML_SUCCESS;                                                                                           \
    }

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
