/* libnvidia-ml.so.1 for tests: the same functions as the Python simulator, written a second time.
 *
 * It reads a plan's first state as `key = value` lines from the file GPUDIAG_NATIVE_SCENARIO names.
 * All structures are declared here after nvml.h, none is taken from the Python binding, so that two
 * independent layouts have to agree. Only getters: what blocks, changes or waits is not compared. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXPORT __attribute__((visibility("default")))
typedef unsigned int u32;
typedef unsigned long long u64;
enum { OK, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE,
       CORRUPTED_INFOROM = 14, GPU_IS_LOST, VERSION_MISMATCH = 25 };
enum { MOST_LINES = 16384, MOST_GPUS = 64 };

static struct { char *key, *value; } lines[MOST_LINES];
static int line_count, inits;
struct gpu { int index; };
typedef struct gpu *handle;
static struct gpu gpus[MOST_GPUS];

/* ---- the scenario ---- */

static int by_key(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void load(void) {
    char line[4096];
    const char *name = getenv("GPUDIAG_NATIVE_SCENARIO");
    FILE *file = name && !line_count ? fopen(name, "re") : NULL;
    while (file && line_count < MOST_LINES && fgets(line, sizeof line, file)) {
        char *equals = strstr(line, " = ");
        if (!equals) continue;
        *equals = 0;
        lines[line_count].key = strdup(line);
        lines[line_count++].value = strdup(strtok(equals + 3, "\n") ?: "");
    }
    if (file) fclose(file);
    qsort(lines, line_count, sizeof *lines, by_key);
    for (int i = 0; i < MOST_GPUS; i++) gpus[i].index = i;
}

static const char *value(int gpu, const char *key) {
    char full[160];
    char *wanted = full;
    load();
    if (gpu < 0) snprintf(full, sizeof full, "system.%s", key);
    else snprintf(full, sizeof full, "gpu.%d.%s", gpu, key);
    void *found = bsearch(&wanted, lines, line_count, sizeof *lines, by_key);
    return found ? ((char **)found)[1] : NULL;
}

static long long number(int gpu, const char *key, long long otherwise) {
    const char *text = value(gpu, key);
    return text ? (long long)strtoull(text, NULL, 10) : otherwise;
}

static int count(void) { return (int)number(-1, "count", 0); }

static int told(int gpu, const char *function) {
    char key[128];
    snprintf(key, sizeof key, "call.%s.returns", function);
    long long code = gpu < 0 ? number(-1, key, 0)
                             : number(gpu, key, number(gpu, "call.*.returns", number(-1, key, 0)));
    if (!code && gpu >= 0 && number(gpu, "lost", 0)) code = GPU_IS_LOST;
    return (int)code;
}

#define ENTER(gpu) do { if (!inits) { return UNINITIALIZED; } \
    int code_ = told(gpu, __func__); if (code_) { return code_; } } while (0)
#define DEVICE(h) int g = (int)((h) - gpus); \
    do { if (inits && ((h) < gpus || g >= count())) { return INVALID_ARGUMENT; } ENTER(g); } while (0)
#define NEED(gpu, name, key) long long name; do { \
    if (!value(gpu, key)) { return NOT_SUPPORTED; } name = number(gpu, key, 0); } while (0)

static int text(const char *from, char *to, u32 size) {
    if (!from || !*from) return NOT_SUPPORTED;
    if (strlen(from) + 1 > size) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return OK;
}

/* ---- the system ---- */

EXPORT int nvmlInitWithFlags(u32 flags) {
    (void)flags;
    int code = told(-1, __func__);
    if (!code) inits++;
    return code;
}
EXPORT int nvmlShutdown(void) { ENTER(-1); inits--; return OK; }
EXPORT const char *nvmlErrorString(int code) { (void)code; return "Unknown Error"; }
EXPORT int nvmlSystemGetDriverVersion(char *b, u32 n) { ENTER(-1); return text(value(-1, "driver"), b, n); }
EXPORT int nvmlSystemGetNVMLVersion(char *b, u32 n) { return text(value(-1, "nvml"), b, n); }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *v) { ENTER(-1); *v = (int)number(-1, "cuda", 0); return OK; }
EXPORT int nvmlDeviceGetCount_v2(u32 *n) { ENTER(-1); *n = (u32)count(); return OK; }

