/* GetFieldValues and GetSamples: readings with their own time stamps and return codes. */
#include "state.h"

#include <time.h>

static long long unix_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static nvmlReturn_t put_uint(nvmlFieldValue_t *entry, unsigned value, int supported) {
    if (!supported) return NVML_ERROR_NOT_SUPPORTED;
    entry->valueType = VALUE_UNSIGNED_INT;
    entry->value.uiVal = value;
    return NVML_SUCCESS;
}

/* One entry; a field or scope that the board lacks fails alone. */
static nvmlReturn_t answer_field(const struct gpu *gpu, nvmlFieldValue_t *entry) {
    unsigned abilities = LOAD(gpu->capabilities);
    int64_t stamp_us;
    nvmlReturn_t answer;
    if (entry->scopeId > SCOPE_MEMORY) return NVML_ERROR_INVALID_ARGUMENT;
    if (entry->scopeId != SCOPE_GPU) return NVML_ERROR_NOT_SUPPORTED;
    switch (entry->fieldId) {
    case FIELD_TOTAL_ENERGY:
        if (!(abilities & HAS_ENERGY)) return NVML_ERROR_NOT_SUPPORTED;
        entry->valueType = VALUE_UNSIGNED_LONG_LONG;
        entry->value.ullVal = energy_mj(gpu, &stamp_us);
        entry->timestamp = stamp_us;
        return NVML_SUCCESS;
    case FIELD_POWER_AVERAGE:
        answer = put_uint(entry, average_mw(gpu, &stamp_us), abilities & HAS_AVERAGE);
        entry->timestamp = stamp_us;
        return answer;
    case FIELD_POWER_INSTANT:
        answer = put_uint(entry, instant_mw(gpu, &stamp_us), abilities & HAS_INSTANT);
        entry->timestamp = stamp_us;
        return answer;
    case FIELD_POWER_MIN_LIMIT: return put_uint(entry, LOAD(gpu->min_mw), LOAD(gpu->max_mw) != 0);
    case FIELD_POWER_MAX_LIMIT: return put_uint(entry, LOAD(gpu->max_mw), LOAD(gpu->max_mw) != 0);
    case FIELD_POWER_DEFAULT_LIMIT: return put_uint(entry, LOAD(gpu->default_mw), LOAD(gpu->default_mw) != 0);
    case FIELD_POWER_CURRENT_LIMIT: {
        unsigned limit_mw = effective_limit_mw(gpu);
        return put_uint(entry, limit_mw, limit_mw != 0);
    }
    case FIELD_POWER_REQUESTED_LIMIT: return put_uint(entry, requested_limit_mw(gpu), abilities & CAN_SET_LIMIT);
    default: return NVML_ERROR_NOT_SUPPORTED;
    }
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    struct target at;
    ENTER(device, at);
    REQUIRE(values && count > 0);
    long long now_us = unix_us();
    for (int entry = 0; entry < count; entry++) {
        values[entry].timestamp = now_us;
        values[entry].latencyUsec = (long long)(LOAD(state_header()->call_latency_ns) / 1000);
        values[entry].value.ullVal = 0;
        values[entry].valueType = VALUE_UNSIGNED_INT;
        values[entry].nvmlReturn = answer_field(at.gpu, &values[entry]);
    }
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    struct target at;
    ENTER(device, at);
    REQUIRE(values && count > 0);
    for (int entry = 0; entry < count; entry++) values[entry].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

/* The buffer of the twin is one sample deep: the last refresh, if the client has not seen it. */
EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned kind, unsigned long long seen_us,
                                         unsigned *value_type, unsigned *count, nvmlSample_t *samples) {
    struct target at;
    ENTER(device, at);
    REQUIRE(value_type && count);
    int64_t stamp_us;
    unsigned value = instant_mw(at.gpu, &stamp_us);
    switch (kind) {
    case 0: break;
    case 1: value = LOAD(at.gpu->util_gpu_pct); break;
    case 2: value = LOAD(at.gpu->util_mem_pct); break;
    case 5: value = LOAD(at.gpu->sm_mhz); break;
    case 6: value = LOAD(at.gpu->mem_mhz); break;
    default: return NVML_ERROR_NOT_SUPPORTED;
    }
    *value_type = VALUE_UNSIGNED_INT;
    if ((unsigned long long)stamp_us <= seen_us) return NVML_ERROR_NOT_FOUND;
    if (samples) {
        if (!*count) return NVML_ERROR_INSUFFICIENT_SIZE;
        samples->timeStamp = (unsigned long long)stamp_us;
        samples->sampleValue.ullVal = value;
    }
    *count = 1;
    return NVML_SUCCESS;
}
