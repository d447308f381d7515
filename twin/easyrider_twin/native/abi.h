/* The part of the NVML C ABI that the twin answers, in declarations of our own.
 *
 * Names, numbers and layouts are those a client compiled against the real library relies on; every record that
 * crosses the border has its size asserted here. `EXPORT` marks what the shared object shows; all else is hidden.
 */
#ifndef EASYRIDER_TWIN_ABI_H
#define EASYRIDER_TWIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int nvmlReturn_t;
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999,
};

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;

/* A versioned record carries its own size and revision in its first word. */
#define VERSION_OF(type, revision) ((unsigned)sizeof(type) | ((unsigned)(revision) << 24))

enum { ARCH_VOLTA = 5, ARCH_TURING = 6, ARCH_AMPERE = 7, ARCH_ADA = 8, ARCH_HOPPER = 9, ARCH_BLACKWELL = 10 };

enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEM = 2, CLOCK_VIDEO = 3, CLOCK_COUNT = 4 };

enum { VALUE_UNSIGNED_INT = 1, VALUE_UNSIGNED_LONG_LONG = 3 };

enum {
    FIELD_TOTAL_ENERGY = 83,
    FIELD_POWER_AVERAGE = 185,
    FIELD_POWER_INSTANT = 186,
    FIELD_POWER_MIN_LIMIT = 187,
    FIELD_POWER_MAX_LIMIT = 188,
    FIELD_POWER_DEFAULT_LIMIT = 189,
    FIELD_POWER_CURRENT_LIMIT = 190,
    FIELD_POWER_REQUESTED_LIMIT = 192,
};

enum { SCOPE_GPU = 0, SCOPE_MODULE = 1, SCOPE_MEMORY = 2 };

enum { EVENT_XID = 0x8, EVENTS_SUPPORTED = 0x1f, EVENTS_KNOWN = 0xffff };

typedef union {
    double dVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    long long sllVal;
} nvmlValue_t;

typedef struct {
    unsigned int fieldId;
    unsigned int scopeId;
    long long timestamp; /* Unix microseconds */
    long long latencyUsec;
    unsigned int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
    unsigned long long timeStamp; /* Unix microseconds */
    nvmlValue_t sampleValue;
} nvmlSample_t;

typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType;
    unsigned long long eventData;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlEventData_t;

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
    unsigned int pid;
    unsigned long long timeStamp;
    unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
    unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;

typedef struct {
    unsigned int gpu, memory; /* percent */
} nvmlUtilization_t;

typedef struct {
    unsigned int version;
    unsigned int sensorType;
    int temperature;
} nvmlTemperature_v1_t;

typedef struct {
    unsigned int version;
    unsigned int powerScope;
    unsigned int powerValueMw;
} nvmlPowerValue_v2_t;

typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount;
    unsigned int sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

_Static_assert(sizeof(nvmlFieldValue_t) == 40, "field value");
_Static_assert(sizeof(nvmlSample_t) == 16, "sample");
_Static_assert(sizeof(nvmlEventData_t) == 32, "event data");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "process info v2 and v3");
_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "process utilisation sample");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "memory v2");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "pci info");
_Static_assert(VERSION_OF(nvmlMemory_v2_t, 2) == 0x02000028, "memory v2 version");
_Static_assert(VERSION_OF(nvmlTemperature_v1_t, 1) == 0x0100000C, "temperature v1 version");
_Static_assert(VERSION_OF(nvmlPowerValue_v2_t, 2) == 0x0200000C, "power value v2 version");

#endif
