/* Clocks, their locks, why they are lower than wanted, and the persistence switch. */
#include "state.h"

enum { STEP_MHZ = 15, FLOOR_MHZ = 210, REASONS_KNOWN = 0x1ff };

static nvmlReturn_t put_clock(unsigned kind, unsigned sm_mhz, unsigned mem_mhz, unsigned *out) {
    REQUIRE(out && kind < CLOCK_COUNT);
    if (kind == CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
    *out = kind == CLOCK_MEM ? mem_mhz : sm_mhz;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned kind, unsigned *clock_mhz) {
    struct target at;
    ENTER(device, at);
    return put_clock(kind, LOAD(at.gpu->sm_mhz), LOAD(at.gpu->mem_mhz), clock_mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned kind, unsigned *clock_mhz) {
    struct target at;
    ENTER(device, at);
    return put_clock(kind, LOAD(at.gpu->max_sm_mhz), LOAD(at.gpu->max_mem_mhz), clock_mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, unsigned kind, unsigned id, unsigned *clock_mhz) {
    struct target at;
    ENTER(device, at);
    REQUIRE(id < 4);
    if (id == 0) return put_clock(kind, LOAD(at.gpu->sm_mhz), LOAD(at.gpu->mem_mhz), clock_mhz);
    return put_clock(kind, LOAD(at.gpu->max_sm_mhz), LOAD(at.gpu->max_mem_mhz), clock_mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned kind, unsigned *clock_mhz) {
    return nvmlDeviceGetMaxClockInfo(device, kind, clock_mhz);
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned *count, unsigned *clocks_mhz) {
    struct target at;
    ENTER(device, at);
    REQUIRE(count);
    unsigned room = *count;
    *count = 1;
    if (!room || !clocks_mhz) return NVML_ERROR_INSUFFICIENT_SIZE;
    clocks_mhz[0] = LOAD(at.gpu->max_mem_mhz);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory_mhz, unsigned *count,
                                                         unsigned *clocks_mhz) {
    struct target at;
    ENTER(device, at);
    REQUIRE(count);
    if (memory_mhz != LOAD(at.gpu->max_mem_mhz)) return NVML_ERROR_NOT_FOUND;
    unsigned room = *count, top_mhz = LOAD(at.gpu->max_sm_mhz);
    *count = top_mhz < FLOOR_MHZ ? 1 : (top_mhz - FLOOR_MHZ) / STEP_MHZ + 1;
    if (room < *count || !clocks_mhz) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned step = 0; step < *count; step++) clocks_mhz[step] = top_mhz - step * STEP_MHZ;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned min_mhz, unsigned max_mhz) {
    struct target at;
    ENTER(device, at);
    REQUIRE(min_mhz <= max_mhz);
    if (at.mig >= 0) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t refused = may_set();
    if (refused) return refused;
    STORE(at.gpu->locked_min_mhz, min_mhz);
    STORE(at.gpu->locked_max_mhz, max_mhz);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) {
    struct target at;
    ENTER(device, at);
    if (at.mig >= 0) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t refused = may_set();
    if (refused) return refused;
    STORE(at.gpu->locked_min_mhz, 0);
    STORE(at.gpu->locked_max_mhz, 0);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    struct target at;
    ENTER(device, at);
    REQUIRE(reasons);
    *reasons = LOAD(at.gpu->event_reasons);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    struct target at;
    ENTER(device, at);
    REQUIRE(reasons);
    *reasons = REASONS_KNOWN;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}

EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned *mode) {
    struct target at;
    ENTER(device, at);
    REQUIRE(mode);
    *mode = LOAD(at.gpu->persistence);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned mode) {
    struct target at;
    ENTER(device, at);
    REQUIRE(mode <= 1);
    nvmlReturn_t refused = may_set();
    if (refused) return refused;
    STORE(at.gpu->persistence, mode);
    return NVML_SUCCESS;
}
