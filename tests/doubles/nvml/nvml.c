/* NVML's functions, with its ABI, over GPUs that a script describes: nvml.txt in the folder of this library.
 *
 * A line of the script is "INDEX KEY MOMENT VALUE": from that moment on, this GPU has this value. "error:N" as a value
 * makes the call return N. INDEX -1 is the driver. A GPU with the key "slice_of" is a MIG slice of the GPU with that
 * index, and is not counted. Moments are seconds since nvmlInit; after the line "-1 clock 0 readings", the number of
 * times that this GPU's utilisation was read. The script is read anew at every call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 16
enum { DONE, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE, GPU_IS_LOST = 15 };

typedef struct { int index; unsigned long readings; } *Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } Process;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;

static struct { int index; unsigned long readings; } devices[MOST];
static double began;
static int is_initialised;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* The last value of a key whose moment is not after this one. Whether there is any. */
static int find(int index, const char *key, double moment, char *value, double *since) {
    static char path[4096];
    char line[1024], name[64], text[960];
    double at;
    int of, found = 0;
    if (!path[0]) {
        Dl_info info;
        dladdr((void *)find, &info);
        snprintf(path, sizeof path, "%s", info.dli_fname);
        strcpy(strrchr(path, '/') + 1, "nvml.txt");
    }
    FILE *script = fopen(path, "r");
    if (!script) return 0;
    while (fgets(line, sizeof line, script))
        if (sscanf(line, "%d %63s %lf %959[^\n]", &of, name, &at, text) == 4 && of == index && at <= moment &&
            !strcmp(name, key)) {
            strcpy(value, text);
            if (since) *since = at;
            found = 1;
        }
    fclose(script);
    return found;
}

static double moment(Device device) {
    char value[960];
    if (device && find(-1, "clock", 0, value, NULL) && !strcmp(value, "readings")) return (double)device->readings;
    return now() - began;
}

/* NVML's return code for one key of one GPU; its text if that is 0. */
static int ask(Device device, const char *key, char *value) {
    if (!is_initialised) return UNINITIALIZED;
    if (device && find(device->index, "lost", moment(device), value, NULL) && atoi(value)) return GPU_IS_LOST;
    if (!find(device ? device->index : -1, key, moment(device), value, NULL)) return NOT_SUPPORTED;
    return strncmp(value, "error:", 6) ? DONE : atoi(value + 6);
}

static int text(Device device, const char *key, char *buffer, unsigned length) {
    char value[960];
    int code = ask(device, key, value);
    if (code == DONE) snprintf(buffer, length, "%s", value);
    return code;
}

static int number(Device device, const char *key, unsigned long long *found) {
    char value[960];
    int code = ask(device, key, value);
    if (code == DONE) *found = strtoull(value, NULL, 10);
    return code;
}

static int small(Device device, const char *key, unsigned *found) {
    unsigned long long wide = 0;
    int code = number(device, key, &wide);
    if (code == DONE) *found = (unsigned)wide;
    return code;
}

static int is_slice(int index) {
    char value[960];
    return find(index, "slice_of", 0, value, NULL);
}

/* The GPU, or the slice of a GPU, that is number "wanted" of its kind; -1 if there are fewer. */
static int place(int parent, unsigned wanted) {
    char value[960];
    for (int index = 0; index < MOST; index++) {
        if (!find(index, "uuid", 0, value, NULL)) continue;
        int is_ours = is_slice(index) ? find(index, "slice_of", 0, value, NULL) && atoi(value) == parent : parent < 0;
        if (is_ours && !wanted--) return index;
    }
    return -1;
}

static int handle(int index, Device *device) {
    char value[960];
    if (!is_initialised) return UNINITIALIZED;
    if (index < 0) return NOT_FOUND;
    devices[index].index = index;
    *device = (Device)&devices[index];
    return find(index, "lost", moment(*device), value, NULL) && atoi(value) ? GPU_IS_LOST : DONE;
}

int nvmlInitWithFlags(unsigned flags) {
    char value[960];
    (void)flags;
    if (find(-1, "init", 0, value, NULL)) return atoi(value);
    if (!is_initialised) began = now();
    is_initialised = 1;
    return DONE;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return is_initialised-- > 0 ? DONE : UNINITIALIZED; }
