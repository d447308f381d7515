/* MIG: a board cut into slices. A slice has its own handle, UUID and memory; power is the parent's as a whole. */
#include "state.h"

#include <stdio.h>
#include <string.h>

unsigned mig_slices(const struct gpu *gpu) {
    unsigned slices = LOAD(gpu->mig_count);
    if (!(LOAD(gpu->capabilities) & MIG_ENABLED)) return 0;
    return slices > MIG_SLOTS ? MIG_SLOTS : slices;
}

static uint64_t hash_text(uint64_t hash, const char *text, size_t capacity) {
    for (size_t at = 0; at < capacity && text[at]; at++) hash = (hash ^ (unsigned char)text[at]) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* Made from the parent's UUID, so that it is the same in every process. */
void mig_uuid(const struct gpu *gpu, int mig, char *out, size_t capacity) {
    uint64_t high = hash_text(1469598103934665603u + (uint64_t)mig, gpu->uuid, sizeof gpu->uuid);
    uint64_t low = hash_text(high, gpu->uuid, sizeof gpu->uuid);
    snprintf(out, capacity, "MIG-%08x-%04x-5%03x-a%03x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16) & 0xffff,
             (unsigned)high & 0xfff, (unsigned)(low >> 52), (unsigned long long)(low & 0xffffffffffffull));
}

static int mig_capable(const struct gpu *gpu) {
    unsigned architecture = LOAD(gpu->architecture);
    return (LOAD(gpu->capabilities) & MIG_ENABLED) || is_ga100(gpu) || architecture == ARCH_HOPPER ||
           architecture == ARCH_BLACKWELL;
}

EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    struct target at;
    ENTER(device, at);
    REQUIRE(current && pending);
    if (!mig_capable(at.gpu)) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = LOAD(at.gpu->capabilities) & MIG_ENABLED ? 1 : 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count) {
    struct target at;
    ENTER(device, at);
    REQUIRE(count);
    *count = mig_capable(at.gpu) ? MIG_SLOTS : 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *slice) {
    struct target at;
    ENTER(device, at);
    REQUIRE(slice && index < MIG_SLOTS && at.mig < 0);
    if (!mig_capable(at.gpu)) return NVML_ERROR_NOT_SUPPORTED;
    if (index >= mig_slices(at.gpu)) return NVML_ERROR_NOT_FOUND;
    *slice = (nvmlDevice_t)at.gpu->mig_handle[index];
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t slice, nvmlDevice_t *device) {
    struct target at;
    ENTER(slice, at);
    REQUIRE(device && at.mig >= 0);
    *device = (nvmlDevice_t)at.gpu;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *is_slice) {
    struct target at;
    ENTER(device, at);
    REQUIRE(is_slice);
    *is_slice = at.mig >= 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t slice, unsigned *id) {
    struct target at;
    ENTER(slice, at);
    REQUIRE(id && at.mig >= 0);
    *id = (unsigned)at.mig + 7; /* one-slice instances are numbered from 7 */
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t slice, unsigned *id) {
    struct target at;
    ENTER(slice, at);
    REQUIRE(id && at.mig >= 0);
    *id = 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    struct target at;
    ENTER(device, at);
    REQUIRE(attributes);
    if (at.mig < 0) return NVML_ERROR_NOT_SUPPORTED;
    memset(attributes, 0, sizeof *attributes);
    attributes->multiprocessorCount = 16;
    attributes->sharedCopyEngineCount = 1;
    attributes->gpuInstanceSliceCount = attributes->computeInstanceSliceCount = 1;
    attributes->memorySizeMB = (LOAD(at.gpu->memory_total) / mig_slices(at.gpu)) >> 20;
    return NVML_SUCCESS;
}
