/* Stands where programs look for `nvidia-smi` on a simulated node, and says so.
 *
 * An NVML program like any other: it lists what the library beside it shows. It is no replacement of the real tool.
 */
#include "../abi.h"

#include <stdio.h>
#include <string.h>

extern nvmlReturn_t nvmlInit_v2(void);
extern const char *nvmlErrorString(nvmlReturn_t);
extern nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *);
extern nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned, nvmlDevice_t *);
extern nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char *, unsigned);
extern nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t, char *, unsigned);
extern nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned *);
extern nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned *);

static void help(void) {
    puts("EasyRider's simulated node: a stand-in for nvidia-smi, not NVIDIA's tool.\n"
         "  nvidia-smi       one line a GPU: name, power draw, enforced limit\n"
         "  nvidia-smi -L    one line a GPU: name, UUID\n"
         "  nvidia-smi -h    this text");
}

static void line(unsigned index, int with_uuid) {
    nvmlDevice_t device;
    char name[96] = "?", uuid[96] = "?";
    unsigned power_mw = 0, limit_mw = 0;
    nvmlReturn_t answer = nvmlDeviceGetHandleByIndex_v2(index, &device);
    if (!answer) answer = nvmlDeviceGetName(device, name, sizeof name);
    if (!answer) answer = nvmlDeviceGetUUID(device, uuid, sizeof uuid);
    if (!answer && !with_uuid) answer = nvmlDeviceGetPowerUsage(device, &power_mw);
    if (!answer && !with_uuid) answer = nvmlDeviceGetEnforcedPowerLimit(device, &limit_mw);
    if (answer)
        printf("GPU %u: %s\n", index, nvmlErrorString(answer));
    else if (with_uuid)
        printf("GPU %u: %s (UUID: %s)\n", index, name, uuid);
    else
        printf("GPU %u: %s, %.1f W of %.1f W\n", index, name, power_mw / 1e3, limit_mw / 1e3);
}

int main(int count, char **words) {
    int list = count > 1 && (!strcmp(words[1], "-L") || !strcmp(words[1], "--list-gpus"));
    if (count > 1 && !list) {
        help();
        return strcmp(words[1], "-h") && strcmp(words[1], "--help") ? 2 : 0;
    }
    nvmlReturn_t answer = nvmlInit_v2();
    if (answer) {
        fprintf(stderr, "the simulated driver does not answer: %s\n", nvmlErrorString(answer));
        return 9;
    }
    unsigned gpus = 0;
    nvmlDeviceGetCount_v2(&gpus);
    if (!list) puts("Simulated node (EasyRider twin)");
    for (unsigned index = 0; index < gpus; index++) line(index, list);
    return 0;
}
