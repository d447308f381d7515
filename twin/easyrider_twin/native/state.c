/* Mapping the state file and entering a call. */
#include "state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* Init minus Shutdown */
static struct header *mapped;
static dev_t mapped_device;
static ino_t mapped_inode;

struct header *state_header(void) { return __atomic_load_n(&mapped, __ATOMIC_ACQUIRE); }

struct gpu *state_gpu(unsigned index) {
    return (struct gpu *)((char *)state_header() + HEADER_SIZE) + index;
}

unsigned state_index(const struct gpu *gpu) { return (unsigned)(gpu - state_gpu(0)); }

struct ring_entry *state_ring(void) { return (struct ring_entry *)state_gpu(state_header()->gpu_count); }

/* A file that is not there, or not ours, is a driver that is not loaded. The same file is never mapped twice; one
 * that replaced it is mapped anew and the old one left, since other threads may still read it. */
static nvmlReturn_t map_file(void) {
    const char *path = getenv("EASYRIDER_TWIN_STATE");
    if (!path) return NVML_ERROR_DRIVER_NOT_LOADED;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NVML_ERROR_DRIVER_NOT_LOADED;
    struct stat found;
    struct header head;
    nvmlReturn_t answer = NVML_ERROR_DRIVER_NOT_LOADED;
    if (fstat(file, &found) || pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head) goto done;
    if (mapped && found.st_dev == mapped_device && found.st_ino == mapped_inode) {
        answer = NVML_SUCCESS;
        goto done;
    }
    size_t size = HEADER_SIZE + (size_t)head.gpu_count * GPU_SIZE + (size_t)head.ring_capacity * RING_ENTRY_SIZE;
    if (memcmp(head.magic, "ERTWIN01", 8) || head.version != STATE_VERSION || (uint64_t)found.st_size < size) goto done;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) goto done;
    mapped_device = found.st_dev;
    mapped_inode = found.st_ino;
    __atomic_store_n(&mapped, (struct header *)at, __ATOMIC_RELEASE);
    answer = NVML_SUCCESS;
done:
    close(file);
    return answer;
}

nvmlReturn_t state_open(void) {
    nvmlReturn_t answer = NVML_SUCCESS;
    pthread_mutex_lock(&opening);
    if (!users) {
        answer = map_file();
        if (!answer) answer = (nvmlReturn_t)LOAD(mapped->driver_state);
    }
    if (!answer) __atomic_add_fetch(&users, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&opening);
    return answer;
}

nvmlReturn_t state_close(void) {
    nvmlReturn_t answer = NVML_ERROR_UNINITIALIZED;
    pthread_mutex_lock(&opening);
    if (users) {
        __atomic_sub_fetch(&users, 1, __ATOMIC_RELEASE);
        answer = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&opening);
    return answer;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Spins, because a real call spends its time in an ioctl on the caller's core: it must cost CPU, not only time. */
static void spend_latency(void) {
    uint64_t latency_ns = LOAD(state_header()->call_latency_ns);
    if (!latency_ns) return;
    uint64_t until_ns = now_ns() + latency_ns;
    while (now_ns() < until_ns) {
    }
}

/* Sleeps, since a hanging device blocks its caller without work, and in short naps, so that a hang ends when the
 * simulator takes the fault away. No lock is held: other handles answer meanwhile. */
static void suffer_delay(const struct gpu *gpu) {
    uint64_t begun_ns = now_ns();
    for (;;) {
        uint64_t delay_ns = (uint64_t)LOAD(gpu->fault_delay_us) * 1000u, spent_ns = now_ns() - begun_ns;
        if (spent_ns >= delay_ns) return;
        uint64_t nap_ns = delay_ns - spent_ns;
        if (nap_ns > 10000000u) nap_ns = 10000000u;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap_ns}, NULL);
    }
}

nvmlReturn_t enter_system(void) {
    if (!__atomic_load_n(&users, __ATOMIC_ACQUIRE)) return NVML_ERROR_UNINITIALIZED;
    spend_latency();
    return NVML_SUCCESS;
}

/* A handle is an address inside the mapping: the start of a record, or one of its slice entries. */
static int resolve(nvmlDevice_t device, struct target *target) {
    size_t into = (size_t)((uintptr_t)device - (uintptr_t)state_gpu(0));
    if (into / GPU_SIZE >= state_header()->gpu_count) return 0;
    target->gpu = state_gpu((unsigned)(into / GPU_SIZE));
    target->mig = -1;
    into %= GPU_SIZE;
    if (!into) return 1;
    size_t first = offsetof(struct gpu, mig_handle);
    if (into < first || (into - first) % 8) return 0;
    target->mig = (int)((into - first) / 8);
    return (unsigned)target->mig < mig_slices(target->gpu);
}

nvmlReturn_t enter(nvmlDevice_t device, struct target *target) {
    ENTER_SYSTEM();
    REQUIRE(resolve(device, target));
    if (LOAD(target->gpu->fault_delay_us)) suffer_delay(target->gpu);
    return (nvmlReturn_t)LOAD(target->gpu->fault_code);
}

nvmlReturn_t put_text(char *out, unsigned length, const char *text, size_t capacity) {
    REQUIRE(out);
    size_t used = strnlen(text, capacity);
    if (length < used + 1) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, used);
    out[used] = 0;
    return NVML_SUCCESS;
}