static int hand_out(const char *function, int gpu, handle *h) {
    int code = told(gpu, function);
    if (!code) *h = &gpus[gpu];
    return code;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(u32 index, handle *h) {
    ENTER(-1);
    return (int)index < count() ? hand_out(__func__, (int)index, h) : INVALID_ARGUMENT;
}
static int find(const char *function, const char *key, const char *wanted, handle *h) {
    for (int g = 0; g < count(); g++)
        if (value(g, key) && !strcasecmp(value(g, key), wanted)) return hand_out(function, g, h);
    return NOT_FOUND;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *u, handle *h) { ENTER(-1); return find(__func__, "uuid", u, h); }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *u, handle *h) { ENTER(-1); return find(__func__, "pci", u, h); }

/* ---- texts and numbers ---- */

#define TEXT(name, key) EXPORT int name(handle h, char *b, u32 n) { DEVICE(h); return text(value(g, key), b, n); }
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part_number")
EXPORT int nvmlDeviceGetGspFirmwareVersion(handle h, char *b) {
    DEVICE(h);
    return number(g, "gsp.enabled", 0) ? text(value(g, "gsp.version"), b, 0x40) : NOT_SUPPORTED;
}
EXPORT int nvmlDeviceValidateInforom(handle h) { DEVICE(h); return number(g, "inforom_valid", 1) ? OK : CORRUPTED_INFOROM; }

#define NUMBER(name, type, key) EXPORT int name(handle h, type *v) { DEVICE(h); NEED(g, n, key); *v = (type)n; return OK; }
EXPORT int nvmlDeviceGetIndex(handle h, u32 *v) { DEVICE(h); *v = (u32)g; return OK; }
NUMBER(nvmlDeviceGetMinorNumber, u32, "minor")
NUMBER(nvmlDeviceGetModuleId, u32, "module_id")
NUMBER(nvmlDeviceGetNumaNodeId, int, "numa")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, u32, "pcie.generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, u32, "pcie.max_generation")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, u32, "pcie.device_max_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, u32, "pcie.width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, u32, "pcie.max_width")
NUMBER(nvmlDeviceGetPcieReplayCounter, u32, "pcie.replays")
NUMBER(nvmlDeviceGetPowerUsage, u32, "power.draw_mw")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, u32, "power.limit_mw")
NUMBER(nvmlDeviceGetPowerManagementLimit, u32, "power.limit_mw")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, u32, "power.default_limit_mw")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "clocks.reasons")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "clocks.reasons")
NUMBER(nvmlDeviceGetPerformanceState, u32, "performance_state")
NUMBER(nvmlDeviceGetPersistenceMode, u32, "persistence")
NUMBER(nvmlDeviceGetComputeMode, u32, "compute_mode")
NUMBER(nvmlDeviceGetAccountingMode, u32, "accounting")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, u32, "retired.pending")

#define PAIR(name, first, second) EXPORT int name(handle h, u32 *a, u32 *b) { \
    DEVICE(h); NEED(g, x, first); NEED(g, y, second); *a = (u32)x; *b = (u32)y; return OK; }
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power.min_limit_mw", "power.max_limit_mw")
PAIR(nvmlDeviceGetEccMode, "ecc.enabled", "ecc.pending")
PAIR(nvmlDeviceGetMigMode, "mig.current", "mig.pending")
PAIR(nvmlDeviceGetGspFirmwareMode, "gsp.enabled", "gsp.default")
EXPORT int nvmlDeviceGetRemappedRows(handle h, u32 *a, u32 *b, u32 *c, u32 *d) {
    DEVICE(h); NEED(g, corrected, "remap.corrected"); NEED(g, uncorrected, "remap.uncorrected");
    NEED(g, pending, "remap.pending"); NEED(g, failure, "remap.failure");
    *a = (u32)corrected; *b = (u32)uncorrected; *c = (u32)pending; *d = (u32)failure;
    return OK;
}
EXPORT int nvmlDeviceGetSupportedEventTypes(handle h, u64 *t) { DEVICE(h); *t = 0xff9f; return OK; }

