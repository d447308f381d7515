/* Init, Shutdown, versions, counting and finding devices, error texts. */
#include "state.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
    (void)flags; /* "no GPUs" and "do not attach" change nothing here */
    return state_open();
}
EXPORT nvmlReturn_t nvmlInit_v2(void) { return state_open(); }
EXPORT nvmlReturn_t nvmlInit(void) { return state_open(); }
EXPORT nvmlReturn_t nvmlShutdown(void) { return state_close(); }

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
    ENTER_SYSTEM();
    return put_text(version, length, state_header()->driver_version, sizeof state_header()->driver_version);
}
EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length) {
    ENTER_SYSTEM();
    return put_text(version, length, state_header()->nvml_version, sizeof state_header()->nvml_version);
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER_SYSTEM();
    REQUIRE(version);
    *version = (int)LOAD(state_header()->cuda_version);
    return *version ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER_SYSTEM();
    REQUIRE(count);
    *count = state_header()->gpu_count;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

/* A lost board has no handle to give; every other fault is answered by the calls on the handle. */
static nvmlReturn_t give_handle(struct gpu *gpu, nvmlDevice_t *device) {
    if (LOAD(gpu->fault_code) == NVML_ERROR_GPU_IS_LOST) return NVML_ERROR_GPU_IS_LOST;
    *device = (nvmlDevice_t)gpu;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
    ENTER_SYSTEM();
    REQUIRE(device && index < state_header()->gpu_count);
    return give_handle(state_gpu(index), device);
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    ENTER_SYSTEM();
    REQUIRE(uuid && device);
    for (unsigned index = 0; index < state_header()->gpu_count; index++) {
        struct gpu *gpu = state_gpu(index);
        if (LOAD(gpu->fault_code) == NVML_ERROR_GPU_IS_LOST) continue; /* off the bus: nobody answers to the name */
        if (!strncmp(uuid, gpu->uuid, sizeof gpu->uuid)) return give_handle(gpu, device);
        for (unsigned slice = 0; slice < mig_slices(gpu); slice++) {
            char name[64];
            mig_uuid(gpu, (int)slice, name, sizeof name);
            if (strcmp(uuid, name)) continue;
            *device = (nvmlDevice_t)gpu->mig_handle[slice];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* "00000000:18:00.0" and "0000:18:00.0" name the same place. */
static int parse_place(const char *text, unsigned place[4]) {
    return sscanf(text, "%x:%x:%x.%x", &place[0], &place[1], &place[2], &place[3]) == 4;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device) {
    ENTER_SYSTEM();
    unsigned wanted[4], found[4];
    REQUIRE(bus_id && device && parse_place(bus_id, wanted));
    for (unsigned index = 0; index < state_header()->gpu_count; index++)
        if (parse_place(state_gpu(index)->pci_bus_id, found) && !memcmp(wanted, found, sizeof wanted))
            return give_handle(state_gpu(index), device);
    return NVML_ERROR_NOT_FOUND;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 18: return "Driver/library version mismatch";
    case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}
