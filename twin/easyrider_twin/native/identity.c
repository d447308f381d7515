/* Who a device is: name, UUID, place on the bus, generation. */
#include "state.h"

#include <stdio.h>
#include <string.h>

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length) {
    struct target at;
    ENTER(device, at);
    if (at.mig < 0) return put_text(name, length, at.gpu->name, sizeof at.gpu->name);
    char text[96];
    snprintf(text, sizeof text, "%.64s MIG 1g.%llugb", at.gpu->name,
             (unsigned long long)(LOAD(at.gpu->memory_total) / mig_slices(at.gpu) >> 30));
    return put_text(name, length, text, sizeof text);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length) {
    struct target at;
    ENTER(device, at);
    if (at.mig < 0) return put_text(uuid, length, at.gpu->uuid, sizeof at.gpu->uuid);
    char text[64];
    mig_uuid(at.gpu, at.mig, text, sizeof text);
    return put_text(uuid, length, text, sizeof text);
}

EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index) {
    struct target at;
    ENTER(device, at);
    REQUIRE(index);
    *index = at.mig < 0 ? state_index(at.gpu) : (unsigned)at.mig;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor) {
    struct target at;
    ENTER(device, at);
    REQUIRE(minor);
    *minor = state_index(at.gpu);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned *module) {
    struct target at;
    ENTER(device, at);
    REQUIRE(module);
    *module = state_index(at.gpu) + 1;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned *board) {
    struct target at;
    ENTER(device, at);
    REQUIRE(board);
    *board = (state_index(at.gpu) + 1) << 8;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned *multi) {
    struct target at;
    ENTER(device, at);
    REQUIRE(multi);
    *multi = 0;
    return NVML_SUCCESS;
}

/* Made from the UUID, so that it is stable and differs from board to board. */
EXPORT nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned length) {
    struct target at;
    ENTER(device, at);
    uint64_t hash = 1469598103934665603u;
    for (size_t at_byte = 0; at_byte < sizeof at.gpu->uuid && at.gpu->uuid[at_byte]; at_byte++)
        hash = (hash ^ (unsigned char)at.gpu->uuid[at_byte]) * 1099511628211u;
    char text[24];
    snprintf(text, sizeof text, "%013llu", (unsigned long long)(hash % 10000000000000u));
    return put_text(serial, length, text, sizeof text);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    struct target at;
    ENTER(device, at);
    REQUIRE(pci);
    unsigned function;
    memset(pci, 0, sizeof *pci);
    if (sscanf(at.gpu->pci_bus_id, "%x:%x:%x.%x", &pci->domain, &pci->bus, &pci->device, &function) != 4)
        return NVML_ERROR_UNKNOWN;
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%u", pci->domain & 0xffff, pci->bus & 0xff,
             pci->device & 0xff, function & 7);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.%u", pci->domain, pci->bus & 0xff, pci->device & 0xff,
             function & 7);
    pci->pciDeviceId = 0x10de; /* the vendor; no board of the twin claims a real device number */
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

EXPORT nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned *architecture) {
    struct target at;
    ENTER(device, at);
    REQUIRE(architecture);
    *architecture = LOAD(at.gpu->architecture);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    struct target at;
    ENTER(device, at);
    REQUIRE(major && minor);
    int number;
    switch (LOAD(at.gpu->architecture)) {
    case ARCH_VOLTA: number = 70; break;
    case ARCH_TURING: number = 75; break;
    case ARCH_AMPERE: number = is_ga100(at.gpu) ? 80 : 86; break;
    case ARCH_ADA: number = 89; break;
    case ARCH_HOPPER: number = 90; break;
    case ARCH_BLACKWELL: number = 100; break;
    default: return NVML_ERROR_NOT_SUPPORTED;
    }
    *major = number / 10;
    *minor = number % 10;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned *brand) {
    struct target at;
    ENTER(device, at);
    REQUIRE(brand);
    *brand = 14; /* NVIDIA */
    return NVML_SUCCESS;
}