static int one_of(int g, const char *const *keys, u32 size, u32 which, int beyond, u32 *v) {
    if (which >= size) return beyond;
    NEED(g, n, keys[which]);
    *v = (u32)n;
    return OK;
}
static const char *const LIMITS[] = {"temperature.shutdown_c", "temperature.slowdown_c", "temperature.memory_max_c", "temperature.gpu_max_c"};
static const char *const CLOCKS[] = {"clocks.graphics_mhz", "clocks.sm_mhz", "clocks.memory_mhz", "clocks.video_mhz"};
static const char *const MAXIMA[] = {"clocks.max_graphics_mhz", "clocks.max_sm_mhz", "clocks.max_memory_mhz", "clocks.max_video_mhz"};
static const char *const CORE[] = {"temperature.gpu_c"};
EXPORT int nvmlDeviceGetTemperature(handle h, u32 w, u32 *v) { DEVICE(h); return one_of(g, CORE, 1, w, INVALID_ARGUMENT, v); }
EXPORT int nvmlDeviceGetTemperatureThreshold(handle h, u32 w, u32 *v) { DEVICE(h); return one_of(g, LIMITS, 4, w, NOT_SUPPORTED, v); }
EXPORT int nvmlDeviceGetClockInfo(handle h, u32 w, u32 *v) { DEVICE(h); return one_of(g, CLOCKS, 4, w, INVALID_ARGUMENT, v); }
EXPORT int nvmlDeviceGetMaxClockInfo(handle h, u32 w, u32 *v) { DEVICE(h); return one_of(g, MAXIMA, 4, w, INVALID_ARGUMENT, v); }

/* ---- structures; a version is its size and, in the top byte, its number ---- */

#define VERSIONED(s, n) do { \
    if ((s)->version != (sizeof *(s) | (u32)(n) << 24)) return VERSION_MISMATCH; } while (0)
struct temperature { u32 version, sensor; int celsius; };
EXPORT int nvmlDeviceGetTemperatureV(handle h, struct temperature *t) { DEVICE(h); VERSIONED(t, 1); NEED(g, n, "temperature.gpu_c"); t->celsius = (int)n; return OK; }
struct margin { u32 version; int celsius; };
EXPORT int nvmlDeviceGetMarginTemperature(handle h, struct margin *m) { DEVICE(h); VERSIONED(m, 1); NEED(g, n, "temperature.margin_c"); m->celsius = (int)n; return OK; }
struct rates { u32 gpu, memory; };
EXPORT int nvmlDeviceGetUtilizationRates(handle h, struct rates *r) { DEVICE(h); NEED(g, a, "utilization"); NEED(g, b, "memory_utilization"); *r = (struct rates){(u32)a, (u32)b}; return OK; }
struct memory_v1 { u64 total, free, used; };
EXPORT int nvmlDeviceGetMemoryInfo(handle h, struct memory_v1 *m) {
    DEVICE(h); NEED(g, total, "memory.total_bytes"); NEED(g, reserved, "memory.reserved_bytes"); NEED(g, used, "memory.used_bytes");
    *m = (struct memory_v1){total, total - reserved - used, reserved + used};
    return OK;
}
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
EXPORT int nvmlDeviceGetMemoryInfo_v2(handle h, struct memory_v2 *m) {
    DEVICE(h); VERSIONED(m, 2); NEED(g, total, "memory.total_bytes"); NEED(g, reserved, "memory.reserved_bytes"); NEED(g, used, "memory.used_bytes");
    *m = (struct memory_v2){m->version, total, reserved, total - reserved - used, used};
    return OK;
}
struct repair { u32 version, channel, tpc; };
EXPORT int nvmlDeviceGetRepairStatus(handle h, struct repair *r) { DEVICE(h); VERSIONED(r, 1); NEED(g, a, "repair.channel_pending"); NEED(g, b, "repair.tpc_pending"); r->channel = (u32)a; r->tpc = (u32)b; return OK; }
struct histogram { u32 max, high, partial, low, none; };
EXPORT int nvmlDeviceGetRowRemapperHistogram(handle h, struct histogram *r) {
    DEVICE(h); NEED(g, max, "remap.max"); NEED(g, high, "remap.high"); NEED(g, partial, "remap.partial"); NEED(g, low, "remap.low"); NEED(g, none, "remap.none");
    *r = (struct histogram){(u32)max, (u32)high, (u32)partial, (u32)low, (u32)none};
    return OK;
}
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char address[32]; };
static void fill_pci(struct pci *p, const char *address, u32 id, u32 subsystem) {
    memset(p, 0, sizeof *p);
    strncpy(p->address, address, 31);
    strncpy(p->legacy, address + 4, 15);
    sscanf(address, "%x:%x:%x", &p->domain, &p->bus, &p->device);
    p->id = id; p->subsystem = subsystem;
}
EXPORT int nvmlDeviceGetPciInfo_v3(handle h, struct pci *p) { DEVICE(h); NEED(g, id, "pci_device_id"); NEED(g, sub, "pci_subsystem_id"); fill_pci(p, value(g, "pci"), (u32)id, (u32)sub); return OK; }