const char *nvmlErrorString(int code) { return code ? "an error that the script asks for" : "Success"; }

int nvmlSystemGetDriverVersion(char *buffer, unsigned length) { return text(NULL, "driver", buffer, length); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return small(NULL, "cuda", (unsigned *)version); }

int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!is_initialised) return UNINITIALIZED;
    for (*count = 0; place(-1, *count) >= 0; ++*count) {}
    return DONE;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
    int found = place(-1, index);
    return found < 0 && is_initialised ? INVALID_ARGUMENT : handle(found, device);
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device) {
    char value[960];
    for (int index = 0; index < MOST; index++)
        if (find(index, "uuid", 0, value, NULL) && !strcmp(value, uuid)) return handle(index, device);
    return NOT_FOUND;
}
int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
    if (is_slice(device->index)) return INVALID_ARGUMENT;
    int code = small(device, "mig", current);
    *pending = *current;
    return code;
}
int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
    (void)device;
    *count = 7;
    return DONE;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device *slice) {
    return handle(place(device->index, index), slice);
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device slice, Device *device) {
    char value[960];
    if (!find(slice->index, "slice_of", 0, value, NULL)) return INVALID_ARGUMENT;
    return handle(atoi(value), device);
}

int nvmlDeviceGetName(Device device, char *buffer, unsigned length) { return text(device, "name", buffer, length); }
int nvmlDeviceGetUUID(Device device, char *buffer, unsigned length) { return text(device, "uuid", buffer, length); }
int nvmlDeviceGetPciInfo_v3(Device device, Pci *pci) {
    memset(pci, 0, sizeof *pci);
    return text(device, "bus", pci->bus_id, sizeof pci->bus_id);
}
int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
    char value[960];
    int code = ask(device, "capability", value);
    if (code == DONE) sscanf(value, "%d.%d", major, minor);
    return code;
}
int nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
    int code = number(device, "total", &memory->total);
    if (code == DONE) code = number(device, "memory", &memory->used);
    memory->free = memory->total - memory->used;
    return code;
}
int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
    int code = small(device, "utilisation", &rates->gpu);
    device->readings++;
    rates->memory = 0;
    return code;
}
int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) { return small(device, "milliwatts", milliwatts); }
int nvmlDeviceGetPowerManagementLimit(Device device, unsigned *limit) { return small(device, "limit", limit); }
int nvmlDeviceGetPersistenceMode(Device device, unsigned *mode) { return small(device, "persistence", mode); }
int nvmlDeviceGetEccMode(Device device, unsigned *current, unsigned *pending) {
    int code = small(device, "ecc", current);
    *pending = *current;
    return code;
}
int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned *generation) {
    return small(device, "pcie_generation", generation);
}
int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned *lanes) { return small(device, "pcie_lanes", lanes); }
int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long *joules) {
    return number(device, "millijoules", joules);
}
int nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned *celsius) {
    return sensor ? INVALID_ARGUMENT : small(device, "celsius", celsius);
}
int nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned *mhz) {
    return small(device, type == 1 ? "mhz" : "other_mhz", mhz);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long *reasons) {
    return number(device, "reasons", reasons);
}

/* "PID:BYTES PID:? …"; "?" is memory that is not reported. */
static int running(Device device, unsigned *count, Process *processes) {
    char value[960], *rest = value, *word;
    unsigned found = 0, room = *count;
    int code = ask(device, "processes", value);
    if (code != DONE) return code;
    while ((word = strtok_r(rest, " ", &rest)) && strchr(word, ':'))
        if (found++ < room) {
            Process one = {(unsigned)atoi(word), strtoull(strchr(word, ':') + 1, NULL, 10), ~0u, ~0u};
            if (strchr(word, '?')) one.bytes = ~0ull;
            processes[found - 1] = one;
        }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : DONE;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *processes) {
    return running(device, count, processes);
}
/* Older drivers export only this version, with the same structure. */
int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned *count, Process *processes) {
    return running(device, count, processes);
}
