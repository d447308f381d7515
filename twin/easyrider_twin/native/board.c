/* The rest of a board that monitoring programs ask for: modes, link, codecs, memory errors. None of it is simulated;
 * the answers are those of a healthy data-centre board, or NOT_SUPPORTED where such a board says that too. */
#include "state.h"

#define CONSTANT(name, value)                                                                                          \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned *out) {                                                     \
        struct target at;                                                                                              \
        ENTER(device, at);                                                                                             \
        REQUIRE(out);                                                                                                  \
        *out = (value);                                                                                                \
        return NVML_SUCCESS;                                                                                           \
    }

CONSTANT(nvmlDeviceGetComputeMode, 0)
CONSTANT(nvmlDeviceGetDisplayMode, 0)
CONSTANT(nvmlDeviceGetDisplayActive, 0)
CONSTANT(nvmlDeviceGetPerformanceState, 0)
CONSTANT(nvmlDeviceGetPowerState, 0)
CONSTANT(nvmlDeviceGetNumFans, 0)
CONSTANT(nvmlDeviceGetCurrPcieLinkGeneration, 5)
CONSTANT(nvmlDeviceGetMaxPcieLinkGeneration, 5)
CONSTANT(nvmlDeviceGetCurrPcieLinkWidth, 16)
CONSTANT(nvmlDeviceGetMaxPcieLinkWidth, 16)
CONSTANT(nvmlDeviceGetPcieReplayCounter, 0)

#define NOT_THERE(name, ...)                                                                                           \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, __VA_ARGS__) {                                                       \
        struct target at;                                                                                              \
        ENTER(device, at);                                                                                             \
        return NVML_ERROR_NOT_SUPPORTED;                                                                               \
    }

NOT_THERE(nvmlDeviceGetFanSpeed, unsigned *speed __attribute__((unused)))
NOT_THERE(nvmlDeviceGetFanSpeed_v2, unsigned fan __attribute__((unused)), unsigned *speed __attribute__((unused)))
NOT_THERE(nvmlDeviceGetC2cModeInfoV, void *info __attribute__((unused)))
NOT_THERE(nvmlDeviceGetDriverModel_v2, unsigned *now __attribute__((unused)), unsigned *next __attribute__((unused)))
NOT_THERE(nvmlDeviceGetDriverModel, unsigned *now __attribute__((unused)), unsigned *next __attribute__((unused)))
NOT_THERE(nvmlDeviceGetConfComputeMemSizeInfo, void *info __attribute__((unused)))
NOT_THERE(nvmlDeviceGetViolationStatus, unsigned policy __attribute__((unused)), void *time __attribute__((unused)))

#define CODEC(name)                                                                                                    \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned *utilisation_pct, unsigned *period_us) {                    \
        struct target at;                                                                                              \
        ENTER(device, at);                                                                                             \
        REQUIRE(utilisation_pct && period_us);                                                                         \
        *utilisation_pct = 0;                                                                                          \
        *period_us = 100000;                                                                                           \
        return NVML_SUCCESS;                                                                                           \
    }

CODEC(nvmlDeviceGetEncoderUtilization)
CODEC(nvmlDeviceGetDecoderUtilization)
CODEC(nvmlDeviceGetJpgUtilization)
CODEC(nvmlDeviceGetOfaUtilization)

EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, unsigned counter, unsigned *kib_per_s) {
    struct target at;
    ENTER(device, at);
    REQUIRE(kib_per_s && counter < 2);
    *kib_per_s = 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    struct target at;
    ENTER(device, at);
    REQUIRE(current && pending);
    *current = *pending = 1;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned kind, unsigned counter,
                                                unsigned long long *errors) {
    struct target at;
    ENTER(device, at);
    REQUIRE(errors && kind < 2 && counter < 2);
    *errors = 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned kind, unsigned counter,
                                                    unsigned location, unsigned long long *errors) {
    struct target at;
    ENTER(device, at);
    REQUIRE(errors && kind < 2 && counter < 2 && location < 8);
    *errors = 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned length) {
    struct target at;
    ENTER(device, at);
    return put_text(version, length, "SIMULATED", 10);
}