static void unhex(const char *hex, uint8_t *to, int size) {
    for (int i = 0; i < size; i++) sscanf(hex + 2 * i, "%2hhx", &to[i]);
}
struct platform { u32 version; uint8_t guid[16]; char chassis[16]; uint8_t slot, tray, host, peer, module; };
EXPORT int nvmlDeviceGetPlatformInfo(handle h, struct platform *p) {
    DEVICE(h); VERSIONED(p, 2); NEED(g, slot, "platform.slot"); NEED(g, tray, "platform.tray"); NEED(g, host, "platform.host"); NEED(g, peer, "platform.peer_type");
    unhex(value(g, "platform.ib_guid"), p->guid, 16);
    strncpy(p->chassis, value(g, "platform.chassis_serial"), 15);
    p->slot = slot; p->tray = tray; p->host = host; p->peer = peer; p->module = number(g, "module_id", 0);
    return OK;
}
struct fabric { u32 version; uint8_t cluster[16]; u32 status, clique, state, health; uint8_t summary; };
EXPORT int nvmlDeviceGetGpuFabricInfoV(handle h, struct fabric *f) {
    DEVICE(h);
    /* Version 2 ends before the summary, at 36 bytes. */
    if (f->version != (2u << 24 | 36) && f->version != (3u << 24 | sizeof *f)) return VERSION_MISMATCH;
    NEED(g, state, "fabric.state"); NEED(g, status, "fabric.status"); NEED(g, clique, "fabric.clique"); NEED(g, health, "fabric.health_mask"); NEED(g, summary, "fabric.health_summary");
    unhex(value(g, "fabric.cluster"), f->cluster, 16);
    f->status = (u32)status; f->clique = (u32)clique; f->state = (u32)state; f->health = (u32)health;
    if (f->version >> 24 == 3) f->summary = (uint8_t)summary;
    return OK;
}

/* ---- ECC and retired pages ---- */

