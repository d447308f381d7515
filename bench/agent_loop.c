/* The bare loop: the calls that the telemetry agent makes, at the same times, and nothing else. What it costs is the
 * driver's share; what the agent costs above it is ours. Prints one line of JSON: CPU of one core in percent, calls. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_GPUS 64

typedef void *device_t;
struct field {
    uint32_t field, scope;
    int64_t stamp_us, latency_us;
    uint32_t type, code;
    union {
        unsigned long long ull;
        double d;
    } value;
};
struct utilisation {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};

static int (*init)(unsigned), (*count)(unsigned *), (*handle_of)(unsigned, device_t *);
static int (*fields)(device_t, int, struct field *), (*temperature)(device_t, unsigned, unsigned *);
static int (*utilisation)(device_t, struct utilisation *), (*clock_of)(device_t, unsigned, unsigned *);
static int (*reasons)(device_t, unsigned long long *), (*memory)(device_t, struct memory *);
static unsigned long calls;

static void *look_up(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is not in the library\n", name);
        exit(2);
    }
    return found;
}

static void load(void) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    *(void **)&init = look_up(library, "nvmlInitWithFlags");
    *(void **)&count = look_up(library, "nvmlDeviceGetCount_v2");
    *(void **)&handle_of = look_up(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&fields = look_up(library, "nvmlDeviceGetFieldValues");
    *(void **)&temperature = look_up(library, "nvmlDeviceGetTemperature");
    *(void **)&utilisation = look_up(library, "nvmlDeviceGetUtilizationRates");
    *(void **)&clock_of = look_up(library, "nvmlDeviceGetClockInfo");
    *(void **)&reasons = look_up(library, "nvmlDeviceGetCurrentClocksEventReasons");
    *(void **)&memory = look_up(library, "nvmlDeviceGetMemoryInfo");
}

static void check(int code) {
    calls++;
    if (code) {
        fprintf(stderr, "a call failed with %d\n", code);
        exit(3);
    }
}

static void fast_group(device_t device) {
    struct field asked[3] = {{.field = 83}, {.field = 186}, {.field = 190}};
    check(fields(device, 3, asked));
}

static void slow_group(device_t device) {
    unsigned value;
    unsigned long long bits;
    struct utilisation busy;
    struct memory used;
    check(temperature(device, 0, &value));
    check(utilisation(device, &busy));
    check(clock_of(device, 1, &value));
    check(clock_of(device, 2, &value));
    check(reasons(device, &bits));
    check(memory(device, &used));
}

static double cpu_s(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* agent_loop HZ SECONDS */
int main(int argc, char **argv) {
    unsigned hz = argc > 1 ? (unsigned)atoi(argv[1]) : 10, seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 10, gpus = 0;
    device_t devices[MAX_GPUS];
    if (!hz || !seconds) return 2;
    load();
    if (init(0) || count(&gpus) || gpus > MAX_GPUS) return 3;
    for (unsigned gpu = 0; gpu < gpus; gpu++)
        if (handle_of(gpu, &devices[gpu])) return 3;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    double before_s = cpu_s();
    for (unsigned tick = 0; tick < hz * seconds; tick++) {
        next.tv_nsec += 1000000000L / hz;
        if (next.tv_nsec >= 1000000000L) next.tv_nsec -= 1000000000L, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (unsigned gpu = 0; gpu < gpus; gpu++) {
            fast_group(devices[gpu]);
            if (gpu % hz == tick % hz) slow_group(devices[gpu]);
        }
    }
    printf("{\"cpu_pct\": %.4f, \"calls\": %lu, \"seconds\": %u}\n", 100 * (cpu_s() - before_s) / seconds, calls,
           seconds);
    return 0;
}
