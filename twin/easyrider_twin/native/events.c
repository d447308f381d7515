/* Event sets: the XID errors of the boards that a client registered.
 *
 * Sets live in a fixed pool, so a set freed while another thread waits on it is never freed memory.
 * The file holds one sequence and one code a board: several errors between two looks show as the last one.
 */
#include "state.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { SETS = 64, WATCHED = 64, NO_INSTANCE = -1 };

struct nvmlEventSet_st {
    int in_use;
    struct header *node; /* a set does not outlive the file it was made on */
    uint64_t types[WATCHED];
    uint32_t seen[WATCHED];
};

static struct nvmlEventSet_st sets[SETS];
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;

static int is_live(nvmlEventSet_t set) {
    uintptr_t into = (uintptr_t)set - (uintptr_t)sets;
    return into < sizeof sets && into % sizeof *sets == 0 && __atomic_load_n(&set->in_use, __ATOMIC_ACQUIRE) &&
           set->node == state_header();
}

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    ENTER_SYSTEM();
    REQUIRE(set);
    nvmlReturn_t answer = NVML_ERROR_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&pool);
    for (int at = 0; at < SETS && answer; at++) {
        if (sets[at].in_use) continue;
        memset(&sets[at], 0, sizeof sets[at]);
        sets[at].node = state_header();
        __atomic_store_n(&sets[at].in_use, 1, __ATOMIC_RELEASE);
        *set = &sets[at];
        answer = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&pool);
    return answer;
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    ENTER_SYSTEM();
    REQUIRE(is_live(set));
    __atomic_store_n(&set->in_use, 0, __ATOMIC_RELEASE);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types) {
    struct target at;
    ENTER(device, at);
    REQUIRE(types);
    *types = EVENTS_SUPPORTED; /* only XID errors ever happen */
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    struct target at;
    ENTER(device, at);
    REQUIRE(is_live(set) && types && !(types & ~(unsigned long long)EVENTS_KNOWN));
    unsigned index = state_index(at.gpu);
    if (at.mig >= 0 || index >= WATCHED || types & ~(unsigned long long)EVENTS_SUPPORTED)
        return NVML_ERROR_NOT_SUPPORTED;
    STORE(set->seen[index], LOAD(at.gpu->xid_seq));
    STORE(set->types[index], LOAD(set->types[index]) | types);
    return NVML_SUCCESS;
}

static int next_event(nvmlEventSet_t set, nvmlEventData_t *data) {
    unsigned count = state_header()->gpu_count;
    for (unsigned index = 0; index < count && index < WATCHED; index++) {
        struct gpu *gpu = state_gpu(index);
        uint32_t seq = __atomic_load_n(&gpu->xid_seq, __ATOMIC_ACQUIRE), seen = LOAD(set->seen[index]);
        if (!(LOAD(set->types[index]) & EVENT_XID) || seq == seen) continue;
        /* of several waiting threads, one gets the event */
        if (!__atomic_compare_exchange_n(&set->seen[index], &seen, seq, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        *data = (nvmlEventData_t){(nvmlDevice_t)gpu, EVENT_XID, LOAD(gpu->xid_code), (unsigned)NO_INSTANCE,
                                  (unsigned)NO_INSTANCE};
        return 1;
    }
    return 0;
}

static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* Looks every 0.5 ms for the first 10 ms, then every 10 ms: a real wait sleeps in the kernel, so a waiting thread
 * must cost next to nothing. An error of a lost board is still reported: that is how one learns of the loss. */
EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms) {
    ENTER_SYSTEM();
    REQUIRE(data && is_live(set));
    uint64_t begun_us = now_us();
    while (!next_event(set, data)) {
        uint64_t spent_us = now_us() - begun_us;
        if (spent_us >= (uint64_t)timeout_ms * 1000u) return NVML_ERROR_TIMEOUT;
        uint64_t nap_us = spent_us < 10000 ? 500 : 10000, left_us = (uint64_t)timeout_ms * 1000u - spent_us;
        if (nap_us > left_us) nap_us = left_us;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap_us * 1000}, NULL);
        nvmlReturn_t refused = enter_system();
        if (refused) return refused;
        REQUIRE(is_live(set));
    }
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned timeout_ms) {
    nvmlEventData_t full;
    nvmlReturn_t answer = nvmlEventSetWait_v2(set, data ? &full : NULL, timeout_ms);
    if (!answer) memcpy(data, &full, offsetof(nvmlEventData_t, gpuInstanceId)); /* the old record ends there */
    return answer;
}