static int ecc(int g, u32 kind, u32 life, u32 place, u64 *v) {
    char key[64];
    if (kind > 1 || life > 1) return INVALID_ARGUMENT;
    if (!number(g, "ecc.enabled", 0) || (place != 2 && place != 7)) return NOT_SUPPORTED;
    const char *where = place == 2 ? "dram" : "sram", *lifetime = life ? "aggregate" : "volatile";
    snprintf(key, sizeof key, "ecc.%s.sram_parity", lifetime);
    if (kind && place == 7 && value(g, key)) {
        *v = (u64)number(g, key, 0);
        snprintf(key, sizeof key, "ecc.%s.sram_secded", lifetime);
        *v += (u64)number(g, key, 0);
        return OK;
    }
    snprintf(key, sizeof key, "ecc.%s.%s_%s", lifetime, where, kind ? "uncorrected" : "corrected");
    NEED(g, n, key);
    *v = (u64)n;
    return OK;
}
EXPORT int nvmlDeviceGetMemoryErrorCounter(handle h, u32 kind, u32 life, u32 place, u64 *v) { DEVICE(h); return ecc(g, kind, life, place, v); }
EXPORT int nvmlDeviceGetTotalEccErrors(handle h, u32 kind, u32 life, u64 *v) {
    DEVICE(h);
    u64 dram = 0, sram = 0;
    int code = ecc(g, kind, life, 2, &dram);
    code = code ? code : ecc(g, kind, life, 7, &sram);
    if (!code) *v = dram + sram;
    return code;
}
struct sram { u32 version; u64 a_parity, a_secded, a_corrected, v_parity, v_secded, v_corrected, l2, sm, pcie, mcu, other; u32 exceeded; };
EXPORT int nvmlDeviceGetSramEccErrorStatus(handle h, struct sram *s) {
    DEVICE(h); VERSIONED(s, 1); NEED(g, vp, "ecc.volatile.sram_parity"); NEED(g, exceeded, "ecc.sram.threshold_exceeded");
#define N(key) (u64)number(g, "ecc." key, 0)
    *s = (struct sram){s->version, N("aggregate.sram_parity"), N("aggregate.sram_secded"), N("aggregate.sram_corrected"), (u64)vp, N("volatile.sram_secded"), N("volatile.sram_corrected"),
                       N("sram.l2"), N("sram.sm"), N("sram.pcie"), N("sram.microcontroller"), N("sram.other"), (u32)exceeded};
    return OK;
}
static u32 commas(const char *list) { u32 n = *list != 0; while (*list) n += *list++ == ','; return n; }
EXPORT int nvmlDeviceGetRetiredPages(handle h, u32 cause, u32 *n, u64 *to) {
    DEVICE(h);
    if (cause > 1) return INVALID_ARGUMENT;
    const char *list = value(g, cause ? "retired.double_bit" : "retired.single_bit");
    if (!list) return NOT_SUPPORTED;
    u32 room = *n; *n = commas(list);
    if (*n && (!to || room < *n)) return INSUFFICIENT_SIZE;
    for (u32 i = 0; i < *n; i++, list = strchr(list, ',') ? strchr(list, ',') + 1 : "") to[i] = strtoull(list, NULL, 10);
    return OK;
}
struct process { u32 pid; u64 used; u32 gpu_instance, compute_instance; };
static int processes(int g, const char *key, u32 *n, struct process *to) {
    const char *list = value(g, key);
    u32 room = *n; *n = commas(list);
    if (*n && (!to || room < *n)) return INSUFFICIENT_SIZE;
    for (u32 i = 0; i < *n; i++, list = strchr(list, ',') ? strchr(list, ',') + 1 : "")
        sscanf(list, "%u:%llu:%u:%u", &to[i].pid, &to[i].used, &to[i].gpu_instance, &to[i].compute_instance);
    return OK;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(handle h, u32 *n, struct process *p) { DEVICE(h); return processes(g, "process.compute", n, p); }
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(handle h, u32 *n, struct process *p) { DEVICE(h); return processes(g, "process.graphics", n, p); }

/* ---- NVLink and topology ---- */

static const char *const ERRORS[] = {"replays", "recoveries", "crc_flits", "crc_data", "ecc_data"};
static const char *const PORT[] = {"malformed_packets", "buffer_overruns", "receive_errors", "remote_receive_errors", "general_receive_errors", "integrity_errors", "transmit_discards", "recoveries_successful",
    "recoveries_failed", "recovery_events", "raw_ber_lane0", "raw_ber_lane1", "raw_ber", "effective_errors", "effective_ber", "symbol_errors", "symbol_ber"};
static long long of_link(int g, u32 link, const char *name, long long otherwise) {
    char key[80];
    snprintf(key, sizeof key, "nvlink.link.%u.%s", link, name);
    return number(g, key, otherwise);
}
#define LINK(g, link) NEED(g, links, "nvlink.count"); \
    do { if ((link) >= (u32)links) return INVALID_ARGUMENT; } while (0)
EXPORT int nvmlDeviceGetNvLinkState(handle h, u32 link, u32 *v) { DEVICE(h); LINK(g, link); *v = (u32)of_link(g, link, "active", 1); return OK; }
EXPORT int nvmlDeviceGetNvLinkVersion(handle h, u32 link, u32 *v) { DEVICE(h); LINK(g, link); *v = (u32)number(g, "nvlink.version", 0); return OK; }
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(handle h, u32 link, u32 *v) { DEVICE(h); LINK(g, link); *v = (u32)number(g, "nvlink.remote", 0); return OK; }
EXPORT int nvmlDeviceGetNvLinkErrorCounter(handle h, u32 link, u32 which, u64 *v) {
    DEVICE(h); LINK(g, link);
    if (which > 4) return INVALID_ARGUMENT;
    if (!number(g, "nvlink.error_counters", 0)) return NOT_SUPPORTED;
    *v = (u64)of_link(g, link, ERRORS[which], 0);
    return OK;
}
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(handle h, u32 link, struct pci *p) {
    char address[32];
    DEVICE(h); LINK(g, link);
    if (number(g, "nvlink.remote", 0) != 2) return NOT_SUPPORTED;
    snprintf(address, sizeof address, "00000000:%02X:00.0", 4 + link % 4);
    fill_pci(p, value(g, "nvlink.remote_pci") ?: address, 0x22A310DE, 0x179610DE);
    return OK;
}
EXPORT int nvmlDeviceGetTopologyCommonAncestor(handle h, handle other, u32 *level) {
    DEVICE(h);
    int o = other->index;
    long long a = number(g, "pcie.switch", -1), b = number(o, "pcie.switch", -1);
    *level = g == o ? 0 : a >= 0 && a == b ? 10 : number(g, "numa", 0) == number(o, "numa", 0) ? 40 : 50;
    return OK;
}
static int linked(int g) { return value(g, "nvlink.count") && number(g, "fabric.state", 3) == 3; }
EXPORT int nvmlDeviceGetP2PStatus(handle h, handle other, u32 what, u32 *status) {
    DEVICE(h);
    if (what > 4) return INVALID_ARGUMENT;
    long long a = number(g, "peer_access", 0), b = number(other->index, "peer_access", 0);
    *status = what == 2 ? (linked(g) && linked(other->index) ? 0 : 5) : (u32)(a > b ? a : b);
    return OK;
}

/* ---- fields ---- */

struct field { u32 id, scope; int64_t timestamp, latency; u32 type, code; u64 value; };
static const struct { u32 id, type; const char *key; int factor; } FIELDS[] = {
    {74, 3, "clocks.power_cap_us", 1000}, {76, 3, "clocks.sync_boost_us", 1000}, {82, 1, "temperature.memory_c", 1}, {91, 1, "nvlink.count", 1}, {94, 1, "pcie.replays", 1},
    {142, 1, "remap.corrected", 1}, {143, 1, "remap.uncorrected", 1}, {144, 1, "remap.pending", 1}, {145, 1, "remap.failure", 1},
    {185, 1, "power.average_mw", 1}, {186, 1, "power.instant_mw", 1}, {187, 1, "power.min_limit_mw", 1}, {188, 1, "power.max_limit_mw", 1}, {189, 1, "power.default_limit_mw", 1},
    {190, 1, "power.limit_mw", 1}, {192, 1, "power.limit_mw", 1}, {193, 5, "temperature.shutdown_margin_c", 1}, {194, 5, "temperature.slowdown_margin_c", 1},
    {195, 5, "temperature.memory_max_margin_c", 1}, {196, 5, "temperature.gpu_max_margin_c", 1}, {230, 1, "recovery_action", 1},
    {269, 3, "clocks.software_thermal_us", 1000}, {270, 3, "clocks.hardware_thermal_us", 1000}, {271, 3, "clocks.power_brake_us", 1000},
    {301, 1, "remap.corrected_inactive", 1}, {302, 1, "remap.uncorrected_inactive", 1}, {303, 1, "remap.banks_active", 1}, {304, 1, "remap.banks_inactive", 1},
    {305, 1, "remap.bank_spares_max", 1}, {306, 1, "remap.bank_spares_none", 1}, {307, 1, "remap.bank_pending", 1}};
static const struct { u32 id, first, last; } SUMS[] = {{38, 2, 2}, {45, 3, 3}, {52, 0, 0}, {59, 1, 1}, {160, 4, 4}, {161, 0, 0}, {162, 1, 1}, {163, 2, 3}};

static int link_field(int g, struct field *f) {
    LINK(g, f->scope);
    f->type = f->id < 206 ? 1 : 3;
    if (f->id >= 206 && !number(g, "nvlink.port_counters", 0)) return NOT_SUPPORTED;
    f->value = (u64)(f->id == 164 ? number(g, "nvlink.speed_mbps", 0) : f->id == 165 ? of_link(g, f->scope, "active", 1)
                     : f->id == 166 ? number(g, "nvlink.version", 0) : of_link(g, f->scope, PORT[f->id - 206], 0));
    return OK;
}
static int one_field(int g, struct field *f) {
    char key[48];
    long long code = 0;
    for (int i = 0; i < 2; i++) {
        if (i) snprintf(key, sizeof key, "field.%u.returns", f->id);
        else snprintf(key, sizeof key, "field.%u.%u.returns", f->id, f->scope);
        if ((code = number(g, key, 0))) return (int)code;
    }
    if ((f->id >= 164 && f->id <= 166) || (f->id >= 206 && f->id <= 222)) return link_field(g, f);
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        if (SUMS[i].id != f->id) continue;
        NEED(g, links, "nvlink.count");
        if (!number(g, "nvlink.error_counters", 0)) return NOT_SUPPORTED;
        f->type = 3; f->value = 0;
        for (u32 link = 0; link < (u32)links; link++)
            for (u32 e = SUMS[i].first; e <= SUMS[i].last; e++) f->value += (u64)of_link(g, link, ERRORS[e], 0);
        return OK;
    }
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        if (FIELDS[i].id != f->id) continue;
        NEED(g, n, FIELDS[i].key);
        f->type = FIELDS[i].type;
        f->value = f->type == 5 ? (u32)n : (u64)(n * FIELDS[i].factor);
        return OK;
    }
    return NOT_SUPPORTED;
}
EXPORT int nvmlDeviceGetFieldValues(handle h, int n, struct field *f) { DEVICE(h); for (; n > 0; n--, f++) f->code = (u32)one_field(g, f); return OK; }
