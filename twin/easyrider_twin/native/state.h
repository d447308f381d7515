/* The state file of one node, as `statefile.py` lays it out, and the way into every call.
 *
 * Each field has one writer and is aligned to its size, so a plain atomic load or store is enough.
 * Readings that belong together (energy and its time stamp) are guarded by `sensor_seq`: odd while the
 * simulator writes.
 */
#ifndef EASYRIDER_TWIN_STATE_H
#define EASYRIDER_TWIN_STATE_H

#include "abi.h"

enum { HEADER_SIZE = 4096, GPU_SIZE = 512, RING_ENTRY_SIZE = 40, STATE_VERSION = 1, MIG_SLOTS = 7, PROCESS_SLOTS = 16 };

struct header {
    char magic[8];
    uint32_t version, gpu_count, ring_capacity;
    uint32_t driver_state; /* what Init answers */
    uint32_t deny_set;
    uint32_t pad_28;
    uint64_t call_latency_ns;
    uint64_t ring_head; /* ours: atomic add */
    uint64_t step_ns, sim_ns;
    char driver_version[80], nvml_version[80], node[64];
    uint32_t cuda_version;
    uint32_t sensor_seq;
    char pad_296[HEADER_SIZE - 296];
};

struct gpu {
    char uuid[48], name[64], pci_bus_id[32];
    uint32_t min_mw, max_mw, default_mw, capabilities, mig_count, pad_164;
    uint64_t memory_total;
    uint32_t max_sm_mhz, max_mem_mhz, architecture, pad_188;
    uint32_t instant_mw, average_mw;
    int64_t power_stamp_us;
    uint64_t energy_mj;
    int64_t energy_stamp_us;
    int32_t temperature_c;
    uint32_t util_gpu_pct, util_mem_pct, sm_mhz, mem_mhz, pad_244;
    uint64_t event_reasons, memory_used;
    uint32_t out_of_band_mw;
    char pad_268[20];
    uint32_t fault_code, fault_delay_us, blank_mask, xid_seq, xid_code, write_fault;
    char pad_312[8];
    uint32_t requested_mw, enforced_mw; /* ours, from here on */
    uint32_t limit_seq, pad_332;
    uint64_t limit_stamp_ns;
    uint32_t persistence, locked_min_mhz, locked_max_mhz, pad_356;
    char pad_360[24];
    char mig_handle[MIG_SLOTS][8]; /* addresses only: the handle of slice k is the address of entry k */
    uint32_t process_pids[PROCESS_SLOTS]; /* 0: free */
    char pad_504[GPU_SIZE - 504];
};

struct ring_entry {
    uint64_t stamp_ns;
    uint32_t gpu, requested_mw, enforced_mw, pid;
    uint64_t seq;
    uint32_t answer, pad_36;
};

_Static_assert(sizeof(struct header) == HEADER_SIZE, "header");
_Static_assert(sizeof(struct gpu) == GPU_SIZE, "gpu record");
_Static_assert(sizeof(struct ring_entry) == RING_ENTRY_SIZE, "ring entry");
_Static_assert(offsetof(struct header, call_latency_ns) == 32, "call_latency_ns");
_Static_assert(offsetof(struct header, driver_version) == 64, "driver_version");
_Static_assert(offsetof(struct header, cuda_version) == 288, "cuda_version");
_Static_assert(offsetof(struct gpu, min_mw) == 144, "min_mw");
_Static_assert(offsetof(struct gpu, memory_total) == 168, "memory_total");
_Static_assert(offsetof(struct gpu, instant_mw) == 192, "instant_mw");
_Static_assert(offsetof(struct gpu, event_reasons) == 248, "event_reasons");
_Static_assert(offsetof(struct gpu, fault_code) == 288, "fault_code");
_Static_assert(offsetof(struct gpu, requested_mw) == 320, "requested_mw, aligned to 8 for one store of both limits");
_Static_assert(offsetof(struct gpu, mig_handle) == 384, "mig_handle");
_Static_assert(offsetof(struct gpu, process_pids) == 440, "process_pids");
_Static_assert(offsetof(struct ring_entry, seq) == 24, "seq");

enum { CAN_SET_LIMIT = 1, HAS_ENERGY = 2, HAS_INSTANT = 4, HAS_AVERAGE = 8, MIG_ENABLED = 16 };

enum {
    BLANK_INSTANT = 0x1,
    BLANK_ENERGY = 0x2,
    BLANK_TEMPERATURE = 0x4,
    BLANK_UTILISATION = 0x8,
    BLANK_AVERAGE = 0x100,
    NONSENSE_SHIFT = 4, /* the same bits, four places up: nonsense instead of the blank marker */
};

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

/* What a handle stands for: a whole board (`mig` is -1) or one of its slices. */
struct target {
    struct gpu *gpu;
    int mig;
};

/* The mapped file; NULL before Init. Stays mapped for the life of the process: a call in flight in another thread
 * may outlive Shutdown. */
struct header *state_header(void);
struct gpu *state_gpu(unsigned index);
unsigned state_index(const struct gpu *gpu);
struct ring_entry *state_ring(void);

nvmlReturn_t state_open(void);
nvmlReturn_t state_close(void);

/* Start of a call without a handle: UNINITIALIZED, or the latency of one call has been spent. */
nvmlReturn_t enter_system(void);
/* Start of a call on a handle: also its range, its delay and its fault. */
nvmlReturn_t enter(nvmlDevice_t device, struct target *target);

#define ENTER_SYSTEM()                                                                                                 \
    do {                                                                                                               \
        nvmlReturn_t refused = enter_system();                                                                         \
        if (refused) return refused;                                                                                   \
    } while (0)
#define ENTER(device, target)                                                                                          \
    do {                                                                                                               \
        nvmlReturn_t refused = enter((device), &(target));                                                             \
        if (refused) return refused;                                                                                   \
    } while (0)
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) return NVML_ERROR_INVALID_ARGUMENT;                                                          \
    } while (0)

/* Copies text out of the file into a client's buffer; INSUFFICIENT_SIZE if it does not fit. */
nvmlReturn_t put_text(char *out, unsigned length, const char *text, size_t capacity);

/* The limit in force: what was set, under an out-of-band limit where one stands, never under the device minimum. */
unsigned effective_limit_mw(const struct gpu *gpu);
unsigned requested_limit_mw(const struct gpu *gpu);
/* May this process change the board? */
nvmlReturn_t may_set(void);

/* Readings, after blank markers and nonsense; `stamp_us` may be NULL. */
unsigned instant_mw(const struct gpu *gpu, int64_t *stamp_us);
unsigned average_mw(const struct gpu *gpu, int64_t *stamp_us);
uint64_t energy_mj(const struct gpu *gpu, int64_t *stamp_us);
/* Does `nvmlDeviceGetPowerUsage` of this card show the 1 s mean? */
int usage_is_average(const struct gpu *gpu);
int is_ga100(const struct gpu *gpu);

/* Writes the UUID of slice `mig` of a board, at most `capacity` bytes with the end. */
void mig_uuid(const struct gpu *gpu, int mig, char *out, size_t capacity);
unsigned mig_slices(const struct gpu *gpu);

#endif
