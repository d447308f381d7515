/* Where the shared fields lie as this compiler sees them; the tests hold them against the numpy records. */
#include "state.h"

#include <string.h>

struct place {
    const char *name;
    long offset;
};

#define H(field) {"header." #field, (long)offsetof(struct header, field)}
#define G(field) {"gpu." #field, (long)offsetof(struct gpu, field)}
#define R(field) {"ring." #field, (long)offsetof(struct ring_entry, field)}

static const struct place places[] = {
    H(magic), H(version), H(gpu_count), H(ring_capacity), H(driver_state), H(deny_set), H(call_latency_ns),
    H(ring_head), H(step_ns), H(sim_ns), H(driver_version), H(nvml_version), H(node), H(cuda_version), H(sensor_seq),
    G(uuid), G(name), G(pci_bus_id), G(min_mw), G(max_mw), G(default_mw), G(capabilities), G(mig_count),
    G(memory_total), G(max_sm_mhz), G(max_mem_mhz), G(architecture), G(instant_mw), G(average_mw), G(power_stamp_us),
    G(energy_mj), G(energy_stamp_us), G(temperature_c), G(util_gpu_pct), G(util_mem_pct), G(sm_mhz), G(mem_mhz),
    G(event_reasons), G(memory_used), G(out_of_band_mw), G(fault_code), G(fault_delay_us), G(blank_mask), G(xid_seq),
    G(xid_code), G(write_fault), G(requested_mw), G(enforced_mw), G(limit_seq), G(limit_stamp_ns), G(persistence),
    G(locked_min_mhz), G(locked_max_mhz), G(process_pids),
    R(stamp_ns), R(gpu), R(requested_mw), R(enforced_mw), R(pid), R(seq), R(answer),
};

/* Offset in bytes of "header.x", "gpu.x" or "ring.x"; -1 for a name that is not shared. */
EXPORT long easyrider_twin_offset(const char *name) {
    for (size_t at = 0; at < sizeof places / sizeof *places; at++)
        if (!strcmp(places[at].name, name)) return places[at].offset;
    return -1;
}
