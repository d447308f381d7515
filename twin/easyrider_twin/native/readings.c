/* What the sensors show: power, energy, temperature, utilisation, memory. */
#include "state.h"

#include <string.h>
#include <time.h>

#define BLANK_UINT 0xffffffffu
#define BLANK_ULONG 0xffffffffffffffffull

static unsigned marks(const struct gpu *gpu, unsigned bit) {
    unsigned mask = LOAD(gpu->blank_mask);
    return (mask & bit ? 1u : 0u) | (mask & bit << NONSENSE_SHIFT ? 2u : 0u);
}

/* One value and its time stamp as the simulator wrote them together. The simulator may lose its core in the middle of
 * a step, so it is waited for up to 0.1 s. One that died there leaves the sequence odd for ever: then the pair is taken
 * as it is, and no later call waits for the same step again. */
static void read_pair(const void *value, size_t size, void *out, const int64_t *stamp, int64_t *stamp_us) {
    static uint32_t given_up; /* even: none yet */
    const uint32_t *seq = &state_header()->sensor_seq;
    for (int attempt = 0; attempt < 1200; attempt++) {
        uint32_t before = __atomic_load_n(seq, __ATOMIC_ACQUIRE);
        memcpy(out, value, size);
        *stamp_us = LOAD(*stamp);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && __atomic_load_n(seq, __ATOMIC_RELAXED) == before) return;
        if ((before & 1) && before == LOAD(given_up)) return;
        if (attempt >= 200) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    STORE(given_up, *seq);
}

static unsigned power_mw(const struct gpu *gpu, const uint32_t *field, unsigned bit, int64_t *stamp_us) {
    int64_t stamp;
    uint32_t value;
    read_pair(field, sizeof value, &value, &gpu->power_stamp_us, &stamp);
    if (stamp_us) *stamp_us = stamp;
    unsigned mark = marks(gpu, bit);
    return mark & 1 ? BLANK_UINT : mark & 2 ? value * 20u + 12345678u : value;
}

unsigned instant_mw(const struct gpu *gpu, int64_t *stamp_us) {
    return power_mw(gpu, &gpu->instant_mw, BLANK_INSTANT, stamp_us);
}

unsigned average_mw(const struct gpu *gpu, int64_t *stamp_us) {
    return power_mw(gpu, &gpu->average_mw, BLANK_AVERAGE, stamp_us);
}

uint64_t energy_mj(const struct gpu *gpu, int64_t *stamp_us) {
    int64_t stamp;
    uint64_t value;
    read_pair(&gpu->energy_mj, sizeof value, &value, &gpu->energy_stamp_us, &stamp);
    if (stamp_us) *stamp_us = stamp;
    unsigned mark = marks(gpu, BLANK_ENERGY);
    return mark & 1 ? BLANK_ULONG : mark & 2 ? value / 3 : value;
}

int is_ga100(const struct gpu *gpu) {
    return LOAD(gpu->architecture) == ARCH_AMPERE &&
           (strstr(gpu->name, "A100") || strstr(gpu->name, "A800") || strstr(gpu->name, "A30"));
}

/* NVML reference: a mean over 1 s on Ampere, GA100 excepted, and newer; instantaneous before. */
int usage_is_average(const struct gpu *gpu) {
    return LOAD(gpu->architecture) >= ARCH_AMPERE && !is_ga100(gpu) && (LOAD(gpu->capabilities) & HAS_AVERAGE);
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *power) {
    struct target at;
    ENTER(device, at);
    REQUIRE(power);
    *power = usage_is_average(at.gpu) ? average_mw(at.gpu, NULL) : instant_mw(at.gpu, NULL);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
    struct target at;
    ENTER(device, at);
    REQUIRE(energy);
    if (!(LOAD(at.gpu->capabilities) & HAS_ENERGY)) return NVML_ERROR_NOT_SUPPORTED;
    *energy = energy_mj(at.gpu, NULL);
    return NVML_SUCCESS;
}

static int temperature_c(const struct gpu *gpu) {
    unsigned mark = marks(gpu, BLANK_TEMPERATURE);
    return mark & 1 ? -1 : mark & 2 ? 900 : LOAD(gpu->temperature_c);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *temperature) {
    struct target at;
    ENTER(device, at);
    REQUIRE(temperature && sensor == 0);
    *temperature = (unsigned)temperature_c(at.gpu);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
    struct target at;
    ENTER(device, at);
    REQUIRE(temperature);
    if (temperature->version != VERSION_OF(nvmlTemperature_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    REQUIRE(temperature->sensorType == 0);
    temperature->temperature = temperature_c(at.gpu);
    return NVML_SUCCESS;
}

/* Shutdown, slowdown, memory and GPU maximum of a typical data-centre board; the simulator acts on none of them. */
EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned kind, unsigned *temperature) {
    static const unsigned typical_c[] = {95, 90, 105, 87};
    struct target at;
    ENTER(device, at);
    REQUIRE(temperature && kind < 8);
    if (kind >= sizeof typical_c / sizeof *typical_c) return NVML_ERROR_NOT_SUPPORTED;
    *temperature = typical_c[kind];
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
    struct target at;
    ENTER(device, at);
    REQUIRE(rates);
    if (at.mig >= 0 || mig_slices(at.gpu)) return NVML_ERROR_NOT_SUPPORTED; /* so it is on boards in MIG mode */
    unsigned mark = marks(at.gpu, BLANK_UTILISATION);
    rates->gpu = mark & 1 ? BLANK_UINT : mark & 2 ? 240 : LOAD(at.gpu->util_gpu_pct);
    rates->memory = mark & 1 ? BLANK_UINT : mark & 2 ? 240 : LOAD(at.gpu->util_mem_pct);
    return NVML_SUCCESS;
}

static void memory_of(const struct target *at, unsigned long long *total, unsigned long long *used) {
    unsigned share = at->mig < 0 ? 1 : mig_slices(at->gpu);
    *total = LOAD(at->gpu->memory_total) / share;
    *used = LOAD(at->gpu->memory_used) / share;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    struct target at;
    ENTER(device, at);
    REQUIRE(memory);
    memory_of(&at, &memory->total, &memory->used);
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    struct target at;
    ENTER(device, at);
    REQUIRE(memory);
    if (memory->version != VERSION_OF(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory_of(&at, &memory->total, &memory->used);
    memory->reserved = 0;
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory) {
    struct target at;
    ENTER(device, at);
    REQUIRE(memory);
    memory->bar1Total = 128ull << 30;
    memory->bar1Used = 1ull << 20;
    memory->bar1Free = memory->bar1Total - memory->bar1Used;
    return NVML_SUCCESS;
}
