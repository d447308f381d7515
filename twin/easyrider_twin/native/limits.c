/* Power limits: who may set them, what is then in force, and the ring that remembers every write. */
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Simulated faults of the setter. */
enum { WRITE_IGNORED = 1, WRITE_ENFORCES_MAXIMUM = 2, WRITE_FAILS = 3, WRITE_APPLIES_AND_FAILS = 4 };

/* A limit nobody has set yet is the default one. */
unsigned requested_limit_mw(const struct gpu *gpu) {
    unsigned limit_mw = LOAD(gpu->requested_mw);
    return limit_mw ? limit_mw : LOAD(gpu->default_mw);
}

static unsigned under_outside_cap_mw(const struct gpu *gpu, unsigned limit_mw) {
    unsigned outside_mw = LOAD(gpu->out_of_band_mw), min_mw = LOAD(gpu->min_mw);
    if (outside_mw && outside_mw < limit_mw) limit_mw = outside_mw;
    return limit_mw < min_mw ? min_mw : limit_mw;
}

unsigned effective_limit_mw(const struct gpu *gpu) {
    unsigned limit_mw = LOAD(gpu->enforced_mw);
    return under_outside_cap_mw(gpu, limit_mw ? limit_mw : LOAD(gpu->default_mw));
}

/* Root, or a process the supervisor started as privileged; nobody while the node denies all. */
nvmlReturn_t may_set(void) {
    const char *granted = getenv("EASYRIDER_TWIN_PRIVILEGED");
    if (LOAD(state_header()->deny_set)) return NVML_ERROR_NO_PERMISSION;
    if (geteuid() && (!granted || strcmp(granted, "1"))) return NVML_ERROR_NO_PERMISSION;
    return NVML_SUCCESS;
}

static uint64_t boot_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Takes the next place in the ring and marks it unfinished. */
static struct ring_entry *begin_note(uint64_t *place) {
    struct header *header = state_header();
    *place = __atomic_fetch_add(&header->ring_head, 1, __ATOMIC_ACQ_REL);
    struct ring_entry *entry = &state_ring()[*place % header->ring_capacity];
    STORE(entry->seq, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return entry;
}

static void end_note(struct ring_entry *entry, uint64_t place, uint64_t stamp_ns, const struct gpu *gpu,
                     unsigned requested_mw, nvmlReturn_t answer) {
    entry->stamp_ns = stamp_ns;
    entry->gpu = state_index(gpu);
    entry->requested_mw = requested_mw;
    entry->enforced_mw = effective_limit_mw(gpu);
    entry->pid = (uint32_t)getpid();
    entry->answer = (uint32_t)answer;
    STORE(entry->seq, place + 1);
}

/* Both limits in one aligned store, so that no reader sees half of a change. */
static void store_limits(struct gpu *gpu, unsigned requested_mw, unsigned enforced_mw, uint64_t stamp_ns) {
    union {
        uint32_t pair[2];
        uint64_t both;
    } limits = {.pair = {requested_mw, enforced_mw}};
    __atomic_store_n((uint64_t *)(void *)&gpu->requested_mw, limits.both, __ATOMIC_RELEASE);
    STORE(gpu->limit_stamp_ns, stamp_ns);
    __atomic_add_fetch(&gpu->limit_seq, 1, __ATOMIC_ACQ_REL);
}

/* The place in the ring is taken before the change and filled after it: a writer killed in between leaves an entry
 * without its sequence, never an unrecorded limit. A value out of range is remembered too, with its refusal. */
static nvmlReturn_t set_limit(const struct target *at, unsigned limit_mw) {
    struct gpu *gpu = at->gpu;
    if (at->mig >= 0 || !(LOAD(gpu->capabilities) & CAN_SET_LIMIT)) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t answer = may_set();
    if (answer) return answer;
    uint64_t place;
    struct ring_entry *entry = begin_note(&place);
    uint64_t stamp_ns = boot_ns(); /* after the place: who has read the ring at a moment knows of all before it */
    unsigned fault = LOAD(gpu->write_fault), max_mw = LOAD(gpu->max_mw);
    if (limit_mw < LOAD(gpu->min_mw) || limit_mw > max_mw) {
        answer = NVML_ERROR_INVALID_ARGUMENT;
    } else {
        if (fault != WRITE_IGNORED && fault != WRITE_FAILS)
            store_limits(gpu, limit_mw, fault == WRITE_ENFORCES_MAXIMUM ? max_mw : limit_mw, stamp_ns);
        if (fault == WRITE_FAILS || fault == WRITE_APPLIES_AND_FAILS) answer = NVML_ERROR_UNKNOWN;
    }
    end_note(entry, place, stamp_ns, gpu, limit_mw, answer);
    return answer;
}

EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned limit_mw) {
    struct target at;
    ENTER(device, at);
    return set_limit(&at, limit_mw);
}

EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, nvmlPowerValue_v2_t *power) {
    struct target at;
    ENTER(device, at);
    REQUIRE(power);
    if (power->version != VERSION_OF(nvmlPowerValue_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    REQUIRE(power->powerScope <= SCOPE_MEMORY);
    if (power->powerScope != SCOPE_GPU) return NVML_ERROR_NOT_SUPPORTED;
    return set_limit(&at, power->powerValueMw);
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned *limit_mw) {
    struct target at;
    ENTER(device, at);
    REQUIRE(limit_mw);
    if (!(LOAD(at.gpu->capabilities) & CAN_SET_LIMIT)) return NVML_ERROR_NOT_SUPPORTED;
    *limit_mw = requested_limit_mw(at.gpu);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *limit_mw) {
    struct target at;
    ENTER(device, at);
    REQUIRE(limit_mw);
    *limit_mw = effective_limit_mw(at.gpu);
    return *limit_mw ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned *limit_mw) {
    struct target at;
    ENTER(device, at);
    REQUIRE(limit_mw);
    *limit_mw = LOAD(at.gpu->default_mw);
    return *limit_mw ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *min_mw,
                                                                 unsigned *max_mw) {
    struct target at;
    ENTER(device, at);
    REQUIRE(min_mw && max_mw);
    *min_mw = LOAD(at.gpu->min_mw);
    *max_mw = LOAD(at.gpu->max_mw);
    return *max_mw ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, unsigned *enabled) {
    struct target at;
    ENTER(device, at);
    REQUIRE(enabled);
    *enabled = LOAD(at.gpu->capabilities) & CAN_SET_LIMIT ? 1 : 0;
    return NVML_SUCCESS;
}
